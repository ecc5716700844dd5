/** Cursor. @see https://cursor.com/docs/context/mcp, https://cursor.com/docs/agent/hooks */
import { join } from 'node:path'
import type { Wake } from '../connections.ts'
import type { Entry, WantedFile } from '../files/written-file.ts'
import { serverName } from '../primer.ts'
import {
  type ClientProgram,
  endpoint,
  headers,
  hookWords,
  scopeOf,
  type Setup,
  shellLine,
  skillFile,
  toldAtBorders,
  userFolder,
} from './program.ts'

/** Its hook at a prompt cannot tell the model anything. */
const hooksOf: Record<Wake, readonly (readonly [event: string, hook: string])[]> = {
  auto: [['sessionStart', 'start'], ['postToolUse', 'tool'], ['sessionEnd', 'end']],
  start: [['sessionStart', 'start'], ['sessionEnd', 'end']],
  off: [],
}

/** Cursor. A project's files are shared, so the entry there has no key: Cursor logs in by itself. */
export const cursor: ClientProgram = {
  name: 'cursor',
  title: 'Cursor',
  commands: ['cursor', 'cursor-agent'],
  folder,
  files(setup) {
    const isUser = scopeOf(setup) === 'user'
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.cursor')
    const value = { url: endpoint(setup), ...(isUser && { headers: headers(setup) }) }
    return [
      {
        path: join(own, 'mcp.json'),
        format: 'json',
        entries: [{ container: ['mcpServers'], name: serverName, value }],
        ...(isUser && { hasKey: true }),
      },
      ...hookFiles(setup, own),
      skillFile(join(own, 'skills')),
    ]
  },
  steps: (setup) =>
    scopeOf(setup) === 'project'
      ? [`Log in: open the MCP settings of Cursor and choose Connect at ${serverName}.`]
      : [],
  wakes: {
    ...toldAtBorders,
    auto: 'It is told of new messages when a session begins and after tools. Nothing wakes it while it is idle.',
  },
}

function folder(): string {
  return userFolder(undefined, '.cursor')
}

function hookFiles(setup: Setup, own: string): WantedFile[] {
  const hooks = hooksOf[setup.wake]
  if (hooks.length === 0) return []
  const entries: Entry[] = hooks.map(([event, hook]) => ({
    container: ['hooks', event],
    value: { command: shellLine(hookWords(setup, 'cursor', hook)) },
  }))
  return [{ path: join(own, 'hooks.json'), format: 'json', entries, base: { version: 1 } }]
}
