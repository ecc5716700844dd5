/** What an opened conversation omits, and which readings are recorded. */
import { beforeEach, expect, test } from 'vitest'
import { createChannel, setChannelMembers } from '../../../src/grid/channels/channels.ts'
import { listConversations } from '../../../src/grid/conversations/list.ts'
import { openChain, openMessage } from '../../../src/grid/conversations/open-message.ts'
import { openConversation } from '../../../src/grid/conversations/open.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'
import { recordReading } from '../../../src/grid/conversations/may-read.ts'

const requestId = 'request'

let grid: TestGrid

let alice: AccountStore

let bob: AccountStore

beforeEach(async () => {
  grid = await testGrid()
  ;[alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
})

const threadOf = async ({ seq }: { seq: number }) =>
  (await grid.acme.store.read.threadMessages.bySeqs([seq]))[0].threadId

const readings = async () => {
  const found = await rows(
    grid,
    "SELECT tool, arguments FROM activity WHERE account_id = ? AND tool LIKE 'read_%' ORDER BY n",
    [grid.acme.id],
  )
  return found.map(({ tool, arguments: named }) => `${tool} ${JSON.parse(String(named)).subject}`)
}

/** Creates an owner whose alias joins a channel after its first post. */
const ownerWhoJoined = async () => {
  const { account: owner } = await personWithAlias(grid, 'olga', { role: 'owner' })
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  const before = await say(grid, alice, '#ops', 'before')
  grid.clock.now += hour
  await setChannelMembers(grid.acme.store, { channel: 'ops', members: ['alice', 'bob', 'olga'] })
  return { owner, before }
}

test("a member's conversation does not quote messages exchanged between others", async () => {
  const conversationId = 'order-1'
  const { account: ann } = await personWithAlias(grid, 'ann')
  const hidden = await say(grid, alice, '@bob', 'between us', { conversationId })
  const asked = await say(grid, bob, '@ann', 'may we?', { conversationId, replyToMessageId: hidden.id })
  // Separates bob's two messages, because a reply does not quote the message directly before it.
  await say(grid, alice, '@ann', 'please', { conversationId })
  await say(grid, bob, '@ann', 'well?', { conversationId, replyToMessageId: asked.id })

  const { messages, quoted } = await openConversation(ann, await threadOf(asked), { newest: true }, { requestId })

  expect(messages.map(({ body }) => body)).toEqual(['may we?', 'please', 'well?'])
  expect([...quoted.values()].map(({ body }) => body)).toEqual(['may we?'])
})

test('the switch lets an owner read posts from before joining, and the reading is recorded', async () => {
  const { owner, before } = await ownerWhoJoined()
  const since = await say(grid, bob, '#ops', 'since')
  const thread = await threadOf(since)

  await listConversations(owner, { show: 'all', requestId })
  await openConversation(owner, thread, { after: before.seq }, { requestId })
  await openMessage(owner, String(since.seq), { requestId })
  expect(await readings()).toEqual([])

  const { messages } = await openConversation(owner, thread, { newest: true }, { requestId })
  expect(messages.map(({ body, isMine }) => [body, isMine])).toEqual([['before', false], ['since', true]])
  expect(await readings()).toEqual([`read_channel ${thread}`])
})

test('a conversation does not quote messages of another conversation', async () => {
  const { account: owner } = await member(grid, { role: 'owner' })
  await grid.acme.agent('carol')
  const first = await say(grid, alice, '@bob', 'first')
  const second = await say(grid, bob, '@carol', 'second', { replyToMessageId: first.id })

  const { messages, quoted } = await openConversation(owner, await threadOf(second), { newest: true }, { requestId })

  expect(messages.map(({ replyToMessageId }) => replyToMessageId)).toEqual([first.id])
  expect([...quoted]).toEqual([])
})

test('a reply chain shows a member only the texts of messages to or from them', async () => {
  const { account: ann } = await personWithAlias(grid, 'ann')
  const first = await say(grid, alice, '@bob', 'first')
  const second = await say(grid, bob, '@ann', 'second', { replyToMessageId: first.id })

  const { messages } = await openChain(ann, String(second.seq), { requestId })

  expect(messages.map(({ body, isReadable }) => [body, isReadable])).toEqual([['', false], ['second', true]])
  expect(await readings()).toEqual([])
})

const logged = async () => {
  const found = await rows(
    grid,
    "SELECT tool, arguments, credential_id FROM activity WHERE account_id = ? AND tool LIKE 'read_%' ORDER BY n",
    [grid.acme.id],
  )
  return found.map((row) => `${row.credential_id} ${row.tool} ${row.arguments}`)
}

const pair = { thread: 'thread 1', agents: ['alice', 'bob'] }

test('a reading is recorded once per session, thread and hour', async () => {
  const { account: owner } = await member(grid, { role: 'owner' })
  const otherSession = grid.store.account(grid.acme.id, { ...owner.actor, sessionId: 'another' } as typeof owner.actor)

  for (const account of [owner, owner, otherSession]) {
    await recordReading(account, pair, 'request')
    await recordReading(account, { thread: 'thread 2', channel: 'incidents' }, 'request')
    await recordReading(account, { list: 'all' }, 'request')
  }
  const first = ['test', 'another'].flatMap((session) => [
    `${session} read_conversation {"subject":"thread 1","agents":["alice","bob"]}`,
    `${session} read_channel {"subject":"thread 2","channel":"incidents"}`,
    `${session} read_conversations {"subject":"all"}`,
  ])
  expect(await logged()).toEqual(first)

  grid.clock.now += hour - minute
  await recordReading(owner, pair, 'request')
  expect(await logged()).toHaveLength(6)
  grid.clock.now += minute
  await recordReading(owner, pair, 'request')
  expect((await logged()).slice(6)).toEqual([first[0]])
})

test('simultaneous readings are recorded once', async () => {
  const { account: owner } = await member(grid, { role: 'owner' })
  await Promise.all(Array.from({ length: 8 }, () => recordReading(owner, pair, 'request')))

  expect(await logged()).toHaveLength(1)
})
