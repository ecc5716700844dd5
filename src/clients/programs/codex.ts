/** Codex. @see https://developers.openai.com/codex/config-reference, https://developers.openai.com/codex/hooks */
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
  userFolder,
  woken,
} from './program.ts'

/** In seconds. */
const hookSeconds = 5

/** Which hooks run at which events. The first one starts a program that puts new messages into the queue of the session. */
export const codexHooks: Record<Wake, readonly (readonly [event: string, hook: string])[]> = {
  auto: [['SessionStart', 'start'], ['UserPromptSubmit', 'prompt'], ['Stop', 'stop']],
  start: [['SessionStart', 'start']],
  off: [],
}

/** Codex. A project's files are shared, so the entry there has no key: Codex logs in by itself. */
export const codex: ClientProgram = {
  name: 'codex',
  title: 'Codex',
  commands: ['codex'],
  folder,
  files(setup) {
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.codex')
    const isUser = scopeOf(setup) === 'user'
    const lines = [`[mcp_servers.${serverName}]`, `url = ${JSON.stringify(endpoint(setup))}`]
    if (isUser) lines.push(`http_headers = { Authorization = ${JSON.stringify(headers(setup).Authorization)} }`)
    const entries = codexHooks[setup.wake].map(([event, hook]) => ({
      container: ['hooks', event],
      value: { hooks: [codexHook(hookWords(setup, 'codex', hook))] },
    }))
    return [
      {
        path: join(own, 'config.toml'),
        format: 'toml',
        table: `${lines.join('\n')}\n`,
        container: ['mcp_servers'],
        name: serverName,
        ...(isUser && { hasKey: true }),
      },
      ...(entries.length > 0 ? [{ path: join(own, 'hooks.json'), format: 'json', entries } as const] : []),
      skillFile(join(own, 'skills')),
    ]
  },
  steps: (setup) => [
    ...(scopeOf(setup) === 'project' ? [`Log in: codex mcp login ${serverName}`] : []),
    ...(setup.wake === 'off'
      ? []
      : ['Start codex and approve the hooks of agent-grid: it asks, or type /hooks. Until then it does not run them.']),
  ],
  wakes: woken,
}

function folder(): string {
  return userFolder('CODEX_HOME', '.codex')
}

/** One hook. Codex asks its user again when its text changes. */
export function codexHook(words: readonly string[]): Json {
  return { type: 'command', command: shellLine(words), timeout: hookSeconds }
}
