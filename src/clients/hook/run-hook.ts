/**
 * `agent-grid hook CLIENT EVENT`, which coding clients run at session events. A hook never disturbs its client: after
 * any error it exits with 0, silently and in time. See docs/client-reference.md, "Hooks".
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { second } from '../../lib/time.ts'
import { findConnection, isSamePlace, nearestConnection } from '../connections.ts'
import { GridClient } from '../grid-client.ts'
import { clientProcess, type ProcessMark } from '../state/lock.ts'
import { type GridAgent, logLine } from '../state/paths.ts'
import { findSession } from '../state/sessions.ts'
import {
  type HookAnswer,
  type HookConnection,
  type HookInput,
  type HookWords,
  parseHookInput,
  parseHookWords,
  readStandardInput,
  silence,
  wakeWords,
} from './call.ts'
import { codexTerminal, codexWaiterSession, isCodexIdle, isOneShot, queueForCodex } from './codex.ts'
import type { HookCall } from './fast-hook.ts'

/** Time limit of a hook, counted from process start. Clients block on most hooks. */
const limitMs = 1_500
/** Time limit of a grid call. A later response would be useless. */
const callMs = 1_000
const stdinMs = 300

/** Runs the hook given by the arguments after `hook`. Writes the output, and resolves to the exit code. */
export async function runHook(words: readonly string[]): Promise<number> {
  const hook = parseHookWords(words)
  if (!hook || isSilenced(hook)) return 0
  const answer = await answerOf(hook).catch(() => silence)
  if (answer.stdout !== undefined) await write(process.stdout, `${answer.stdout}\n`)
  if (answer.stderr !== undefined) await write(process.stderr, `${answer.stderr}\n`)
  return answer.exitCode
}

/**
 * Whether nobody reads notices: in children of `agent-grid run`, `claude -p`, and editors that run Claude Code's hooks.
 */
function isSilenced({ client }: HookWords): boolean {
  const { AGENT_GRID_RUN, CLAUDE_CODE_ENTRYPOINT } = process.env
  return AGENT_GRID_RUN === '1' || (client === 'claude' && CLAUDE_CODE_ENTRYPOINT !== 'cli')
}

async function answerOf(hook: HookWords): Promise<HookAnswer> {
  const waiter = hook.client === 'codex' && hook.event === 'wait' ? codexWaiterSession() : undefined
  const input = waiter
    ? { ...parseHookInput(''), session: waiter.session, cwd: waiter.cwd }
    : parseHookInput(await readStandardInput(stdinMs))
  if (hook.client === 'codex' && isOneShot(input)) return silence
  const connection = hookConnection(hook, input)
  if (!connection || (connection.wake === 'off' && hook.event !== 'edit')) return silence
  const client = waiter?.process ?? (hook.event === 'edit' ? undefined : findClient(hook, connection, input))
  if (hook.event === 'wait') {
    if (!client || connection.wake !== 'auto' || (hook.client === 'codex' && !waiter)) return silence
    return await waitHook({ hook, connection, input, client, grid: new GridClient(connection) })
  }
  const isEdit = hook.event === 'edit'
  const answer = isEdit ? (await import('./edit.ts')).editAnswer : (await import('./fast-hook.ts')).fastHook
  const grid = new GridClient({ ...connection, timeoutMs: callMs })
  try {
    return await within(limitMs - process.uptime() * 1_000, answer({ hook, connection, input, client, grid }))
  } catch (error) {
    logLine(connection, `${hook.client} ${hook.event}: ${error instanceof Error ? error.message : error}`)
    return silence
  }
}

/**
 * The hook's agent; undefined if there is none, or if the hook belongs to a connection other than the nearest, because
 * the hooks of all connections run. The environment's agent takes precedence over the nearest connection's. Fails if
 * several match.
 */
function hookConnection(
  { client, as, url, isProject = false, isPlugin }: HookWords,
  input: HookInput,
): HookConnection | undefined {
  // CLAUDE_PROJECT_DIR takes precedence, because the session may have changed its folder since it started.
  const cwd = (client === 'claude' && process.env.CLAUDE_PROJECT_DIR) || input.cwd
  const { AGENT_GRID_URL, AGENT_GRID_KEY, AGENT_GRID_ALIAS } = process.env
  const isGiven = Boolean(AGENT_GRID_URL && AGENT_GRID_KEY && AGENT_GRID_ALIAS)
  const access = findConnection({ client, alias: isGiven ? undefined : as, url, cwd })
  if (access?.alias === undefined) return undefined
  const connection = access.connection ?? (isPlugin ? undefined : nearestConnection({ client, alias: as, url, cwd }))
  const nearest = connection && nearestConnection({ client, cwd })
  if (connection && (!isSamePlace(connection, nearest!) || (connection.scope === 'project') !== isProject)) {
    return undefined
  }
  return { url: access.url, key: access.key, alias: access.alias, wake: connection?.wake ?? 'auto' }
}

function findClient({ client }: HookWords, agent: GridAgent, input: HookInput): ProcessMark | undefined {
  return client === 'codex' ? codexTerminal(agent, input) : clientProcess(process.env)
}

/** Rejects if `promise` takes longer than the limit. */
function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`It took longer than ${limitMs} ms.`)), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Resolves once the text is written, because the process exits afterwards. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(text, () => resolve()))
}

/** Maximum wait for the concurrent hook that announces unread messages at session start. */
const startMs = 2 * second

/** Waits for messages to announce to a session. Silent if the client ends or the session has another waiter. */
async function waitHook(call: HookCall & { client: ProcessMark }): Promise<HookAnswer> {
  const { connection: agent, hook, client: terminal, grid, input } = call
  const ending = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(name, () => ending.abort())
  const about = { agent, grid, client: hook.client, process: terminal, signal: ending.signal }
  const isClaude = hook.client === 'claude'
  // Imported only here, because clients block on the other hooks.
  const { newMessages } = await import('./waiter.ts')
  const messages = isClaude
    ? newMessages({ ...about, begin: () => input.eventName === 'SessionStart' ? startIsNotified() : Promise.resolve() })
    : newMessages({ ...about, isReady: () => isCodexIdle(agent, terminal) })
  for await (const unnotified of messages) {
    const text = wakeWords(hook, agent.alias, unnotified)
    if (isClaude) return { stderr: text, exitCode: 2 }
    await queueForCodex(agent, terminal, unnotified, text)
  }
  return silence

  async function startIsNotified(): Promise<void> {
    const until = performance.now() + startMs
    while (performance.now() < until) {
      if (findSession(agent, { ...terminal, client: hook.client })?.id === input.session) return
      await sleep(20)
    }
  }
}
