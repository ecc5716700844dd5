/** The people and agents of the example grid, who act on a clock with scheduled events. */
import { callingAgent, callingUser, type UserActor } from '../../auth/actor.ts'
import { createAuthenticator } from '../../auth/bearer.ts'
import { GridError } from '../../errors.ts'
import { recordActivity } from '../../grid/activity.ts'
import { markConversationRead, nextUnread } from '../../grid/conversations/marks.ts'
import { listThreads } from '../../grid/conversations/threads.ts'
import type { SendInput } from '../../grid/message/outgoing-message.ts'
import { readMessages } from '../../grid/messaging/read-messages.ts'
import { sendMessage } from '../../grid/messaging/send-message.ts'
import { chooseAlias } from '../../grid/people/person-aliases.ts'
import { reserve } from '../../grid/reservations/reserve.ts'
import { startTask } from '../../grid/tasks/start-task.ts'
import type { TaskState } from '../../grid/tasks/task.ts'
import { updateTask } from '../../grid/tasks/update-task.ts'
import { newId } from '../../lib/id.ts'
import { day, hour, minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { followLog } from '../../worker/followers.ts'
import type { Outboxes } from '../../worker/outboxes.ts'
import { notifyOfPauses } from '../../worker/pauses.ts'
import { failTasks } from '../../worker/retention.ts'
import { type AgentName, agents, people, type PersonName, remotes } from './cast.ts'

export interface World {
  accountId: string
  adminKey: string
  /** The keys of the agents. */
  keys: Record<AgentName, string>
}

export const daysOfTalk = 6

/** Acts as the people and agents of one account. Every action takes place at the current time of `clock`. */
export class Team {
  readonly world: World
  readonly clock: { now: number }
  /** When the generated history ends, in milliseconds since the epoch. */
  readonly end: number
  /** The account as each person sees it. */
  readonly people = {} as Record<PersonName, () => AccountStore>
  readonly random = randomNumbers(48)
  readonly #store: Store
  readonly #outboxes: Outboxes
  readonly #authenticate: ReturnType<typeof createAuthenticator>
  /** Scheduled events in addition to the ordinary messages, by time. */
  readonly #agenda: { at: number; run: () => Promise<unknown> }[] = []

  constructor(store: Store, outboxes: Outboxes, clock: { now: number }, accountId: string) {
    this.#store = store
    this.#outboxes = outboxes
    this.#authenticate = createAuthenticator(store)
    this.clock = clock
    this.end = clock.now + daysOfTalk * day
    this.world = { accountId, adminKey: '', keys: {} as World['keys'] }
  }

  async addPerson(person: PersonName, userId: UserActor['userId']): Promise<void> {
    const { role, description } = people[person]
    this.people[person] = () => {
      const actor = { type: 'user', userId, role, sessionId: 'example', confirmedAt: this.clock.now } as const
      return this.#store.account(this.world.accountId, actor)
    }
    if (role !== 'viewer') await chooseAlias(this.people[person](), { alias: person, description })
  }

  /** Makes a change as a person, with a row in the activity log. */
  async act<T>(
    person: PersonName,
    tool: string,
    input: object,
    run: (account: AccountStore) => Promise<T>,
  ): Promise<T> {
    this.clock.now += minute
    return await recordActivity(this.people[person](), { tool, arguments: input, requestId: newId() }, run)
  }

  at(at: number, run: () => Promise<unknown>): void {
    this.#agenda.push({ at: Math.round(at), run })
    this.#agenda.sort((a, b) => a.at - b.at)
  }

  async pass(ms: number): Promise<void> {
    await this.passUntil(this.clock.now + Math.floor(ms))
  }

  /** Runs all due events and advances the clock to `time`, or later if an event ends later. */
  async passUntil(time: number): Promise<void> {
    while (this.#agenda.length > 0 && this.#agenda[0].at <= time) {
      const { at, run } = this.#agenda.shift()!
      this.clock.now = Math.max(this.clock.now, at)
      await run()
    }
    this.clock.now = Math.max(this.clock.now, time)
  }

  /** Does the background work that a server does. */
  async settle(): Promise<void> {
    await followLog(this.#store)
    await failTasks(this.#store)
    await notifyOfPauses(this.#store)
    await followLog(this.#store)
    await this.carry()
  }

  async carry(): Promise<void> {
    await this.#outboxes.run()
    await this.#outboxes.settled()
  }

  /** The account as an agent sees it. Each use counts as activity of the agent. */
  async as(agent: AgentName): Promise<AccountStore> {
    return await this.#authenticate(`Bearer ${this.world.keys[agent]}`)
  }

  /** Sends a message as an agent; undefined if a guardrail blocks or holds the message. */
  async say(agent: AgentName, to: string, input: Omit<SendInput, 'to'>): Promise<{ id: string } | undefined> {
    const account = await this.as(agent)
    try {
      const sent = await sendMessage(account, callingAgent(account.actor), { to, ...input })
      if (to.slice(1) in remotes) await this.carry()
      return 'held' in sent ? undefined : sent
    } catch (error) {
      if (error instanceof GridError && error.code !== 'invalid_input') return undefined
      throw error
    }
  }

  async ask(agent: AgentName, to: string, text: string, choices?: string[]): Promise<void> {
    await this.say(agent, to, { text, choices })
  }

  async read(agent: AgentName): Promise<void> {
    if (agent in remotes || (agent === 'design-critic' && this.clock.now > this.end - 7 * hour)) return
    const { lease } = await readMessages(await this.as(agent), {})
    lease?.ack()
  }

  async readAll(): Promise<void> {
    for (const agent of Object.keys(agents) as AgentName[]) await this.read(agent)
  }

  /** A person reads their unread conversations and opens the newest ones. */
  async visit(person: PersonName): Promise<void> {
    await followLog(this.#store)
    const account = this.people[person]()
    const see = (id: number) => markConversationRead(account, id, { upTo: Number.MAX_SAFE_INTEGER })
    for (let next; (next = await nextUnread(account));) await see(next.threadId)
    const { threads } = await listThreads(account, { userId: callingUser(account.actor).userId })
    for (const { id } of threads) await see(id)
  }

  async startTask(client: AgentName, worker: AgentName, text: string): Promise<string> {
    const account = await this.as(client)
    const message = { messageId: newId(), parts: [{ text }] }
    const { task } = await startTask(account, callingAgent(account.actor), { to: `@${worker}`, message, mode: 'task' })
    return task.id
  }

  async updateTask(worker: AgentName, taskId: string, state: TaskState, text: string): Promise<void> {
    await this.read(worker)
    await updateTask(await this.as(worker), { taskId, state, text })
  }

  async reserve(agent: AgentName, names: string[], note: string): Promise<void> {
    const space = 'git.northwind.example/shop'
    await reserve(await this.as(agent), { names, note, space, seconds: 4 * 3_600 }, { seconds: 0 })
  }
}

/** Pseudorandom integers from 0 to below `below`, determined by the seed. The generator is mulberry32. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = state + 0x6D2B79F5 | 0
    let t = Math.imul(state ^ state >>> 15, 1 | state)
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
    return ((t ^ t >>> 14) >>> 0) % below
  }
}
