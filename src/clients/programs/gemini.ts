/** Gemini CLI. @see https://geminicli.com/docs/hooks/reference, https://geminicli.com/docs/tools/mcp-server */
import { join } from 'node:path'
import type { Wake } from '../connections.ts'
import type { Json } from '../files/written-file.ts'
import { serverName } from '../primer.ts'
import {
  type ClientProgram,
  endpoint,
  headers,
  hookWords,
  scopeOf,
  shellLine,
  skillFile,
  toldAtBorders,
  userFolder,
} from './program.ts'

const hookMs = 5_000

/** Which hooks run at which events. */
export const geminiHooks: Record<Wake, readonly (readonly [event: string, hook: string])[]> = {
  auto: [['SessionStart', 'start'], ['BeforeAgent', 'prompt'], ['AfterTool', 'tool'], ['SessionEnd', 'end']],
  start: [['SessionStart', 'start'], ['SessionEnd', 'end']],
  off: [],
}

/** Gemini CLI. A project's file is shared, so the entry there has no key: Gemini CLI logs in by itself. */
export const gemini: ClientProgram = {
  name: 'gemini',
  title: 'Gemini CLI',
  commands: ['gemini'],
  folder,
  files(setup) {
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.gemini')
    const isUser = scopeOf(setup) === 'user'
    const server = { httpUrl: endpoint(setup), ...(isUser && { headers: headers(setup) }) }
    const hooks = geminiHooks[setup.wake].map(([event, hook]) => ({
      container: ['hooks', event],
      value: { hooks: [geminiHook(hookWords(setup, 'gemini', hook))] },
    }))
    return [
      {
        path: join(own, 'settings.json'),
        format: 'json',
        entries: [{ container: ['mcpServers'], name: serverName, value: server }, ...hooks],
        ...(isUser && { hasKey: true }),
      },
      skillFile(join(own, 'skills')),
    ]
  },
  steps: (setup) => scopeOf(setup) === 'project' ? [`Log in: start gemini and type /mcp auth ${serverName}`] : [],
  wakes: toldAtBorders,
}

function folder(): string {
  // Gemini CLI puts the folder into the home that this variable names.
  return join(userFolder('GEMINI_CLI_HOME', ''), '.gemini')
}

/** One hook. */
export function geminiHook(words: readonly string[]): Json {
  return { name: serverName, type: 'command', command: shellLine(words), timeout: hookMs }
}
