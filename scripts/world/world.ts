/**
 * The example grid: a small company with 15 agents, 4 people and some 2,000 messages of six days. `npm run dev` serves it;
 * pictures and walks through the console begin with it. All of it is made by verbs, on a clock that ends now. What is said
 * and who says it is the same each time; ids and times are not.
 */
import { Buffer } from 'node:buffer'
import { callingAgent, type UserActor } from '../../src/auth/actor.ts'
import { processDeps } from '../../src/cli/process.ts'
import type { Config } from '../../src/config.ts'
import { GridError } from '../../src/errors.ts'
import { coreHooks } from '../../src/features.ts'
import { createWebhook } from '../../src/features/webhooks/webhooks.ts'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { setPeopleRead } from '../../src/grid/accounts/people-read.ts'
import { recordActivity } from '../../src/grid/activity.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { setAgentSkills } from '../../src/grid/agents/skills.ts'
import { approve, refuse } from '../../src/grid/approvals/decide.ts'
import { heldMessage, heldMessages } from '../../src/grid/approvals/held.ts'
import { createApprovalRule } from '../../src/grid/approvals/rules.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { replyToMessage, writeMessage } from '../../src/grid/conversations/write.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { givenParts } from '../../src/grid/message/given-parts.ts'
import type { SendInput } from '../../src/grid/message/outgoing-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { inviteMember, registerInvitedUser } from '../../src/grid/people/invitations.ts'
import { createSetUpLink, setUp } from '../../src/grid/people/people.ts'
import { chooseAlias } from '../../src/grid/people/person-aliases.ts'
import { startTask } from '../../src/grid/tasks/start-task.ts'
import { cancelTask } from '../../src/grid/tasks/tasks.ts'
import { givenStates, updateTask } from '../../src/grid/tasks/update-task.ts'
import { newId } from '../../src/lib/id.ts'
import { RemoteError } from '../../src/lib/outbound/remote-error.ts'
import { day, hour, minute } from '../../src/lib/time.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { notifyOfPauses } from '../../src/worker/pauses.ts'
import { followLog } from '../../src/worker/followers.ts'
import { Outboxes } from '../../src/worker/outboxes.ts'
import {
  type AgentName,
  agents,
  channels,
  emailOf,
  exchanges,
  password,
  people,
  type PersonName,
  remotes,
} from './cast.ts'

export interface World {
  accountId: string
  adminKey: string
  /** The keys of the agents. */
  keys: Record<AgentName, string>
}

/** The most unread messages of an inbox in the example grid: one of them is nearly full. */
export const unreadPerInbox = 300
const daysOfTalk = 6
const ordinaryMessages = 1_500
const loopTurns = 200

/** Fills the empty database of a configuration. It takes some seconds. */
export async function seedWorld(config: Config): Promise<World> {
  const end = Date.now()
  const clock = { now: end - daysOfTalk * day }
  // Nothing is sent outside: every server there is out of reach.
  const unreachable = () => Promise.reject(new RemoteError('not_connected', 'The example grid sends nothing'))
  const deps = {
    ...processDeps({ ...config, durability: 'relaxed', logLevel: 'error', unreadPerInbox }),
    now: () => clock.now,
    safeFetch: unreachable,
    safeStream: unreachable,
  }
  const store = await openStore(deps, { hooks: coreHooks })
  try {
    const seed = await found(store, clock)
    await seed.build()
    await seed.talk(end - 4 * hour)
    await seed.leaveOpen(end)
    return seed.world
  } finally {
    await store.close()
    await deps.email.close(0)
  }
}

/** Makes the account with its people and agents. */
async function found(store: Store, clock: { now: number }): Promise<Seed> {
  const link = await createSetUpLink(store)
  if (link === undefined) throw new Error('The database has users already.')
  const { name } = people.olga
  const { id, userId } = await setUp(store, tokenOf(link), {
    accountName: 'Northwind',
    name,
    email: emailOf('olga'),
    password,
  })
  const seed = new Seed(store, clock, id)
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
  readonly #clock: { now: number }
  readonly #people = {} as Record<PersonName, () => AccountStore>
  readonly #agents = {} as Record<AgentName, AccountStore>
  readonly #random = randomNumbers(48)

  constructor(store: Store, clock: { now: number }, accountId: string) {
    this.#store = store
    this.#clock = clock
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

  /** Lets a person change something, with a row in the log. */
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
      const { agent, apiKey } = await act('tomas', 'admin_create_agent', input, (admin) => createAgent(admin, input))
      await setAgentSkills(this.#people.tomas(), { agent: alias, skills: skills.map((name) => ({ name })) })
      world.keys[alias] = apiKey
      const actor = { type: 'agent', agentId: agent.id, alias, credentialId: 'example' } as const
      this.#agents[alias] = this.#store.account(world.accountId, actor)
    }
    for (const [name, [description, ...others]] of Object.entries(channels)) {
      const input = { name, description, members: [...others, 'olga', 'tomas', 'mika'] }
      await act('tomas', 'admin_create_channel', input, (admin) => createChannel(admin, input))
    }
    await this.#guard()
  }

  async #guard(): Promise<void> {
    const guardrails = [
      {
        name: 'Code names',
        provider: 'phrases',
        config: { phrases: ['blue heron'] },
        attach: { agents: [{ ref: 'researcher', direction: 'outbound' as const }] },
      },
      { name: 'Personal data', provider: 'pii', action: 'flag' as const },
      {
        name: 'Tone towards customers',
        provider: 'llm-judge',
        config: {
          baseUrl: 'https://judge.example/v1',
          model: 'small-judge',
          policy: 'No insults. No promises of dates.',
        },
        token: 'example',
        action: 'flag' as const,
      },
    ]
    for (const { attach: _, ...input } of guardrails) {
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
    const hook = { url: 'https://hooks.example/northwind', events: ['message', 'task', 'attention'] }
    await this.act('tomas', 'create_webhook', hook, (admin) => createWebhook(admin, hook))
  }

  /** Days of ordinary talk until a time, in which messages are read and tasks end. */
  async talk(until: number): Promise<void> {
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
        const said = await this.say(speaker, isChannel ? to : `@${hearer}`, input)
        before = said?.id
        sent++
        await this.#read(isChannel ? 'planner' : hearer as AgentName)
        const pause = Math.floor((until - this.#clock.now) / Math.max(1, ordinaryMessages - sent))
        this.#clock.now += Math.floor(pause / 2) + this.#random(pause)
      }
      if (n % 25 === 0) await this.#readAll()
      if (n % 20 === 0) await this.#work(n / 20)
      if (n % 60 === 0) await this.#decide(n / 60)
      if (n % 30 === 0) await this.say('researcher', '@planner', { text: `Blue Heron ships in week ${20 + n / 30}.` })
      if (n % 150 === 0) await followLog(this.#store)
    }
  }

  /** Sends as an agent; undefined if a guardrail blocks it or it is held. */
  async say(agent: AgentName, to: string, input: Omit<SendInput, 'to'>): Promise<{ id: string } | undefined> {
    const account = this.#agents[agent]
    try {
      const sent = await sendMessage(account, callingAgent(account.actor), { to, ...input })
      return 'held' in sent ? undefined : sent
    } catch (error) {
      if (error instanceof GridError && error.code !== 'invalid_input') return undefined
      throw error
    }
  }

  async #read(agent: AgentName): Promise<void> {
    if (agent in remotes || agent === 'design-critic') return
    const { lease } = await readMessages(this.#agents[agent], {})
    lease?.ack()
  }

  async #readAll(): Promise<void> {
    for (const agent of Object.keys(agents) as AgentName[]) await this.#read(agent)
  }

  /** One task after another, with every state. */
  async #work(n: number): Promise<void> {
    const states = [...givenStates, 'completed', 'canceled', 'completed'] as const
    const state = states[n % states.length]
    const text = tasks[n % tasks.length]
    const [client, worker] = n % 2 ? ['planner', 'builder'] as const : ['helpdesk', 'billing'] as const
    const account = this.#agents[client]
    const message = { messageId: newId(), parts: [{ text: `${text} (${n + 1})` }] }
    const { task } = await startTask(account, callingAgent(account.actor), { to: `@${worker}`, message, mode: 'task' })
    this.#clock.now += minute
    if (state === 'canceled') {
      await cancelTask(account, task.id)
      return
    }
    await this.#read(worker)
    await updateTask(this.#agents[worker], { taskId: task.id, state, text: saidOfTask[state] })
  }

  /** Most of what is held is decided within the day. */
  async #decide(round: number): Promise<void> {
    await this.say('billing', '@courier', { text: 'Refund 49.00 EUR for order 611: two captures, confirmed.' })
    this.#clock.now += 5 * minute
    const owner = this.#people.olga()
    for (const { id } of await heldMessages(owner)) {
      const { hash } = await heldMessage(owner, id)
      const isRefused = round % 3 === 2
      await this.act('olga', isRefused ? 'refuse_message' : 'approve_message', {}, (account) => {
        const choice = { id, hash }
        return isRefused ? refuse(account, { ...choice, reason: 'Ask the customer first.' }) : approve(account, choice)
      })
    }
  }

  /** What is open at the end: what waits for people, and what is broken. */
  async leaveOpen(end: number): Promise<void> {
    await this.#readAll()
    await this.#fillInbox()
    await this.#runInCircles()
    await this.#hold()
    await this.#ask()
    await this.#fail(end - 10 * minute)
    await this.#holdShortly()
    this.#clock.now = end
    await notifyOfPauses(this.#store)
    await followLog(this.#store)
  }

  async #fillInbox(): Promise<void> {
    const { planner } = this.#agents
    const message = { messageId: newId(), parts: [{ text: 'Say what is wrong with the page of an order' }] }
    await startTask(planner, callingAgent(planner.actor), { to: '@design-critic', message, mode: 'task' })
    for (let n = 1; n <= Math.ceil(0.95 * unreadPerInbox); n++) {
      await this.say('builder', '@design-critic', { text: `Screen ${n} of the new checkout: what is wrong with it?` })
    }
  }

  async #runInCircles(): Promise<void> {
    const pair = ['docs-writer', 'translator'] as const
    for (let n = 0; n <= loopTurns; n++) {
      const [from, to] = n % 2 ? [pair[1], pair[0]] : pair
      await this.#read(from)
      await this.say(from, `@${to}`, { text: n % 2 ? 'Thank you, that is right.' : 'Thank you. Is that right?' })
      this.#clock.now += 2_000
    }
  }

  async #hold(): Promise<void> {
    const asked = await this.say('courier', '@billing', { text: 'Order 4711: who pays for the second delivery?' })
    for (let n = 0; n < 8; n++) {
      await this.say('billing', '@courier', {
        text: 'Please pick up the return from the customer and credit 12.50 EUR.',
      })
      this.#clock.now += minute
    }
    await this.say('billing', '@courier', {
      text: [
        'Confirmed: two captures of 49.00 EUR on 21 November.',
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
    await this.say('helpdesk', '@courier', {
      text: 'The labels of today, for the pick-up at 17:00.',
      parts: givenParts([{ raw: base64('%PDF-1.4 labels'), filename: 'labels.pdf', mediaType: 'application/pdf' }]),
    })
    await this.say('docs-writer', '@planner', {
      text: 'The customer to call back is Anna Weber, anna.weber@mail.example, +49 151 23456789.',
    })
  }

  /** What ends within the hour. */
  async #holdShortly(): Promise<void> {
    const plan = await this.say('ops', '@releaser', { text: 'The replica is back. You may deploy 2.14.' })
    await this.#read('releaser')
    await this.say('releaser', '@ops', {
      text: 'Deploy release 2.14 to production, then restart the workers one by one.',
      replyToMessageId: plan?.id,
    })
  }

  async #ask(): Promise<void> {
    const ask = (agent: AgentName, to: string, text: string, choices?: string[]) =>
      this.say(agent, to, { text, choices })
    await ask('scheduler', '@olga', 'When shall the review of the quarter be?', [
      'Monday 10:00',
      'Tuesday 14:00',
      'Not this week',
    ])
    await ask('releaser', '@tomas', 'May I move the release from Thursday to Friday?', ['Yes', 'No'])
    await ask('helpdesk', '@mika', 'Ticket 611: a lawyer writes. Do you take it?', ['I take it', 'Ask Olga'])
    await ask('researcher', '@olga', 'The study is done. Shall I send it to the board, or do you read it first?')
    const report = await ask(
      'planner',
      '@olga',
      [
        '## Friday',
        '',
        '| team | done | open |',
        '| --- | ---: | ---: |',
        '| shop | 31 | 4 |',
        '| support | 112 | 9 |',
        '',
        'The coupons are mended. JPY follows on Monday.',
      ].join('\n'),
    )
    this.#clock.now += minute
    if (report) await replyToMessage(this.#people.olga(), { messageId: report.id, text: 'Good. Thank you.' })
    await this.say('builder', '#design', {
      text: 'The new checkout, measured on three phones.',
      parts: givenParts([
        { raw: base64('phone,first paint\nA,0.8\nB,1.1\nC,1.4\n'), filename: 'checkout.csv', mediaType: 'text/csv' },
      ]),
    })
    await writeMessage(this.#people.tomas(), {
      to: '#general',
      text: 'Prices change on Monday. Please check the shop.',
    })
  }

  /** Servers outside are out of reach, for longer than Attention waits. */
  async #fail(until: number): Promise<void> {
    await this.say('helpdesk', '@courier', { text: 'Where is parcel 822?' })
    await this.say('researcher', '@price-feed', { text: 'The price of copper, please.' })
    const outboxes = new Outboxes(this.#store)
    for (let at = this.#clock.now; at < until; at += 10 * minute) {
      this.#clock.now = at
      await followLog(this.#store)
      await outboxes.run()
      await outboxes.settled()
    }
    await outboxes.stop()
  }
}

const tasks = [
  'Refund the second capture of order 611',
  'Rename the flag of the exporter',
  'Find out why invoices of Norway have no tax',
  'Write a test for the rounding of JPY',
]

const saidOfTask: Record<typeof givenStates[number], string> = {
  working: 'Half of it is done.',
  'input-required': 'Which of the two captures is the wrong one?',
  'auth-required': 'The bank asks for a second signature.',
  completed: 'Done. The receipt is in the order.',
  failed: 'The SDK needs Node 22, and the server has 20.',
  rejected: 'I may not touch orders that are older than a year.',
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The same numbers for each seed, from 0 to `below`. The generator is mulberry32. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = state + 0x6D2B79F5 | 0
    let t = Math.imul(state ^ state >>> 15, 1 | state)
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
    return ((t ^ t >>> 14) >>> 0) % below
  }
}
