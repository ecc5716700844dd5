/** Copilot CLI. @see https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference */
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
  type Setup,
  shellLine,
  skillFile,
  toldAtBorders,
  userFolder,
} from './program.ts'

/** In seconds. */
const hookSeconds = 5

const hooksOf: Record<Wake, readonly (readonly [event: string, hook: string])[]> = {
  auto: [
    ['sessionStart', 'start'],
    ['userPromptSubmitted', 'prompt'],
    ['postToolUse', 'tool'],
    ['sessionEnd', 'end'],
  ],
  start: [['sessionStart', 'start'], ['sessionEnd', 'end']],
  off: [],
}

/** Copilot CLI. Its hooks are a file of their own. A project's files are shared, so the entry there has no key. */
export const copilot: ClientProgram = {
  name: 'copilot',
  title: 'Copilot CLI',
  commands: ['copilot'],
  folder,
  files(setup) {
    const isUser = scopeOf(setup) === 'user'
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.github')
    const value = { type: 'http', url: endpoint(setup), ...(isUser && { headers: headers(setup) }), tools: ['*'] }
    return [
      {
        path: join(own, isUser ? 'mcp-config.json' : 'mcp.json'),
        format: 'json',
        entries: [{ container: ['mcpServers'], name: serverName, value }],
        ...(isUser && { hasKey: true }),
      },
      ...(setup.wake === 'off' ? [] : [
        { path: join(own, 'hooks', `${serverName}.json`), format: 'own', text: hooksFile(setup) } as const,
      ]),
      skillFile(join(own, 'skills')),
    ]
  },
  steps: (setup) =>
    scopeOf(setup) === 'project' ? [`Log in: start copilot, and sign in at the grid when it asks.`] : [],
  wakes: toldAtBorders,
}

function folder(): string {
  return userFolder('COPILOT_HOME', '.copilot')
}

function hooksFile(setup: Setup): string {
  const hooks: { [event: string]: Json } = {}
  for (const [event, hook] of hooksOf[setup.wake]) {
    const words = hookWords(setup, 'copilot', hook)
    hooks[event] = [{
      type: 'command',
      bash: shellLine(words, 'sh'),
      powershell: shellLine(words, 'powershell'),
      timeoutSec: hookSeconds,
    }]
  }
  return `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`
}
