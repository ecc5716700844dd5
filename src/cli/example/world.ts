/**
 * The example grid: a small company with 15 agents, 4 people and about 2,500 messages within six days. `demo --serve`
 * serves it, and the console's screenshots and walks use it. Only verbs create its content, on a clock that ends now.
 * Texts and speakers are the same in each run; ids and times of day differ.
 */
import { processDeps } from '../process.ts'
import type { Config } from '../../config.ts'
import { coreHooks } from '../../features.ts'
import { createWebhook } from '../../features/webhooks/webhooks.ts'
import { createAdminKey } from '../../grid/accounts/accounts.ts'
import { setPeopleRead } from '../../grid/accounts/people-read.ts'
import { createAgent } from '../../grid/agents/agents.ts'
import { setAgentSkills } from '../../grid/agents/skills.ts'
import { createApprovalRule } from '../../grid/approvals/rules.ts'
import { createChannel } from '../../grid/channels/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../grid/guardrails/guardrails.ts'
import { inviteMember, registerInvitedUser } from '../../grid/people/invitations.ts'
import { createSetUpLink, setUp } from '../../grid/people/people.ts'
import { createSafeFetch } from '../../lib/outbound/safe-fetch.ts'
import { day, minute, second } from '../../lib/time.ts'
import { openStore, type Store } from '../../store/store.ts'
import { Outboxes } from '../../worker/outboxes.ts'
import { type AgentName, agents, channels, emailOf, exchanges, people, remotes } from './cast.ts'
import { schedule, unreadPerInbox } from './scenes.ts'
import { serversUntil } from './servers.ts'
import { daysOfTalk, Team, type World } from './team.ts'

const ordinaryMessages = 1_500

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
    const team = await found(store, outboxes, clock, password)
    await build(team)
    schedule(team)
    await talk(team)
    return team.world
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
): Promise<Team> {
  const link = await createSetUpLink(store)
  if (link === undefined) throw new Error('The database has users already.')
  const { name } = people.olga
  const { id, userId } = await setUp(store, tokenOf(link), {
    accountName: 'Northwind',
    name,
    email: emailOf('olga'),
    password,
  })
  const team = new Team(store, outboxes, clock, id)
  await team.addPerson('olga', userId)
  for (const person of ['tomas', 'mika', 'vera'] as const) {
    const { role, name } = people[person]
    const email = emailOf(person)
    const { url } = await team.act(
      'olga',
      'invite_member',
      { email, role },
      (owner) => inviteMember(owner, { email, role }),
    )
    await team.addPerson(person, (await registerInvitedUser(store, tokenOf(url), { name, password }, null)).userId)
  }
  return team
}

function tokenOf(link: string): string {
  return link.split('/').at(-1)!
}

async function build(team: Team): Promise<void> {
  const { world } = team
  const act: Team['act'] = (...given) => team.act(...given)
  await act('olga', 'show_conversations', {}, (owner) => setPeopleRead(owner, { choice: 'on' }))
  const key = await act('olga', 'create_admin_key', { name: 'example' }, (owner) => createAdminKey(owner, 'example'))
  world.adminKey = key.adminKey
  for (const [alias, [description, ...skills]] of Object.entries(agents) as [AgentName, readonly string[]][]) {
    const remoteUrl = (remotes as Partial<Record<AgentName, string>>)[alias]
    const input = { alias, description, ...remoteUrl && { type: 'a2a' as const, remoteUrl } }
    const { apiKey } = await act('tomas', 'admin_create_agent', input, (admin) => createAgent(admin, input))
    await setAgentSkills(team.people.tomas(), { agent: alias, skills: skills.map((name) => ({ name })) })
    world.keys[alias] = apiKey
  }
  for (const [name, [description, ...others]] of Object.entries(channels)) {
    const input = { name, description, members: [...others, 'olga', 'tomas', 'mika'] }
    await act('tomas', 'admin_create_channel', input, (admin) => createChannel(admin, input))
  }
  await guard(team)
}

async function guard(team: Team): Promise<void> {
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
    await team.act('tomas', 'create_guardrail', { name: input.name }, (admin) => createGuardrail(admin, input))
  }
  const attached = {
    researcher: [{ ref: 'Code names', direction: 'outbound' as const }],
    helpdesk: [{ ref: 'Tone towards customers', direction: 'outbound' as const }],
    'docs-writer': [{ ref: 'Personal data', direction: 'outbound' as const }],
  }
  for (const [agent, guardrails] of Object.entries(attached)) {
    await team.act('tomas', 'admin_set_agent_guardrails', { alias: agent }, (admin) => {
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
    await team.act('olga', 'create_approval_rule', rule, (owner) => createApprovalRule(owner, rule))
  }
  const hook = { url: 'https://hooks.example/northwind', events: ['task', 'attention'] }
  await team.act('tomas', 'create_webhook', hook, (admin) => createWebhook(admin, hook))
}

/** Sends the ordinary messages of all days and runs the scheduled events. */
async function talk(team: Team): Promise<void> {
  const until = team.end
  const deck = exchanges.flatMap((exchange) => Array.from({ length: exchange[2] }, () => exchange))
  let sent = 0
  for (let n = 0; sent < ordinaryMessages; n++) {
    const [from, to, , ...says] = deck[team.random(deck.length)]
    const number = String(100 + team.random(900))
    let before: string | undefined
    for (const [turn, text] of says.entries()) {
      const isChannel = to.startsWith('#')
      const [speaker, hearer] = isChannel || turn % 2 === 0 ? [from, to] : [to as AgentName, from]
      const input = { text: text.replaceAll('{n}', number), replyToMessageId: isChannel ? undefined : before }
      before = (await team.say(speaker, isChannel ? to : `@${hearer}`, input))?.id
      sent++
      const pause = Math.max(0, until - 2 * minute - team.clock.now) / Math.max(4, ordinaryMessages - sent)
      await team.pass(Math.min(pause / 4, (3 + team.random(40)) * second))
      await team.read(isChannel ? 'planner' : hearer in remotes ? speaker : hearer as AgentName)
      await team.pass(pause / 4 + team.random(1 + Math.floor(pause)))
    }
    if (n % 25 === 0) await team.readAll()
    if (n % 30 === 0) await team.say('researcher', '@planner', { text: `Blue Heron ships in week ${20 + n / 30}.` })
  }
  await team.passUntil(until - minute)
  await team.readAll()
  await team.passUntil(until)
  await team.settle()
}
