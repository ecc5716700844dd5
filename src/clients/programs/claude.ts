/** Claude Code. @see https://code.claude.com/docs/en/hooks, https://code.claude.com/docs/en/mcp */
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Wake } from '../connections.ts'
import type { Entry, Json } from '../files/written-file.ts'
import { serverName } from '../primer.ts'
import {
  type ClientProgram,
  endpoint,
  headers,
  hookWords,
  type Setup,
  shellLine,
  skillFile,
  userFolder,
  woken,
} from './program.ts'

/** As long as a session may be idle, in seconds. */
const waitSeconds = 86_400
/** For all other hooks, in seconds. */
const hookSeconds = 5

/** Which hooks run at which events. The hook `wait` wakes the session when it ends. */
export const claudeHooks: Record<Wake, readonly (readonly [event: string, ...hooks: string[]])[]> = {
  auto: [
    ['SessionStart', 'start', 'wait'],
    ['UserPromptSubmit', 'prompt'],
    ['Stop', 'wait'],
    ['SessionEnd', 'end'],
  ],
  start: [['SessionStart', 'start'], ['SessionEnd', 'end']],
  off: [],
}

/** Claude Code. What is for one project is kept in the files that are the user's own, so that nobody shares it. */
export const claude: ClientProgram = {
  name: 'claude',
  title: 'Claude Code',
  commands: ['claude'],
  folder,
  files(setup) {
    const server = { type: 'http', url: endpoint(setup), headers: headers(setup) }
    const container = setup.folder === undefined ? ['mcpServers'] : ['projects', setup.folder, 'mcpServers']
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.claude')
    const settings = join(own, setup.folder === undefined ? 'settings.json' : 'settings.local.json')
    const hooks = hookEntries(setup)
    return [
      { path: stateFile(), format: 'json', hasKey: true, entries: [{ container, name: serverName, value: server }] },
      ...(hooks.length > 0 ? [{ path: settings, format: 'json', entries: hooks } as const] : []),
      skillFile(join(own, 'skills')),
    ]
  },
  steps: () => [],
  wakes: woken,
}

function folder(): string {
  return userFolder('CLAUDE_CONFIG_DIR', '.claude')
}

/** It has the MCP servers of the user beside much else. */
function stateFile(): string {
  return join(process.env.CLAUDE_CONFIG_DIR || homedir(), '.claude.json')
}

function hookEntries(setup: Setup): Entry[] {
  return claudeHooks[setup.wake].map(([event, ...hooks]) => ({
    container: ['hooks', event],
    value: { hooks: hooks.map((hook) => guardedHook(hookWords(setup, 'claude', hook), hook)) },
  }))
}

/**
 * One hook of the user. `claude -p` waits for each of them, so a shell, which starts in no time, ends it there. The shell
 * becomes the program: the program sees when its client ends. On Windows the program itself finds out.
 */
function guardedHook(words: readonly string[], hook: string): Json {
  if (process.platform === 'win32') return claudeHook(words, hook)
  const command = `[ "$CLAUDE_CODE_ENTRYPOINT" = cli ] && exec ${shellLine(words)}; exit 0`
  const { args: _, ...entry } = claudeHook(words, hook)
  return { ...entry, command }
}

/** One hook, without a shell between: it sees when its client ends. */
export function claudeHook([command, ...args]: readonly string[], hook: string): { [field: string]: Json } {
  const base = { type: 'command', command, args }
  return hook === 'wait' ? { ...base, asyncRewake: true, timeout: waitSeconds } : { ...base, timeout: hookSeconds }
}
