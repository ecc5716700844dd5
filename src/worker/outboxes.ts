/** Sends due requests to external servers. See docs/protocol/remote-agents.md, "How messages are sent". */
import { setMaxListeners } from 'node:events'
import { features } from '../features.ts'
import type { OutboxAttempt } from '../grid/outboxes/attempt.ts'
import { deliverNext, followRemoteTask } from '../grid/remote-agents/deliver.ts'
import { newId } from '../lib/id.ts'
import { hour, minute, second } from '../lib/time.ts'
import { type DueOutbox, type OutboxKind, outboxKinds } from '../store/global/outboxes.ts'
import type { OutboxTime } from '../store/global/pulse.ts'
import type { Duty } from '../store/loop.ts'
import type { Store } from '../store/store.ts'

const maxRunning = 100
/** Maximum number of running requests per account. */
const maxOfAccount = 16
/** Maximum number of concurrent requests per server, so that a hanging server does not block others. */
const maxOfOrigin = 8
/** Time after which a request no longer counts towards the limits above, because agents may take minutes to answer. */
const slowAfterMs = 5 * second
/** Maximum number of slow requests per account and in total. Further ones still count towards the limits above. */
const maxSlow = { ofAccount: 64, inAll: 500 }
/** Number of consecutive failures after which a server is paused for a while and then probed with a single request. */
const failuresUntilPause = 3
const firstPauseMs = 5 * second

interface Load {
  /** Requests that count towards the limits. */
  running: number
  slow: number
}

interface Origin extends Load {
  failures: number
  /** Time of the last failure. Forgotten after an hour, because users could name any number of servers. */
  failedAt: number
  pausedUntil: number
}

/** Functions that make the requests, by kind of outbox. Outboxes of other kinds wait. */
export type OutboxAttempts = Partial<Record<OutboxKind, OutboxAttempt>>

/** Sends outbox requests. Each attempt claims its outbox for one process. `run` starts all due attempts. */
export class Outboxes {
  readonly #store: Store
  readonly #attempts: OutboxAttempts
  readonly #kinds: OutboxKind[]
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #origins = new Map<string, Origin>()
  readonly #accounts = new Map<string, Load>()
  readonly #load: Load = { running: 0, slow: 0 }

  constructor(store: Store, attempts: OutboxAttempts = {}) {
    this.#store = store
    // Each request listens for the abort, and Node warns about more than 10 listeners.
    setMaxListeners(0, this.#stopping.signal)
    const transports = new Map(features.flatMap(({ name, transport }) => transport ? [[name, transport]] : []))
    this.#attempts = {
      inbox: (attempt) => deliverNext(attempt, transports),
      task: followRemoteTask,
      ...Object.assign({}, ...features.map(({ outboxes }) => outboxes)),
      ...attempts,
    }
    this.#kinds = outboxKinds.filter((kind) => this.#attempts[kind])
  }

  async run(): Promise<void> {
    if (this.#stopping.signal.aborted || this.#load.running >= maxRunning) return
    const { global: { outboxes }, instanceId, deps: { now } } = this.#store
    for (const [name, origin] of this.#origins) {
      if (isIdle(origin) && now() - origin.failedAt > hour) this.#origins.delete(name)
    }
    this.#store.outbound.pausedServers =
      [...this.#origins.values()].filter(({ pausedUntil }) => pausedUntil > now()).length
    const busy = [...this.#origins].filter(([, origin]) => this.#isBusy(origin)).map(([name]) => name)
    const accounts = [...this.#accounts].filter(([, { running }]) => running >= maxOfAccount).map(([id]) => id)
    const free = maxRunning - this.#load.running
    for (const outbox of await outboxes.due(now(), instanceId, { origins: busy, accounts, kinds: this.#kinds }, free)) {
      this.#start(outbox)
    }
  }

  /** The duty that runs when an outbox of the supported kinds is due. */
  get duty(): Duty {
    return { name: 'outboxes', at: this.#kinds.map((kind): OutboxTime => `${kind} outboxes`), run: () => this.run() }
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  /** Aborts the requests. Their outboxes are released after this process has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.settled()
  }

  #isBusy({ running, failures, pausedUntil }: Origin): boolean {
    return running >= (failures >= failuresUntilPause ? 1 : maxOfOrigin) || this.#store.deps.now() < pausedUntil
  }

  #start(outbox: DueOutbox): void {
    const key = `${outbox.kind} ${outbox.accountId} ${outbox.agentId} ${outbox.id}`
    const name = new URL(outbox.remoteUrl).origin
    const origin = this.#origins.get(name) ?? { running: 0, slow: 0, failures: 0, failedAt: 0, pausedUntil: 0 }
    const account = this.#accounts.get(outbox.accountId) ?? { running: 0, slow: 0 }
    if (this.#stopping.signal.aborted || this.#running.has(key) || this.#isBusy(origin)) return
    if (account.running >= maxOfAccount) return
    this.#accounts.set(outbox.accountId, account)
    this.#origins.set(name, origin)
    const end = this.#counted(origin, account)
    const attempt = this.#attempt(outbox)
      .then((isReached) => {
        if (isReached === undefined) return
        this.#count(origin, isReached)
        this.#store.deps.metrics?.attempt(outbox.kind, isReached)
      })
      .catch((error) => this.#warn(error, outbox.accountId))
      .finally(() => {
        this.#running.delete(key)
        end()
        if (isIdle(account)) this.#accounts.delete(outbox.accountId)
        if (isIdle(origin) && origin.failures === 0) this.#origins.delete(name)
        this.#store.loop.wake()
      })
    this.#running.set(key, attempt)
  }

  /** Counts a request, and reclassifies it as slow after a while. Returns a function that ends the counting. */
  #counted(origin: Origin, account: Load): () => void {
    const loads = [this.#load, account, origin]
    let kind: keyof Load = 'running'
    for (const load of loads) load.running++
    const timer = setTimeout(() => {
      if (account.slow >= maxSlow.ofAccount || this.#load.slow >= maxSlow.inAll) return
      kind = 'slow'
      for (const load of loads) {
        load.running--
        load.slow++
      }
      this.#store.loop.wake()
    }, slowAfterMs)
    return () => {
      clearTimeout(timer)
      for (const load of loads) load[kind]--
    }
  }

  #count(origin: Origin, isReached: boolean): void {
    origin.failures = isReached ? 0 : origin.failures + 1
    origin.failedAt = this.#store.deps.now()
    const over = origin.failures - failuresUntilPause
    if (over >= 0) origin.pausedUntil = this.#store.deps.now() + Math.min(minute, firstPauseMs * 2 ** over)
  }

  /** Resolves to whether the server was reached. Undefined if another process has claimed the outbox. */
  async #attempt({ kind, accountId, agentId, alias, id }: DueOutbox): Promise<boolean | undefined> {
    const make = this.#attempts[kind]
    if (!make) return undefined
    const { instanceId, deps: { now, traces } } = this.#store
    const spans = traces?.attempt()
    const system = this.#store.account(accountId, { type: 'system', job: 'remote-agents' })
    // All outboxes of an account share this id, because the size of answers is limited per credential.
    const credentialId = `remote-agent ${accountId}`
    const account = this.#store.account(accountId, { type: 'agent', agentId, alias, credentialId })
    system.trace.spans = spans
    account.trace.spans = spans
    const outbox = { kind, agent: agentId, id, claim: `${instanceId} ${newId()}` }
    const at = now()
    const [claimed] = await system.write([system.change.remoteAgents.claim(outbox, instanceId, at)])
    if (claimed.length === 0) return undefined
    const { attempts, sending_id: messageId } = claimed[0]
    const attempt = {
      ...{ account, system, outbox, signal: this.#stopping.signal },
      messageId: messageId === null ? undefined : String(messageId),
      number: Number(attempts) + 1,
      at,
    }
    try {
      const isReached = await make(attempt)
      spans?.endAttempt(`deliver ${kind}`, isReached)
      return isReached
    } catch (error) {
      spans?.endAttempt(`deliver ${kind}`, false)
      // The attempt's outcome could not be stored. Without this update, the outbox would remain claimed until the
      // process ends.
      const failure = {
        error: 'The grid itself failed.',
        dueAt: now() + firstPauseMs,
        isUnsent: false,
        isUnanswered: false,
      }
      const failed = [system.change.remoteAgents.failed(outbox, failure, now())]
      await system.write(failed).catch(() => system.writeLater(failed))
      throw error
    }
  }

  #warn(error: unknown, account?: string): void {
    if (this.#stopping.signal.aborted) return
    this.#store.deps.log.warn('A request to a remote agent failed', { error, ...(account && { account }) })
  }
}

function isIdle({ running, slow }: Load): boolean {
  return running + slow === 0
}
