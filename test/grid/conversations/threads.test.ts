/** The threads of messages, and lists of threads. See docs/architecture.md, "Conversations". */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { findThread, listThreads, setSeen } from '../../../src/grid/conversations/threads.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { say } from '../../support/conversations.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { person } from '../../support/people.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let [alice, bob, desk] = [] as unknown as AccountStore[]
  let deskAgent: TestAgent
  beforeEach(async () => {
    grid = await open()
    ;[alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
    deskAgent = await grid.evil.agent('desk', { visibility: 'public' })
    desk = storeOf(grid, deskAgent, grid.evil)
  })

  const list = async (account = grid.acme.store, more = {}): Promise<unknown[][]> =>
    (await listThreads(account, more)).threads.map(({ kind, channel, conversationId, agents, messages, preview }) => [
      kind,
      channel?.name ?? conversationId,
      agents.map(({ alias, isForeign }) => alias + (isForeign ? '*' : '')),
      messages,
      `${preview?.fromAlias}: ${preview?.text}`,
    ])

  test('a message belongs to its channel, its conversation id or its pair of agents, and a reply does not change that', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const first = await say(grid, alice, 'bob', 'one')
    await say(grid, bob, 'alice', 'two', { replyToMessageId: first.id })
    const post = await say(grid, alice, '#general', 'a post', { conversationId: 'talk' })
    await say(grid, bob, 'alice', 'about the post', { replyToMessageId: post.id })
    await say(grid, alice, 'bob', 'in a talk', { conversationId: 'talk' })

    expect(await list()).toEqual([
      ['conversation', 'talk', ['alice', 'bob'], 2, 'alice: in a talk'],
      ['channel', 'general', [], 1, 'alice: a post'],
      ['pair', null, ['alice', 'bob'], 2, 'bob: two'],
    ])
  })

  test('a message between accounts has a thread in each, separate from other threads with the same conversation id', async () => {
    await say(grid, alice, 'bob', 'among us', { conversationId: 'secret' })
    const asked = await say(grid, alice, 'desk', 'hello')
    await say(grid, desk, 'alice', 'guessed', { conversationId: 'secret', replyToMessageId: asked.id })

    expect(await list()).toEqual([
      ['conversation', 'secret', ['alice', 'desk*'], 1, 'desk: guessed'],
      ['pair', null, ['alice', 'desk*'], 1, 'alice: hello'],
      ['conversation', 'secret', ['alice', 'bob'], 1, 'alice: among us'],
    ])
    expect(await list(grid.evil.store)).toEqual([
      ['conversation', 'secret', ['desk', 'alice*'], 1, 'desk: guessed'],
      ['pair', null, ['desk', 'alice*'], 1, 'alice: hello'],
    ])
  })

  test('a thread list can be limited to one agent, including its channels, or to channels', async () => {
    await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    await createChannel(grid.acme.store, { name: 'others', members: ['alice'] })
    for (const to of ['#general', '#others', 'bob', 'carol']) await say(grid, alice, to, `to ${to}`)

    const titles = async (more: object) => (await list(grid.acme.store, more)).map((thread) => thread.at(-1))
    expect(await titles({ agentId: grid.bob.id })).toEqual(['alice: to bob', 'alice: to #general'])
    expect(await titles({ channels: true })).toEqual(['alice: to #others', 'alice: to #general'])
    expect(await titles({ agentId: grid.bob.id, channels: true })).toEqual(['alice: to #general'])
  })

  test('a thread counts as waiting while the newest message to one of its agents is unread', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    await say(grid, alice, 'bob', 'direct')
    await say(grid, alice, '#general', 'post')
    await say(grid, alice, 'desk', 'to another account')

    const waiting = async (agentId?: string) =>
      (await list(grid.acme.store, { waiting: true, agentId })).map((thread) => thread.at(-1))
    expect(await waiting()).toEqual(['alice: post', 'alice: direct'])
    expect(await waiting(grid.alice.id)).toEqual([])
    await readMessages(bob, { limit: 1 })
    expect(await waiting(grid.bob.id)).toEqual(['alice: post'])
    await readMessages(bob, {})
    expect(await waiting()).toEqual([])
    expect(await list(grid.evil.store, { waiting: true })).toHaveLength(1)

    // The thread waits again after a new message, although the agent had read the earlier messages.
    await say(grid, alice, 'bob', 'direct again')
    expect(await waiting()).toEqual(['alice: direct again'])
  })

  test('a thread list shows what a user has seen, and how many messages their alias has not read', async () => {
    const user = await person(grid, { role: 'owner' })
    const personAlias = await grid.acme.agent('ann-here')
    await grid.acme.store.write([{
      sql: 'INSERT INTO person_aliases (account_id, user_id, agent_id) VALUES (?, ?, ?)',
      args: [grid.acme.id, user.id, personAlias.id],
    }])
    const { seq } = await say(grid, alice, 'ann-here', 'one')
    await say(grid, alice, 'ann-here', 'two')
    const thread = async () => (await listThreads(grid.acme.store, { userId: user.id })).threads[0]
    const { id } = await thread()

    expect(await thread()).toMatchObject({ seenSeq: 0, unread: 2, firstUnread: seq })
    await setSeen(grid.acme.store, user.id, id, seq + 1)
    await readMessages(storeOf(grid, personAlias), { limit: 1 })
    expect(await thread()).toMatchObject({ seenSeq: seq + 1, unread: 1 })
    await setSeen(grid.acme.store, user.id, id, seq)
    expect((await findThread(grid.acme.store, id, user.id))!.seenSeq).toBe(seq)
  })
})
