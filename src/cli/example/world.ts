/**
 * The example grid: a small company with 15 agents, 4 people and about 2,500 messages within six days. `demo --serve`
 * serves it, and the console's screenshots and walks use it. Only verbs create its content, on a clock that ends now.
 * Texts and speakers are the same in each run; ids and times of day differ.
 */
import { Buffer } from 'node:buffer'
import { callingAgent, callingUser, type UserActor } from '../../auth/actor.ts'
import { createAuthenticator } from '../../auth/bearer.ts'
import { processDeps } from '../process.ts'
import type { Config } from '../../config.ts'
import { GridError } from '../../errors.ts'
import { coreHooks } from '../../features.ts'
import { createWebhook } from '../../features/webhooks/webhooks.ts'
import { createAdminKey } from '../../grid/accounts/accounts.ts'
import { setPeopleRead } from '../../grid/accounts/people-read.ts'
import { recordActivity } from '../../grid/activity.ts'
import { createAgent } from '../../grid/agents/agents.ts'
import { setAgentSkills } from '../../grid/agents/skills.ts'
import { approve, refuse } from '../../grid/approvals/decide.ts'
import { heldMessage, heldMessages } from '../../grid/approvals/held.ts'
import { createApprovalRule } from '../../grid/approvals/rules.ts'
import { createChannel } from '../../grid/channels/channels.ts'
import { markConversationRead, nextUnread } from '../../grid/conversations/marks.ts'
import { listThreads } from '../../grid/conversations/threads.ts'
import { replyToMessage, writeMessage } from '../../grid/conversations/write.ts'
import { createGuardrail, setAgentGuardrails } from '../../grid/guardrails/guardrails.ts'
import { givenParts } from '../../grid/message/given-parts.ts'
import type { SendInput } from '../../grid/message/outgoing-message.ts'
import { readMessages } from '../../grid/messaging/read-messages.ts'
import { sendMessage } from '../../grid/messaging/send-message.ts'
import { inviteMember, registerInvitedUser } from '../../grid/people/invitations.ts'
import { createSetUpLink, setUp } from '../../grid/people/people.ts'
import { chooseAlias } from '../../grid/people/person-aliases.ts'
import { reserve } from '../../grid/reservations/reserve.ts'
import { startTask } from '../../grid/tasks/start-task.ts'
import type { TaskState } from '../../grid/tasks/task.ts'
import { cancelTask } from '../../grid/tasks/tasks.ts'
import { updateTask } from '../../grid/tasks/update-task.ts'
import { newId } from '../../lib/id.ts'
import { createSafeFetch } from '../../lib/outbound/safe-fetch.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { openStore, type Store } from '../../store/store.ts'
import { notifyOfPauses } from '../../worker/pauses.ts'
import { followLog } from '../../worker/followers.ts'
import { Outboxes } from '../../worker/outboxes.ts'
import { failTasks } from '../../worker/retention.ts'
import {
  type AgentName,
  agents,
  channels,
  emailOf,
  exchanges,
  openTasks,
  people,
  type PersonName,
  remotes,
  tasks,
} from './cast.ts'
import { serversUntil } from './servers.ts'

export interface World {
  accountId: string
  adminKey: string
  /** The keys of the agents. */
  keys: Record<AgentName, string>
}

/** Maximum number of unread messages in an inbox of the example grid. One inbox is nearly full. */
export const unreadPerInbox = 300
const daysOfTalk = 6
const ordinaryMessages = 1_500
const loopTurns = 200
const endedTasks = 30

/** Fills a configuration's empty database, which takes some seconds. All people get the same password. */
export async function seedWorld(config: Config, password: string): Promise<World> {
  const end = Date.now()
  const clock = { now: end - daysOfTalk * day }
  const own = { ...config, durability: 'relaxed' as const, logLevel: 'error' as const, unreadPerInbox }
  const process = processDeps(own)
  const now = () => clock.now
  const safeStream = serversUntil(end, clock)
  const safeFetch = createSafeFetch({ ...process, config: own }, safeStream)
  const store = await openStore({ ...process, now, safeStream, safeFetch }, { hooks: coreHooks })
  const outboxes = new Outboxes(store)
  try {
    const seed = await found(store, outboxes, clock, password)
    await seed.build()
    seed.plan()
    await seed.talk()
    return seed.world
  } finally {
    await outboxes.stop()
    await store.close()
    await process.email.close(0)
  }
}

/** Creates the account with its people and agents. */
async function found(
  store: Store,
  outboxes: Outboxes,
  clock: { now: number },
  password: string,
): Promise<Seed> {
  const link = await createSetUpLink(store)
  if (link === undefined) throw new Error('The database has users already.')
  const { name } = people.olga
  const { id, userId } = await setUp(store, tokenOf(link), {
    accountName: 'Northwind',
    name,
    email: emailOf('olga'),
    password,
  })
  const seed = new Seed(store, outboxes, clock, id)
  await seed.addPerson('olga', userId)
  for (const person of ['tomas', 'mika', 'vera'] as const) {
    const { role, name } = people[person]
    const email = emailOf(person)
    const { url } = await seed.act(
      'olga',
      'invite_member',
      { email, role },
      (owner) => inviteMember(owner, { email, role }),
    )
    await seed.addPerson(person, (await registerInvitedUser(store, tokenOf(url), { name, password }, null)).userId)
  }
  return seed
}

function tokenOf(link: string): string {
  return link.split('/').at(-1)!
}

class Seed {
  readonly world: World
  readonly #store: Store
  readonly #outboxes: Outboxes
  readonly #authenticate: ReturnType<typeof createAuthenticator>
  readonly #clock: { now: number }
  readonly #end: number
  readonly #people = {} as Record<PersonName, () => AccountStore>
  readonly #random = randomNumbers(48)
  /** Scheduled events in addition to the ordinary messages, by time. */
  readonly #agenda: { at: number; run: () => Promise<unknown> }[] = []

  constructor(store: Store, outboxes: Outboxes, clock: { now: number }, accountId: string) {
    this.#store = store
    this.#outboxes = outboxes
    this.#authenticate = createAuthenticator(store)
    this.#clock = clock
    this.#end = clock.now + daysOfTalk * day
    this.world = { accountId, adminKey: '', keys: {} as World['keys'] }
  }

  async addPerson(person: PersonName, userId: UserActor['userId']): Promise<void> {
    const { role, description } = people[person]
    this.#people[person] = () => {
      const actor = { type: 'user', userId, role, sessionId: 'example', confirmedAt: this.#clock.now } as const
      return this.#store.account(this.world.accountId, actor)
    }
    if (role !== 'viewer') await chooseAlias(this.#people[person](), { alias: person, description })
  }

  /** Makes a change as a person, with a row in the activity log. */
  async act<T>(
    person: PersonName,
    tool: string,
    input: object,
    run: (account: AccountStore) => Promise<T>,
  ): Promise<T> {
    this.#clock.now += minute
    return await recordActivity(this.#people[person](), { tool, arguments: input, requestId: newId() }, run)
  }

  async build(): Promise<void> {
    const { world } = this
    const act: Seed['act'] = (...given) => this.act(...given)
    await act('olga', 'show_conversations', {}, (owner) => setPeopleRead(owner, { choice: 'on' }))
    const key = await act('olga', 'create_admin_key', { name: 'example' }, (owner) => createAdminKey(owner, 'example'))
    world.adminKey = key.adminKey
    for (const [alias, [description, ...skills]] of Object.entries(agents) as [AgentName, readonly string[]][]) {
      const remoteUrl = (remotes as Partial<Record<AgentName, string>>)[alias]
      const input = { alias, description, ...remoteUrl && { type: 'a2a' as const, remoteUrl } }
      const { apiKey } = await act('tomas', 'admin_create_agent', input, (admin) => createAgent(admin, input))
      await setAgentSkills(this.#people.tomas(), { agent: alias, skills: skills.map((name) => ({ name })) })
      world.keys[alias] = apiKey
    }
    for (const [name, [description, ...others]] of Object.entries(channels)) {
      const input = { name, description, members: [...others, 'olga', 'tomas', 'mika'] }
      await act('tomas', 'admin_create_channel', input, (admin) => createChannel(admin, input))
    }
    await this.#guard()
  }

  async #guard(): Promise<void> {
    const guardrails = [
      { name: 'Code names', provider: 'phrases', config: { phrases: ['blue heron'] } },
      { name: 'Personal data', provider: 'pii', action: 'flag' as const },
      {
        name: 'Tone towards customers',
        provider: 'llm-judge',
        config: {
          baseUrl: 'https://judge.example/v1',
          model: 'small-judge',
          policy: 'No insults. No promised dates.',
        },
        token: 'example',
        action: 'flag' as const,
      },
    ]
    for (const input of guardrails) {
      await this.act('tomas', 'create_guardrail', { name: input.name }, (admin) => createGuardrail(admin, input))
    }
    const attached = {
      researcher: [{ ref: 'Code names', direction: 'outbound' as const }],
      helpdesk: [{ ref: 'Tone towards customers', direction: 'outbound' as const }],
      'docs-writer': [{ ref: 'Personal data', direction: 'outbound' as const }],
    }
    for (const [agent, guardrails] of Object.entries(attached)) {
      await this.act('tomas', 'admin_set_agent_guardrails', { alias: agent }, (admin) => {
        return setAgentGuardrails(admin, { agent, guardrails })
      })
    }
    const rules = [
      { name: 'Refunds', from: '@billing', to: '@courier', expiresInHours: 48 },
      { name: 'Production', from: '@releaser', to: '@ops', expiresInHours: 1, isRisky: true },
      { name: 'Files to the carrier', from: 'any', to: '@courier', condition: 'parts' as const, expiresInHours: 24 },
      { name: 'Personal data', from: 'any', to: 'any', condition: 'finding' as const, guardrail: 'Personal data' },
    ]
    for (const rule of rules) {
      await this.act('olga', 'create_approval_rule', rule, (owner) => createApprovalRule(owner, rule))
    }
    const hook = { url: 'https://hooks.example/northwind', events: ['task', 'attention'] }
    await this.act('tomas', 'create_webhook', hook, (admin) => createWebhook(admin, hook))
  }

  /** Sends the ordinary messages of all days and runs the scheduled events. */
  async talk(): Promise<void> {
    const until = this.#end
    const deck = exchanges.flatMap((exchange) => Array.from({ length: exchange[2] }, () => exchange))
    let sent = 0
    for (let n = 0; sent < ordinaryMessages; n++) {
      const [from, to, , ...says] = deck[this.#random(deck.length)]
      const number = String(100 + this.#random(900))
      let before: string | undefined
      for (const [turn, text] of says.entries()) {
        const isChannel = to.startsWith('#')
        const [speaker, hearer] = isChannel || turn % 2 === 0 ? [from, to] : [to as AgentName, from]
        const input = { text: text.replaceAll('{n}', number), replyToMessageId: isChannel ? undefined : before }
        before = (await this.#say(speaker, isChannel ? to : `@${hearer}`, input))?.id
        sent++
        const pause = Math.max(0, until - 2 * minute - this.#clock.now) / Math.max(4, ordinaryMessages - sent)
        await this.#pass(Math.min(pause / 4, (3 + this.#random(40)) * second))
        await this.#read(isChannel ? 'planner' : hearer in remotes ? speaker : hearer as AgentName)
        await this.#pass(pause / 4 + this.#random(1 + Math.floor(pause)))
      }
      if (n % 25 === 0) await this.#readAll()
      if (n % 30 === 0) await this.#say('researcher', '@planner', { text: `Blue Heron ships in week ${20 + n / 30}.` })
    }
    await this.#passUntil(until - minute)
    await this.#readAll()
    await this.#passUntil(until)
    await this.#settle()
  }

  /** Schedules the events of all days, and of the last hours before the end. */
  plan(): void {
    const end = this.#end
    const before = (minutes: number, run: () => Promise<unknown>) => this.#at(end - minutes * minute, run)
    const begin = this.#clock.now
    for (let at = begin; at < end; at += end - at > 5 * hour ? 2 * hour : 10 * minute) {
      this.#at(at, () => this.#settle())
    }
    for (let n = 0; n < endedTasks; n++) {
      this.#at(begin + (n + 0.5) / endedTasks * (end - 3 * hour - begin), () => this.#work(n))
    }
    for (let at = begin + 5 * hour, n = 0; atWork(at) < end - 6 * hour; at += 17 * hour + 13 * minute, n++) {
      const isRefused = n % 3 === 2
      this.#at(at, () => this.#askFor(isRefused ? 'Please credit 49.00 EUR for the lost parcel.' : pickUp))
      this.#at(atWork(at), () => this.#decide(isRefused))
    }
    for (const { client, worker, text, began, said = [] } of openTasks) {
      before(began, async () => {
        const task = await this.#startTask(client, worker, text)
        for (const [minutes, state, words] of said) {
          before(minutes, () => this.#updateTask(worker, task, state, words))
        }
      })
    }
    const visits = { olga: 94, tomas: 75, mika: 140 }
    for (const [person, minutes] of Object.entries(visits) as [keyof typeof visits, number][]) {
      for (let at = end - minutes * minute; at > begin; at -= 11 * hour) this.#at(at, () => this.#visit(person))
    }
    before(45, () => this.#reserve('builder', ['src/checkout/**', 'SHOP-322'], 'Coupons survive a reload'))
    before(20, () => this.#reserve('docs-writer', ['manual/coupons.md'], 'Waits for 2.14'))
    before(360, () => this.#fillInbox())
    before(240, () => this.#hold())
    before(185, () => this.#say('helpdesk', '@courier', { text: 'Where is parcel 822?' }))
    before(184, () => this.#say('researcher', '@price-feed', { text: 'The price of copper, please.' }))
    before(175, () => this.#runInCircles())
    before(130, () => this.#ask('helpdesk', '@mika', 'Ticket 611: a lawyer writes.', ['I take it', 'Ask Olga']))
    before(110, () => this.#report())
    before(82, () => {
      const choices = ['Monday 10:00', 'Tuesday 14:00', 'Not this week']
      return this.#ask('scheduler', '@olga', 'When should we have the quarterly review?', choices)
    })
    before(74, () => {
      const text = 'Prices change on Monday. Please check the shop.'
      return writeMessage(this.#people.tomas(), { to: '#general', text })
    })
    before(66, () => this.#ask('releaser', '@tomas', 'May the release slip by a day?', ['Yes', 'No']))
    before(41, () => this.#ask('researcher', '@olga', 'The study is done. Will you read it before the board does?'))
    before(34, () => this.#showCheckout())
    before(16, () => this.#holdShortly())
  }

  #at(at: number, run: () => Promise<unknown>): void {
    this.#agenda.push({ at: Math.round(at), run })
    this.#agenda.sort((a, b) => a.at - b.at)
  }

  async #pass(ms: number): Promise<void> {
    await this.#passUntil(this.#clock.now + Math.floor(ms))
  }

  /** Runs all due events and advances the clock to `time`, or later if an event ends later. */
  async #passUntil(time: number): Promise<void> {
    while (this.#agenda.length > 0 && this.#agenda[0].at <= time) {
      const { at, run } = this.#agenda.shift()!
      this.#clock.now = Math.max(this.#clock.now, at)
      await run()
    }
    this.#clock.now = Math.max(this.#clock.now, time)
  }

  /** Does the background work that a server does. */
  async #settle(): Promise<void> {
    await followLog(this.#store)
    await failTasks(this.#store)
    await notifyOfPauses(this.#store)
    await followLog(this.#store)
    await this.#carry()
  }

  async #carry(): Promise<void> {
    await this.#outboxes.run()
    await this.#outboxes.settled()
  }

  /** The account as an agent sees it. Each use counts as activity of the agent. */
  async #as(agent: AgentName): Promise<AccountStore> {
    return await this.#authenticate(`Bearer ${this.world.keys[agent]}`)
  }

  /** Sends a message as an agent; undefined if a guardrail blocks or holds the message. */
  async #say(agent: AgentName, to: string, input: Omit<SendInput, 'to'>): Promise<{ id: string } | undefined> {
    const account = await this.#as(agent)
    try {
      const sent = await sendMessage(account, callingAgent(account.actor), { to, ...input })
      if (to.slice(1) in remotes) await this.#carry()
      return 'held' in sent ? undefined : sent
    } catch (error) {
      if (error instanceof GridError && error.code !== 'invalid_input') return undefined
      throw error
    }
  }

  async #read(agent: AgentName): Promise<void> {
    if (agent in remotes || (agent === 'design-critic' && this.#clock.now > this.#end - 7 * hour)) return
    const { lease } = await readMessages(await this.#as(agent), {})
    lease?.ack()
  }

  async #readAll(): Promise<void> {
    for (const agent of Object.keys(agents) as AgentName[]) await this.#read(agent)
  }

  /** A person reads their unread conversations and opens the newest ones. */
  async #visit(person: PersonName): Promise<void> {
    await followLog(this.#store)
    const account = this.#people[person]()
    const see = (id: number) => markConversationRead(account, id, { upTo: Number.MAX_SAFE_INTEGER })
    for (let next; (next = await nextUnread(account));) await see(next.threadId)
    const { threads } = await listThreads(account, { userId: callingUser(account.actor).userId })
    for (const { id } of threads) await see(id)
  }

  /** Runs a task that ends within two hours. */
  async #work(n: number): Promise<void> {
    const [client, worker, text, done] = tasks[n % tasks.length]
    const task = await this.#startTask(client, worker, text.replace('{n}', String(100 + this.#random(900))))
    const start = this.#clock.now
    const end = start + (15 + this.#random(60)) * minute
    if (n % 10 === 3) return this.#at(end, async () => cancelTask(await this.#as(client), task))
    this.#at(start + 2 * minute, () => this.#updateTask(worker, task, 'working', 'I begin.'))
    this.#at(end, () => this.#updateTask(worker, task, 'completed', done))
  }

  async #startTask(client: AgentName, worker: AgentName, text: string): Promise<string> {
    const account = await this.#as(client)
    const message = { messageId: newId(), parts: [{ text }] }
    const { task } = await startTask(account, callingAgent(account.actor), { to: `@${worker}`, message, mode: 'task' })
    return task.id
  }

  async #updateTask(worker: AgentName, taskId: string, state: TaskState, text: string): Promise<void> {
    await this.#read(worker)
    await updateTask(await this.#as(worker), { taskId, state, text })
  }

  async #askFor(text: string): Promise<void> {
    await this.#say('billing', '@courier', { text })
  }

  /** The owner decides on all held messages. */
  async #decide(isRefused: boolean): Promise<void> {
    const owner = this.#people.olga()
    for (const { id, fromAlias: agent, recipient: to } of await heldMessages(owner)) {
      const { hash } = await heldMessage(owner, id)
      const tool = isRefused ? 'refuse_message' : 'approve_message'
      await this.act('olga', tool, { agent, to }, (account) => {
        const choice = { id, hash }
        return isRefused ? refuse(account, { ...choice, reason: 'Ask the customer first.' }) : approve(account, choice)
      })
    }
    await this.#carry()
  }

  async #fillInbox(): Promise<void> {
    for (let n = 1; n <= Math.ceil(0.95 * unreadPerInbox); n++) {
      await this.#say('builder', '@design-critic', { text: `Screen ${n} of the new checkout: what is wrong with it?` })
      this.#clock.now += 8 * second
    }
  }

  async #runInCircles(): Promise<void> {
    const pair = ['docs-writer', 'translator'] as const
    for (let n = 0; n <= loopTurns; n++) {
      const [from, to] = n % 2 ? [pair[1], pair[0]] : pair
      await this.#read(from)
      const question = n === 0 ? 'Is “Bestellung” the right word for an order?' : 'Thank you. Is that right?'
      await this.#say(from, `@${to}`, { text: n % 2 ? 'Thank you, that is right.' : question })
      this.#clock.now += 2 * second
    }
    await this.#read('translator')
    await this.#settle()
  }

  async #hold(): Promise<void> {
    const asked = await this.#say('courier', '@billing', { text: 'Order 4711: who pays for the second delivery?' })
    for (let n = 0; n < 8; n++) {
      await this.#askFor(pickUp)
      await this.#pass(minute)
    }
    await this.#read('billing')
    await this.#say('billing', '@courier', {
      text: [
        'Confirmed: two captures of 49.00 EUR on the same day.',
        '',
        'We pay for the second delivery. Please credit the first one, and send the receipt to accounting.',
      ].join('\n'),
      replyToMessageId: asked?.id,
      parts: givenParts([
        { raw: base64('order,amount\n4711,49.00\n4711,49.00\n'), filename: 'captures.csv', mediaType: 'text/csv' },
        { data: { order: 4711, refund: { amount: '49.00', currency: 'EUR' } } },
      ]),
      expiresInSeconds: 2 * day / 1_000,
    })
    await this.#pass(20 * minute)
    await this.#say('helpdesk', '@courier', {
      text: 'Here are the labels for the next pick-up.',
      parts: givenParts([{ raw: base64('%PDF-1.4 labels'), filename: 'labels.pdf', mediaType: 'application/pdf' }]),
    })
    await this.#say('docs-writer', '@planner', {
      text: 'The customer to call back is Anna Weber, anna.weber@mail.example, +49 151 23456789.',
    })
  }

  /** Adds the events of the last hour. */
  async #holdShortly(): Promise<void> {
    const plan = await this.#say('ops', '@releaser', { text: 'The replica is back. You may deploy 2.14.' })
    await this.#pass(40 * second)
    await this.#read('releaser')
    await this.#say('releaser', '@ops', {
      text: 'Deploy release 2.14 to production, then restart the workers one by one.',
      replyToMessageId: plan?.id,
    })
  }

  async #ask(agent: AgentName, to: string, text: string, choices?: string[]): Promise<void> {
    await this.#say(agent, to, { text, choices })
  }

  async #reserve(agent: AgentName, names: string[], note: string): Promise<void> {
    const space = 'git.northwind.example/shop'
    await reserve(await this.#as(agent), { names, note, space, seconds: 4 * 3_600 }, { seconds: 0 })
  }

  /** Sends a report that its reader answers at her next visit. */
  async #report(): Promise<void> {
    const report = await this.#say('planner', '@olga', {
      text: [
        '## This week',
        '',
        '| team | done | open |',
        '| --- | ---: | ---: |',
        '| shop | 31 | 4 |',
        '| support | 112 | 9 |',
        '',
        'The coupons are fixed. JPY is next.',
      ].join('\n'),
    })
    await this.#pass(15 * minute)
    if (report) await replyToMessage(this.#people.olga(), { messageId: report.id, text: 'Good. Thank you.' })
  }

  async #showCheckout(): Promise<void> {
    await this.#say('builder', '#design', {
      text: 'Here is the new checkout, measured on three phones.',
      parts: givenParts([
        { raw: base64('phone,first paint\nA,0.8\nB,1.1\nC,1.4\n'), filename: 'checkout.csv', mediaType: 'text/csv' },
      ]),
    })
  }
}

const pickUp = "Please collect the customer's return and credit 12.50 EUR."

/** A time shortly after the given one, between 8 and 18 o'clock UTC. */
function atWork(time: number): number {
  const soon = time + 5 * minute
  const ofDay = soon % day
  const morning = soon - ofDay + 8 * hour + soon % hour
  return ofDay < 8 * hour ? morning : ofDay < 18 * hour ? soon : morning + day
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
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
