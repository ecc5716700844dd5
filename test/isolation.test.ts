/**
 * The second law: no account reaches another (security T1, T2, E1, E3).
 *
 * Every parameter of every tool, and every verb that takes something by name, is
 * called by an account that does not own it. What belongs to a stranger is answered
 * like what never existed, and the stranger's rows are the same afterwards.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAdminKey, deleteAdminKey } from '../src/grid/accounts/accounts.ts'
import { reissueKey } from '../src/grid/agents/agent-keys.ts'
import { updateAgent } from '../src/grid/agents/agent-settings.ts'
import { createAgent, listAgents } from '../src/grid/agents/agents.ts'
import { changeChannelMembers, createChannel, listChannels, updateChannel } from '../src/grid/channels/channels.ts'
import { createGuardrail, deleteGuardrail, updateGuardrail } from '../src/grid/guardrails/guardrails.ts'
import { messageStatus } from '../src/grid/messaging/message-status.ts'
import { checkRecipient, sendMessage } from '../src/grid/messaging/send-message.ts'
import { cursorAt } from '../src/grid/messaging/cursor.ts'
import { readMessages } from '../src/grid/messaging/read-messages.ts'
import { readAgain } from '../src/grid/messaging/read-again.ts'
import { revokeGrant } from '../src/grid/oauth/grants.ts'
import { deleteSkill, listSkills, setSkills, updateSkill } from '../src/grid/agents/skills.ts'
import { newId } from '../src/lib/id.ts'
import type { AccountStore } from '../src/store/account.ts'
import { dump, rows } from './support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from './support/grid.ts'
import { islands } from './support/islands.ts'
import { expectUntold } from './support/matrix.ts'
import { mcp } from './support/mcp.ts'
import { accessTokenOf } from './support/oauth-token.ts'
import { a2aRows, adminRows, agentRows, casesOf, textPaths } from './support/parameters.ts'

describe('a parameter of a tool', async () => {
  const world = await islands()
  const { grid } = world
  afterAll(() => grid.close())
  afterEach(() => world.reset())

  const doors = [
    { rows: adminRows, call: (tool: string, args: Args) => world.callMcp(grid.evil.adminKey, tool, args) },
    { rows: agentRows, call: (tool: string, args: Args) => world.callMcp(grid.eve.key, tool, args) },
    { rows: a2aRows, call: (method: string, message: Args) => world.callA2a(method, message) },
  ]
  const named = doors.flatMap(({ rows, call }) =>
    Object.entries(rows).flatMap(([tool, row]) =>
      Object.entries(row.parameters).flatMap(([path, parameter]) =>
        parameter === 'text' ? [] : [{ tool, row, path, parameter, call }]
      )
    )
  )
  const cases = named.flatMap((at) =>
    casesOf(at.parameter).map((of) => [`${at.tool} ${at.path}: ${of.state}, ${of.form}`, { ...at, ...of }] as const)
  )
  let ran = 0
  afterAll(() => console.log(`isolation matrix: ${named.length} parameters, ${ran} cases`))

  test.each([['admin', adminRows, grid.evil.adminKey], ['agent', agentRows, grid.eve.key]] as const)(
    'of the %s tools has its row in the matrix, also a new one',
    async (_, rows, key) => {
      const { body } = await mcp(grid, key, 'tools/list')

      const listed = body.result.tools.map(({ name, inputSchema }: Listed) => [name, textPaths(inputSchema)])
      expect(Object.entries(rows).map(([tool, row]) => [tool, Object.keys(row.parameters)])).toEqual(listed)
    },
  )

  test.each(cases)('%s', async (_, at) => {
    await expectUntold(world, at)
    ran++
  })
})

type Args = Record<string, unknown>

interface Listed {
  name: string
  inputSchema: Parameters<typeof textPaths>[0]
}

/** One way to name something, and who names it: an agent of the account, or its admin. */
interface Probe {
  /** The verb, or the tool. */
  name: string
  as: 'agent' | 'admin'
  /** What the parameter names. */
  takes: Thing
  call(account: AccountStore, value: string): Promise<unknown>
}

type Thing = 'agent' | 'channel' | 'message' | 'credential' | 'grant' | 'skill' | 'guardrail'

const probes: Probe[] = [
  { name: 'sendMessage', as: 'agent', takes: 'agent', call: (account, to) => sendMessage(account, { to, text: 'hi' }) },
  {
    name: 'sendMessage to a channel',
    as: 'agent',
    takes: 'channel',
    call: (account, name) => sendMessage(account, { to: `#${name}`, text: 'hi' }),
  },
  {
    name: 'sendMessage in reply',
    as: 'agent',
    takes: 'message',
    call: (account, id) => sendMessage(account, { to: 'mallory', text: 'hi', replyToMessageId: id }),
  },
  {
    name: 'sendMessage in reply, in a conversation',
    as: 'agent',
    takes: 'message',
    call: (account, id) =>
      sendMessage(account, { to: 'mallory', text: 'hi', replyToMessageId: id, conversationId: 'c' }),
  },
  { name: 'checkRecipient', as: 'agent', takes: 'agent', call: checkRecipient },
  { name: 'messageStatus', as: 'agent', takes: 'message', call: messageStatus },
  { name: 'listSkills', as: 'agent', takes: 'agent', call: (account, agent) => listSkills(account, { agent }) },
  { name: 'listAgents', as: 'agent', takes: 'agent', call: (account, search) => listAgents(account, { search }) },
  {
    name: 'listAgents of others',
    as: 'agent',
    takes: 'agent',
    call: (account, search) => listAgents(account, { search, public: true }),
  },
  {
    name: 'createChannel with one foreign member among ten',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => {
      const own = Array.from({ length: 9 }, (_, n) => `own-${n}`)
      return createChannel(account, { name: 'ten', members: [...own.slice(0, 5), member, ...own.slice(5)] })
    },
  },
  {
    name: 'changeChannelMembers',
    as: 'admin',
    takes: 'channel',
    call: (account, channel) => changeChannelMembers(account, { channel, add: ['own-1'] }),
  },
  {
    name: 'changeChannelMembers with one foreign member among two',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => changeChannelMembers(account, { channel: 'home', add: ['own-1', member] }),
  },
  {
    name: 'changeChannelMembers without a foreign member',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => changeChannelMembers(account, { channel: 'home', remove: [member] }),
  },
  {
    name: 'updateChannel',
    as: 'admin',
    takes: 'channel',
    call: (account, channel) => updateChannel(account, { channel, description: 'mine' }),
  },
  {
    name: 'updateSkill',
    as: 'admin',
    takes: 'skill',
    call: (account, id) => updateSkill(account, id, { name: 'mine' }),
  },
  { name: 'deleteSkill', as: 'admin', takes: 'skill', call: deleteSkill },
  {
    name: 'updateGuardrail',
    as: 'admin',
    takes: 'guardrail',
    call: (account, id) => updateGuardrail(account, id, { name: 'mine', config: {}, enabled: false }),
  },
  { name: 'deleteGuardrail', as: 'admin', takes: 'guardrail', call: deleteGuardrail },
  {
    name: 'updateAgent',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => updateAgent(account, { agent, description: 'ours now', visibility: 'public' }),
  },
  { name: 'reissueKey', as: 'admin', takes: 'agent', call: reissueKey },
  { name: 'deleteAdminKey', as: 'admin', takes: 'credential', call: deleteAdminKey },
  { name: 'revokeGrant', as: 'admin', takes: 'grant', call: revokeGrant },
]

/** Verbs that name nothing of others, whose answer may tell, or that the tools call with every form. */
const withoutProbe: Record<string, string> = {
  readMessages: 'reads the own mailbox alone (tested below)',
  readAgain: 'the same',
  giveBack: 'the same, with a hand-out that no caller names',
  handedOver: 'the same',
  giveBackUnknown: 'the same, when it may not have been made',
  giveBackOf: 'the same, for the process itself',
  park: 'the same, with messages of that hand-out',
  cursorAt: 'names a place of the own mailbox',
  placeOf: 'takes a cursor of the own mailbox alone (test/grid/messaging/read-again.test.ts)',
  awaitMessages: 'reads the own mailbox alone (tested in grid/waiting)',
  listenForMail: 'looks into the own mailbox alone (tested in grid/waiting)',
  listChannels: 'lists the own channels alone (tested below)',
  setSkills: 'names skills by text, in the own account (tested below)',
  createAgent: 'says that an alias is taken, as signup does: aliases are unique over all accounts',
  refuseTakenAlias: 'the same',
  createAdminKey: 'takes a name for display',
  listGrants: 'lists the grants of the own account alone (test/oauth/revoke.test.ts)',
  replaceAgentKey: 'replaces the key of the calling agent',
  newAgentStatements: 'makes statements for createAgent and signUp',
  sealRemoteToken: 'seals a token for createAgent and updateAgent',
  attachSkills: 'makes statements for setSkills and createAgent',
  refuseTooManySkills: 'counts the skills of the own account',
  createGuardrail: 'takes a name for the own account',
  createSkill: 'the same',
  findAgent: 'is how the verbs find an agent',
  deleteAgent: 'admin_delete_agent, above',
  deleteChannel: 'admin_delete_channel, above',
  setAgentGuardrails: 'admin_set_agent_guardrails, above',
  setAgentSkills: 'admin_set_agent_skills, above',
  setChannelMembers: 'admin_set_channel_members, above',
  inviteMember: 'takes a mail address, and a person to invite (tested in grid/team, as all of the team)',
  sendInvitationAgain: 'names an invitation, for a signed-in person (the same)',
  withdrawInvitation: 'the same',
  setMemberRole: 'names a person of the account, for a signed-in one (the same)',
  removeMember: 'the same',
  handOverAccount: 'the same',
  leaveAccount: 'names nobody',
  standing: 'reads what the caller is',
  renameAccount: 'takes a name for the own account',
}

let grid: TestGrid

describe('a verb', () => {
  let acme: { dump: string; values: Record<Thing, Record<string, string>> }
  beforeEach(async () => {
    grid = await testGrid()
    const { alice, bob } = grid
    await createChannel(grid.acme.store, { name: 'secret', members: ['alice', 'bob'] })
    await createChannel(grid.acme.store, { name: 'closed', members: ['alice', 'bob'] })
    await setSkills(as(alice), { skills: [{ name: 'spying', description: 'of Acme' }] })
    const { id } = await sendMessage(as(alice), { to: 'bob', text: 'for Acme alone' })
    await sendMessage(as(alice), { to: '#secret', text: 'for the channel' })
    const gone = await grid.acme.agent('gone')
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, gone.id])
    await rows(grid, "UPDATE channels SET deleted_at = 1 WHERE account_id = ? AND name = 'closed'", [grid.acme.id])
    const guardrail = await createGuardrail(grid.acme.store, { name: 'watch', provider: 'pii' })
    const [skill] = await grid.acme.store.read.skills.list()
    await createChannel(grid.evil.store, { name: 'home' })
    for (const alias of ['mallory', ...Array.from({ length: 9 }, (_, n) => `own-${n}`)]) await grid.evil.agent(alias)

    const channel = await rows(grid, "SELECT id FROM channels WHERE account_id = ? AND name = 'secret'", [grid.acme.id])
    const [key] = await grid.acme.store.read.keys.adminKeys()
    const [owner] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [grid.acme.id])
    const grant = await accessTokenOf(grid, String(owner.user_id), grid.acme.id)
    acme = {
      dump: await dump(grid, grid.acme),
      values: {
        agent: { foreign: 'bob', 'with @': '@bob', 'its id': bob.id, deleted: 'gone' },
        channel: { foreign: 'secret', 'its id': String(channel[0].id), deleted: 'closed' },
        message: { foreign: id, "of an agent's id": alice.id },
        credential: { foreign: key.id },
        grant: { foreign: grant.grantId },
        skill: { foreign: skill.id },
        guardrail: { foreign: guardrail.id },
      },
    }
  })
  afterEach(() => grid.close())

  const verbCases = probes.flatMap((probe) =>
    ({
      agent: ['foreign', 'with @', 'its id', 'deleted'],
      channel: ['foreign', 'its id', 'deleted'],
      message: ['foreign', "of an agent's id"],
      credential: ['foreign'],
      grant: ['foreign'],
      skill: ['foreign'],
      guardrail: ['foreign'],
    })[probe.takes].map((kind) => ({ ...probe, kind }))
  )

  test.each(verbCases)(
    '$name: $takes ($kind) is answered like one that never was',
    async ({ takes, kind, call, ...probe }) => {
      const caller = probe.as === 'agent' ? as(grid.eve) : grid.evil.store
      const foreign = acme.values[takes][kind]
      const random = randomLike(foreign)

      const answer = await answerOf(call(caller, foreign), foreign)
      const answerToRandom = await answerOf(call(caller, random), random)

      expect(answer).toBe(answerToRandom)
      expect(await dump(grid, grid.acme)).toBe(acme.dump)
    },
  )

  test('every verb that takes an account is probed, or says why not', () => {
    const verbs = readdirSync('src/grid').flatMap((file) =>
      [
        ...readFileSync(`src/grid/${file}`, 'utf8').matchAll(
          /^export (?:async )?function (\w+)\(\s*account: AccountStore/gm,
        ),
      ]
        .map(([, verb]) => verb)
    )
    const probed = probes.map(({ name }) => name.split(' ')[0])

    expect([...new Set([...probed, ...Object.keys(withoutProbe)])].sort()).toEqual(verbs.sort())
  })

  test('lists and mailboxes hold nothing of another account', async () => {
    const eve = as(grid.eve)

    const seen = JSON.stringify([
      await readMessages(eve, {}),
      await readAgain(eve, {}),
      await readAgain(eve, { since: 'last_batch' }),
      await readAgain(eve, { since: '9d' }),
      await readAgain(eve, { since: cursorAt(eve, grid.eve.id, 0) }),
      await listAgents(eve, {}),
      await listAgents(eve, { public: true }),
      await listAgents(eve, { search: 'spying' }),
      await listChannels(eve),
      await listSkills(eve, {}),
    ])

    expect(seen).not.toMatch(/alice|bob|gone|secret|spying|Acme/)
    expect(await dump(grid, grid.acme)).toBe(acme.dump)
  })

  test('the same names in two accounts are two things', async () => {
    await setSkills(as(grid.eve), { skills: [{ name: 'spying', description: 'of Evil' }] })
    await createChannel(grid.evil.store, { name: 'secret', members: ['eve', 'mallory'] })
    await sendMessage(as(grid.eve), { to: '#secret', text: 'for Evil' })
    await createAdminKey(grid.evil.store, 'first key')

    expect(await listSkills(as(grid.alice), {})).toEqual([{ name: 'spying', description: 'of Acme' }])
    expect(await dump(grid, grid.acme)).toBe(acme.dump)
  })

  test('the alias of a deleted agent stays reserved for its account', async () => {
    await expect(createAgent(grid.evil.store, { alias: 'gone' })).rejects.toMatchObject({ code: 'alias_taken' })

    await expect(createAgent(grid.acme.store, { alias: 'gone' })).resolves.toBeDefined()
  })

  test('an agent that is made again inherits neither mail nor channels', async () => {
    const first = await grid.acme.agent('phoenix')
    await createChannel(grid.acme.store, { name: 'birds', members: ['alice', 'phoenix'] })
    await sendMessage(as(grid.alice), { to: 'phoenix', text: 'for the first' })
    await sendMessage(as(grid.alice), { to: '#birds', text: 'for the first' })
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, first.id])

    const second = await grid.acme.agent('phoenix')

    expect((await readMessages(as(second), {})).messages).toEqual([])
    expect(await listChannels(as(second))).toEqual([])
  })

  test('the credentials of one account open no other', async () => {
    const tables = JSON.stringify(await dump(grid, grid.evil))

    for (const secret of [grid.alice.key, grid.acme.adminKey, grid.alice.id, grid.acme.id]) {
      expect(tables).not.toContain(secret)
    }
  })
})

function as(agent: TestAgent): AccountStore {
  const account = [grid.alice, grid.bob].includes(agent) || agent.alias === 'phoenix' ? grid.acme : grid.evil
  return grid.store.account(account.id, { type: 'agent', agentId: agent.id, alias: agent.alias, credentialId: 'test' })
}

/** Something of the same form that nobody has. */
function randomLike(value: string): string {
  if (/^[0-9a-f-]{36}$/.test(value)) return newId()
  return value.startsWith('@') ? '@never-was' : 'never-was'
}

/** What the caller learns, without what the caller said. */
async function answerOf(call: Promise<unknown>, said: string): Promise<string> {
  const answer = await call.then(
    (result) => ({ result }),
    (error) => ({ code: error.code, message: error.message, details: error.details }),
  )
  return JSON.stringify(answer).replaceAll(said.replace(/^@/, ''), '…')
}
