/**
 * The plugin for opencode. It waits inside opencode, and prompts the most recently used session when messages arrive.
 * opencode calls every exported function. See docs/client-reference.md, "What wakes a session".
 *
 * @see https://opencode.ai/docs/plugins
 */
import process from 'node:process'
import { findConnection } from './connections.ts'
import { GridClient } from './grid-client.ts'
import { newsFor, startLines } from './hook/fast-hook.ts'
import { type GridAgent, logLine } from './state/paths.ts'
import { newMessages } from './hook/waiter.ts'
import { wakeWords } from './hook/call.ts'
import { ownMark } from './state/lock.ts'
import { endSession, saveSession } from './state/sessions.ts'

const client = 'opencode'
/** Time limit for an accepted prompt to make its session busy. opencode drops some prompts or does not show them. */
const takenMs = 5_000
/** Time limit of a grid call that delays the user's prompt. */
const callMs = 1_000
const hintMs = 10_000

/** The part of opencode's plugin API that this plugin uses. */
interface PluginInput {
  directory: string
  client: {
    tui: { showToast(request: { body: { message: string; variant: 'info'; duration: number } }): Promise<unknown> }
    session: {
      promptAsync(
        request: { path: { id: string }; body: { parts: { type: 'text'; text: string }[] } },
      ): Promise<unknown>
    }
  }
}

interface PluginEvent {
  type: string
  properties?: {
    sessionID?: string
    status?: { type?: string }
    info?: { id?: string; parentID?: string; role?: string; sessionID?: string }
  }
}

interface Part {
  id: string
  sessionID: string
  messageID: string
  type: string
  text?: string
  synthetic?: boolean
}

interface Hooks {
  event?(input: { event: PluginEvent }): Promise<void>
  'chat.message'?(input: { sessionID: string }, output: { message: { id: string }; parts: Part[] }): Promise<void>
  dispose?(): Promise<void>
}

/** Folders with an active plugin. opencode starts it twice if it is installed for the user and for a project. */
const started = new Set<string>()

/** The plugin's entry point. Does nothing without a connection, or if no person attends the process. */
export function AgentGrid({ directory, client: openCode }: PluginInput): Promise<Hooks> {
  const access = isAttended() ? connectionOf(directory) : undefined
  const { alias, connection } = access ?? {}
  if (!access || alias === undefined || connection?.wake === 'off' || started.has(directory)) return Promise.resolve({})
  started.add(directory)
  const agent = { url: access.url, alias }
  const grid = new GridClient({ ...access, timeoutMs: callMs })
  const sessions = new Sessions()
  const ending = new AbortController()
  if ((connection?.wake ?? 'auto') === 'auto') {
    void wake(agent, new GridClient(access), sessions, openCode, ending.signal)
  }
  let hasHint = connection?.wake === 'start'
  return Promise.resolve({
    async event({ event }) {
      sessions.note(event)
      // Waits for this event, because the terminal displays nothing before it.
      if (hasHint || event.type !== 'catalog.updated') return
      hasHint = true
      const message = `You are ${alias} on the agent-grid. Messages wake a session once it has had a prompt.`
      await openCode.tui.showToast({ body: { message, variant: 'info', duration: hintMs } }).catch(() => {})
    },
    async 'chat.message'({ sessionID }, { message, parts }) {
      const isFirst = sessions.use(sessionID)
      await saveSession(agent, { ...ownMark(), client, id: sessionID })
      const text = await context(agent, grid, sessionID, isFirst ? directory : undefined)
      if (text === '') return
      const id = `prt_${Date.now().toString(16).padStart(12, '0')}${
        Math.random().toString(36).slice(2, 16).padEnd(14, '0')
      }`
      parts.push({ id, sessionID, messageID: message.id, type: 'text', text, synthetic: true })
    },
    dispose() {
      ending.abort()
      started.delete(directory)
      endSession(agent, { client, pid: process.pid })
      return Promise.resolve()
    },
  })
}

/** False in a child of `agent-grid run`, in `opencode run`, and in a server without a screen. */
function isAttended(): boolean {
  return process.env.AGENT_GRID_RUN !== '1' && !process.argv.some((word) => /^(?:run|serve|web|acp|github)$/.test(word))
}

function connectionOf(cwd: string): ReturnType<typeof findConnection> {
  try {
    return findConnection({ client, cwd })
  } catch {
    return undefined
  }
}

/** A prompt's context: messages not yet announced and, at a session's first prompt, the session's agent. */
async function context(
  agent: GridAgent,
  grid: GridClient,
  session: string,
  firstIn: string | undefined,
): Promise<string> {
  try {
    if (firstIn !== undefined) return (await startLines({ client }, agent, grid, session, firstIn)).lines.join('\n')
    return (await newsFor({ client }, agent, grid, session)).text
  } catch (error) {
    logLine(agent, `${client}: ${(error as Error).message}`)
    return ''
  }
}

/** Prompts the current session when messages arrive, until `signal` aborts. */
async function wake(
  agent: GridAgent,
  grid: GridClient,
  sessions: Sessions,
  openCode: PluginInput['client'],
  signal: AbortSignal,
): Promise<void> {
  const waiter = newMessages({
    agent,
    grid,
    client,
    process: ownMark(),
    signal,
    session: () => sessions.current ?? '',
    isReady: () => sessions.isReady(),
  })
  for await (const messages of waiter) {
    for (let attempt = 1; attempt <= 2; attempt++) {
      const id = sessions.current!
      const text = wakeWords({ client }, agent.alias, messages)
      const taken = sessions.becomesBusy(id, takenMs)
      await openCode.session.promptAsync({ path: { id }, body: { parts: [{ type: 'text', text }] } })
        .catch((error) => logLine(agent, `${client}: ${error}`))
      if (await taken) break
      const { messages: unread } = await grid.peek({ limit: 50 }).catch(() => ({ messages }))
      if (!messages.some((message) => unread.some(({ message_id }) => message_id === message.message_id))) break
      logLine(agent, `${client}: prompt ${attempt} was not taken`)
    }
  }
}

class Sessions {
  current: string | undefined
  readonly #busy = new Set<string>()
  readonly #known = new Set<string>()
  /** Ids of subagent sessions, in which no person types. */
  readonly #children = new Set<string>()
  #waiting: { id: string; done(): void }[] = []

  /** Records a prompt to a session. Returns whether it is the session's first known prompt. */
  use(id: string): boolean {
    if (!this.#children.has(id)) this.current = id
    const isFirst = !this.#known.has(id)
    this.#known.add(id)
    return isFirst
  }

  note({ type, properties = {} }: PluginEvent): void {
    const { info, sessionID: id, status } = properties
    if (type === 'session.created' && info?.id && info.parentID) this.#children.add(info.id)
    if (type === 'session.deleted' && info?.id === this.current) this.current = undefined
    if (id === undefined) return
    if (type === 'session.idle' || status?.type === 'idle') this.#busy.delete(id)
    else if (status?.type !== undefined) this.#setBusy(id)
  }

  isReady(): boolean {
    return this.current !== undefined && !this.#busy.has(this.current)
  }

  /** Resolves to true when the session becomes busy, or to false after `ms`. */
  becomesBusy(id: string, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms)
      this.#waiting.push({
        id,
        done() {
          clearTimeout(timer)
          resolve(true)
        },
      })
    })
  }

  #setBusy(id: string): void {
    this.#busy.add(id)
    for (const waiting of this.#waiting) if (waiting.id === id) waiting.done()
    this.#waiting = this.#waiting.filter((waiting) => waiting.id !== id)
  }
}
