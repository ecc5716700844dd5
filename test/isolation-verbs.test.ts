/**
 * Account isolation of the verbs that only pages and commands call. `isolation.test.ts` covers the calls of programs.
 * Each verb is called with the name of another account's object. It must respond as to an unused name, and the owner's
 * rows must stay the same. See docs/security.md, "Four nets".
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { createAdminKey, deleteAdminKey } from '../src/grid/accounts/accounts.ts'
import {
  addKey,
  addKeyOrAgent,
  confirmAccess,
  reissueKey,
  removeAccess,
  revokeKey,
  updateAgent,
} from '../src/grid/agents/agent-settings.ts'
import { createAgent } from '../src/grid/agents/agents.ts'
import { deleteSkill, listSkills, setSkills, updateSkill } from '../src/grid/agents/skills.ts'
import { snooze } from '../src/grid/attention/attention.ts'
import { changeChannelMembers, createChannel, listChannels, updateChannel } from '../src/grid/channels/channels.ts'
import {
  findListedPart,
  openChain,
  openMessage,
  openPart,
  retractOwnMessage,
} from '../src/grid/conversations/open-message.ts'
import { findMessage } from '../src/grid/conversations/messages.ts'
import { markRead, markUnread } from '../src/grid/conversations/marks.ts'
import { talkOfAgent } from '../src/grid/conversations/list.ts'
import { listThreads } from '../src/grid/conversations/threads.ts'
import { replyToMessage, writeMessage } from '../src/grid/conversations/write.ts'
import { allowText, countCases, disallowText, listCases, listExceptions } from '../src/grid/guardrails/cases.ts'
import { attachGuardrail, createGuardrail } from '../src/grid/guardrails/guardrails.ts'
import { tryGuardrail } from '../src/grid/guardrails/try-guardrail.ts'
import { requeueMessages } from '../src/grid/messaging/parked.ts'
import { resumeConversation, setAutomated } from '../src/grid/messaging/turns.ts'
import { readMessages } from '../src/grid/messaging/read-messages.ts'
import { listGrantsOfAgent, revokeGrant } from '../src/grid/oauth/grants.ts'
import {
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
} from '../src/features/webhooks/webhooks.ts'
import { createHook, findHook, revokeHook } from '../src/features/incoming/hooks.ts'
import { newId } from '../src/lib/id.ts'
import type { AccountStore } from '../src/store/account.ts'
import { dump, rows } from './support/database.ts'
import { storeOf, type TestGrid, testGrid } from './support/grid.ts'
import { type Form, isolatedAccounts, unusedLike } from './support/isolated-accounts.ts'
import { sendMessage } from './support/messaging.ts'
import { accessTokenFor } from './support/oauth-token.ts'
import { personWithAlias } from './support/person-aliases.ts'

type Probe = [verb: string, as: 'admin' | 'person', form: Form | 'grant id' | 'webhook id' | 'hook id', Verb]
type Verb = (account: AccountStore, value: string) => Promise<unknown>

const requestId = { requestId: null }
const hash = '0'.repeat(64)

const everywhere = { direction: 'both', agents: 'all' } as const

/** Attaches a guardrail of the calling account to an agent of another account. */
async function attachOwn(account: AccountStore, agent: string) {
  const { id } = await createGuardrail(account, { name: newId(), provider: 'invisible-text' })
  await attachGuardrail(account, id, { direction: 'both', agents: [agent] })
}

const probes: Probe[] = [
  ['writeMessage', 'person', '@alias', (account, to) => writeMessage(account, { to, text: 'hi' })],
  ['writeMessage', 'person', '#channel', (account, to) => writeMessage(account, { to, text: 'hi' })],
  ['retractOwnMessage', 'person', 'message id', (account, id) => retractOwnMessage(account, id)],
  ['replyToMessage', 'person', 'message id', (account, id) => replyToMessage(account, { messageId: id, text: 'hi' })],
  ['markRead', 'person', 'message id', (account, id) => markRead(account, [id])],
  ['markUnread', 'person', 'message id', (account, id) => markUnread(account, [id])],
  ['talkOfAgent', 'person', 'agent alias', (account, alias) => talkOfAgent(account, alias, requestId)],
  ['openMessage', 'person', 'message id', (account, id) => openMessage(account, id, requestId)],
  ['openChain', 'person', 'message id', (account, id) => openChain(account, id, requestId)],
  ['openPart', 'person', 'part message id', (account, id) => openPart(account, id, '0', null)],
  ['findListedPart', 'admin', 'part message id', (account, id) => findListedPart(account, listed(id), '0')],
  ['snooze', 'person', 'agent id', (account, subject) => snooze(account, undefined, week('unread', subject))],
  ['snooze', 'person', 'paused conversation', (account, key) => snooze(account, undefined, week('paused', key))],
  ['requeueMessages', 'admin', 'agent alias', (account, agent) => requeueMessages(account, { agent })],
  [
    'requeueMessages',
    'admin',
    'message id',
    (account, id) => requeueMessages(account, { agent: 'eve', messageId: id }),
  ],
  ['changeChannelMembers', 'admin', 'channel id', (account, channel) => members(account, channel, ['own-1'])],
  ['changeChannelMembers', 'admin', 'agent alias', (account, alias) => members(account, 'home', ['own-1', alias])],
  ['changeChannelMembers', 'admin', 'agent id', (account, id) => members(account, 'home', [], [id])],
  ['updateChannel', 'admin', 'channel id', (account, channel) => updateChannel(account, { channel, description: 'x' })],
  ['updateSkill', 'admin', 'skill id', (account, id) => updateSkill(account, id, { name: 'mine' })],
  ['deleteSkill', 'admin', 'skill id', deleteSkill],
  ['listCases', 'admin', 'guardrail id', (account, id) => listCases(account, id)],
  ['countCases', 'admin', 'guardrail id', (account, id) => countCases(account, id, { from: 0 })],
  ['listExceptions', 'admin', 'guardrail id', listExceptions],
  ['attachGuardrail', 'admin', 'guardrail id', (account, id) => attachGuardrail(account, id, everywhere)],
  ['attachGuardrail', 'admin', 'agent id', (account, id) => attachOwn(account, id)],
  ['allowText', 'admin', 'guardrail id', (account, id) => allowText(account, id, hash)],
  ['disallowText', 'admin', 'guardrail id', (account, id) => disallowText(account, id, hash)],
  ['tryGuardrail', 'admin', 'guardrail id', (account, guardrail) => tryGuardrail(account, { guardrail }, 'text')],
  ['updateAgent', 'admin', 'agent alias', (account, agent) => updateAgent(account, { agent, visibility: 'public' })],
  ['confirmAccess', 'admin', 'agent alias', (account, agent) => confirmAccess(account, { agent, partner: 'alice' })],
  ['removeAccess', 'admin', 'agent id', (account, agent) => removeAccess(account, { agent, partner: 'alice' })],
  ['resumeConversation', 'admin', 'paused conversation', resumeConversation],
  ['setAutomated', 'admin', 'agent id', (account, agent) => setAutomated(account, { agent, isAutomated: true })],
  ['reissueKey', 'admin', 'agent id', reissueKey],
  ['addKey', 'admin', 'agent id', (account, agent) => addKey(account, { agent, name: 'another' })],
  ['addKeyOrAgent', 'admin', 'agent id', (account, agent) => addKeyOrAgent(account, { agent, name: 'another' })],
  ['revokeKey', 'admin', 'agent id', (account, agent) => revokeKey(account, { agent, key: 'none' })],
  ['revokeKey', 'admin', 'credential id', (account, key) => revokeKey(account, { agent: 'mate', key })],
  ['deleteAdminKey', 'admin', 'credential id', deleteAdminKey],
  ['revokeGrant', 'admin', 'grant id', revokeGrant],
  ['createHook', 'admin', '@alias', (account, to) => createHook(account, { name: 'hook-1', to, format: 'summary' })],
  ['createHook', 'admin', '#channel', (account, to) => createHook(account, { name: 'hook-1', to, format: 'summary' })],
  ['findHook', 'admin', 'hook id', findHook],
  ['revokeHook', 'admin', 'hook id', revokeHook],
  ['rotateWebhook', 'admin', 'webhook id', rotateWebhook],
  ['testWebhook', 'admin', 'webhook id', testWebhook],
  ['pauseWebhook', 'admin', 'webhook id', pauseWebhook],
  ['resumeWebhook', 'admin', 'webhook id', resumeWebhook],
  ['deleteWebhook', 'admin', 'webhook id', deleteWebhook],
  ['listThreads', 'admin', 'agent id', (account, agentId) => listThreads(account, { agentId })],
  ['findMessage', 'admin', 'message id', (account, id) => findMessage(account, { id })],
  ['listGrantsOfAgent', 'admin', 'agent id', listGrantsOfAgent],
]

const listed = (id: string) => ({ id, agentId: id, isSent: false })
const week = (kind: 'unread' | 'paused', subject: string) => ({ kind, subject, time: 'week' as const })
const members = (account: AccountStore, channel: string, add: string[], remove: string[] = []) =>
  changeChannelMembers(account, { channel, add, remove })

describe("the name of another account's object", async () => {
  const world = await isolatedAccounts()
  const { grid, owner, caller, foreign } = world
  const { grantId } = await accessTokenFor(grid, foreign['user id'], owner.id)
  const webhook = await createWebhook(owner.store, { url: 'https://acme.example/events', events: ['message'] })
  const hook = await createHook(owner.store, { name: 'acme-builds', to: '@alice', format: 'summary' })
  const values = { ...foreign, 'grant id': grantId, 'webhook id': webhook.id, 'hook id': hook.id }
  const callers = { admin: caller.store, person: (await personWithAlias(grid, 'emma', { account: caller })).account }
  const before = await world.dumpOwner()

  test.each(probes)("another account's object is unknown to %s (%s, %s)", async (_, as, form, call) => {
    const [value, unused] = [values[form], unusedLike(values[form])]

    const result = await resultOf(call(callers[as], value), value)
    const unusedResult = await resultOf(call(callers[as], unused), unused)

    expect(result).toBe(unusedResult)
    expect(await world.dumpOwner()).toBe(before)
  })
})

let grid: TestGrid

describe('two accounts', () => {
  beforeEach(async () => {
    grid = await testGrid()
    await createChannel(grid.acme.store, { name: 'secret', members: ['alice', 'bob'] })
    await setSkills(storeOf(grid, grid.alice), { skills: [{ name: 'spying', description: 'of Acme' }] })
    await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'for Acme alone' })
    const gone = await grid.acme.agent('gone')
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, gone.id])
    await grid.evil.agent('mallory')
  })

  test('the same names in two accounts denote different objects', async () => {
    const before = await dump(grid, grid.acme)
    await setSkills(storeOf(grid, grid.eve), { skills: [{ name: 'spying', description: 'of Evil' }] })
    await createChannel(grid.evil.store, { name: 'secret', members: ['eve', 'mallory'] })
    await sendMessage(storeOf(grid, grid.eve), { to: '#secret', text: 'for Evil' })
    await createAdminKey(grid.evil.store, 'first key')

    expect((await listSkills(storeOf(grid, grid.alice), {})).skills).toEqual([{
      name: 'spying',
      description: 'of Acme',
    }])
    expect(await dump(grid, grid.acme)).toBe(before)
  })

  test("a message's recipient may answer its sender, and reaches no other agent", async () => {
    await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'eve'", [grid.evil.id])
    const unknown = await resultOf(sendMessage(storeOf(grid, grid.eve), { to: 'bob', text: 'before' }), 'bob')
    await sendMessage(storeOf(grid, grid.bob), { to: 'eve', text: 'question' })
    const before = JSON.parse(await dump(grid, grid.acme)) as string[][]
    const mallory = (await grid.evil.store.read.agents.byAlias('mallory'))!

    for (const [agent, to] of [[grid.eve, 'alice'], [mallory, 'bob'], [grid.eve, 'gone']] as const) {
      expect(await resultOf(sendMessage(storeOf(grid, agent, grid.evil), { to, text: 'before' }), to)).toBe(unknown)
    }
    expect(JSON.parse(await dump(grid, grid.acme))).toEqual(before)

    const { id } = await sendMessage(storeOf(grid, grid.eve), { to: 'bob', text: 'answer' })
    const after = JSON.parse(await dump(grid, grid.acme)) as string[][]
    const added = after.flatMap((table, n) => table.filter((row) => !before[n].includes(row)))
    expect(after.flat()).toHaveLength(before.flat().length + 1)
    // Expected besides the message: a count of the two agents' turns, and the recipient's count of unread messages.
    const counted = added.filter((row) => row.includes('"key":"@bob @eve"') || row.startsWith('{"n":'))
    expect(counted).toHaveLength(2)
    expect(added.filter((row) => !counted.includes(row))).toEqual([expect.stringContaining(id)])
    expect(await rows(grid, 'SELECT agent_id FROM v_deliveries WHERE message_id = ?', [id])).toEqual([
      { agent_id: grid.bob.id },
    ])
  })

  test('the alias of a deleted agent stays reserved for its account', async () => {
    await expect(createAgent(grid.evil.store, { alias: 'gone' })).rejects.toMatchObject({ code: 'alias_taken' })

    await expect(createAgent(grid.acme.store, { alias: 'gone' })).resolves.toBeDefined()
  })

  test('an agent that reuses an alias inherits no messages or channels', async () => {
    const first = await grid.acme.agent('phoenix')
    await createChannel(grid.acme.store, { name: 'birds', members: ['alice', 'phoenix'] })
    await sendMessage(storeOf(grid, grid.alice), { to: 'phoenix', text: 'for the first' })
    await sendMessage(storeOf(grid, grid.alice), { to: '#birds', text: 'for the first' })
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, first.id])

    const second = await grid.acme.agent('phoenix')

    expect((await readMessages(storeOf(grid, second), {})).messages).toEqual([])
    expect((await listChannels(storeOf(grid, second))).channels).toEqual([])
  })
})

/** Returns a call's result or error as JSON, without the given value. */
async function resultOf(call: Promise<unknown>, value: string): Promise<string> {
  const result = await call.then(
    (result) => ({ result }),
    (error) => ({ code: error.code, message: error.message, details: error.details }),
  )
  return JSON.stringify(result).replaceAll(value.replace(/^[@#]/, ''), '…')
}
