/** VS Code with Copilot. @see https://code.visualstudio.com/docs/copilot/reference/mcp-configuration */
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
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
  auto: [['SessionStart', 'start'], ['UserPromptSubmit', 'prompt'], ['PostToolUse', 'tool']],
  start: [['SessionStart', 'start']],
  off: [],
}

/** VS Code. It reads the hooks and skills of Copilot CLI too, so its own have a name of their own. */
export const vsCode: ClientProgram = {
  name: 'vscode',
  title: 'VS Code',
  commands: ['code', 'code-insiders'],
  folder,
  files(setup) {
    const isUser = scopeOf(setup) === 'user'
    const shared = setup.folder === undefined ? userFolder('COPILOT_HOME', '.copilot') : join(setup.folder, '.github')
    const path = setup.folder === undefined ? join(folder(), 'mcp.json') : join(setup.folder, '.vscode', 'mcp.json')
    const value = { type: 'http', url: endpoint(setup), ...(isUser && { headers: headers(setup) }) }
    return [
      {
        path,
        format: 'json',
        entries: [{ container: ['servers'], name: serverName, value }],
        ...(isUser && { hasKey: true }),
      },
      ...(setup.wake === 'off' ? [] : [
        { path: join(shared, 'hooks', `${serverName}-vscode.json`), format: 'own', text: hooksFile(setup) } as const,
      ]),
      skillFile(join(shared, 'skills')),
    ]
  },
  steps: (setup) =>
    scopeOf(setup) === 'project'
      ? [`Log in: start the server ${serverName} in VS Code, and sign in when it asks.`]
      : [],
  wakes: toldAtBorders,
}

function folder(): string {
  const { APPDATA } = process.env
  if (process.platform === 'win32' && APPDATA) return join(APPDATA, 'Code', 'User')
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'Code', 'User')
  return join(userFolder('XDG_CONFIG_HOME', '.config'), 'Code', 'User')
}

function hooksFile(setup: Setup): string {
  const hooks: { [event: string]: Json } = {}
  for (const [event, hook] of hooksOf[setup.wake]) {
    hooks[event] = [{
      type: 'command',
      command: shellLine(hookWords(setup, 'vscode', hook)),
      timeout: hookSeconds,
    }]
  }
  return `${JSON.stringify({ hooks }, null, 2)}\n`
}
