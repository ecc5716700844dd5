/** What must not be paused: one-way traffic, pipelines and honest conversations. docs/delivery.md, "Conversations that run away". */
import { afterEach, expect, test } from 'vitest'
import { GridError } from '../../../src/errors.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { setAutomated } from '../../../src/grid/messaging/turns.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { minute, second } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { rows } from '../../support/database.ts'
import { pausesOf, sendAsPerson } from '../../support/echoes.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

afterEach(() => grid.close())

test(
  'a script that posts 10,000 messages one way takes no turn, however it is read and whatever it names',
  async () => {
    grid = await testGrid()
    const [bob, alice] = [as(grid.bob), as(grid.alice)]
    const task = await sendMessage(bob, { to: '@alice', text: 'report', conversationId: 'job' })
    await readMessages(alice, {})

    for (let n = 0; n < 10_000; n++) {
      const { turns } = await sendMessage(alice, {
        to: '@bob',
        text: `line ${n}`,
        // One in three answers the task, one follows in the conversation, and one is bare.
        ...[{ replyToMessageId: task.id }, { conversationId: 'job' }, {}][n % 3],
      })
      expect(turns).toBeUndefined()
      if (n % 50 === 49) await readMessages(bob, {})
    }

    // The answer to the task is one.
    expect(await countedTurns()).toEqual([{ key: '@alice @bob', turns: 1 }, { key: 'id job', turns: 1 }])
    expect(await pausesOf(grid)).toEqual([])
  },
  120_000,
)

test('a pipeline of many workers is not paused if its source is marked as automated', async () => {
  grid = await testGrid()
  await setAutomated(grid.acme.store, { agent: 'alice', isAutomated: true })
  const workers = await Promise.all(Array.from({ length: 4 }, (_, n) => grid.acme.agent(`worker-${n}`)))

  for (let n = 0; n < 150; n++) {
    for (const worker of workers) {
      const { id } = await sendMessage(as(grid.alice), { to: `@${worker.alias}`, text: `job ${n}` })
      await sendMessage(as(worker), { to: '@bob', text: 'result' })
      await sendMessage(as(worker), { to: '@alice', text: 'done', replyToMessageId: id })
    }
  }

  expect(await pausesOf(grid)).toEqual([])
}, 120_000)

test('a lively conversation of five agents over an hour is not paused', async () => {
  grid = await testGrid()
  const more = await Promise.all(['carol', 'dave', 'erin'].map((alias) => grid.acme.agent(alias)))
  const all = [grid.alice, grid.bob, ...more]
  await createChannel(grid.acme.store, { name: 'team', members: all.map(({ alias }) => alias) })

  // Every ten seconds one of them writes, to another one or to all. A person has a word every quarter of an hour.
  let turn = 0
  for (let at = 0; at < 60 * minute; at += 10 * second) {
    const from = all[(turn * 7 + Math.floor(turn / 5)) % 5]
    const to = all[(turn * 3 + 1) % 5]
    const { messages } = await readMessages(as(from), {})
    const answered = messages.find(({ channel, user }) => channel === 'direct' && user === `@${to.alias}`)
    if (turn % 4 === 0) await sendMessage(as(from), { to: '#team', text: 'news' })
    else if (from !== to) {
      await sendMessage(as(from), { to: `@${to.alias}`, text: 'well', replyToMessageId: answered?.message_id })
    }
    if (at % (15 * minute) === 0) await sendAsPerson(grid, '@alice')
    grid.clock.now += 10 * second
    turn++
  }

  expect(turn).toBe(360)
  expect(await pausesOf(grid)).toEqual([])
}, 60_000)

test.each(
  [
    ['fails', () => Promise.reject(new GridError('unavailable', 'The database is away.')), 'unavailable'],
    ['stores nothing, because the sender is gone', async (write: () => Promise<unknown>) => {
      await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, grid.bob.id])
      return await write()
    }, 'unavailable'],
  ] as const,
)('an answer that %s is no turn', async (_, commit, code) => {
  grid = await testGrid()
  await sendMessage(as(grid.alice), { to: '@bob', text: 'hi' })
  await readMessages(as(grid.bob), {})
  const bob = as(grid.bob)
  const write = bob.write.bind(bob)
  bob.write = (statements) => commit(() => write(statements)) as ReturnType<typeof write>

  await expect(sendMessage(bob, { to: '@alice', text: 'hi' })).rejects.toMatchObject({ code })

  expect(await countedTurns()).toEqual([])
})

test('three echo agents in a channel are paused', async () => {
  grid = await testGrid()
  const carol = await grid.acme.agent('carol')
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'carol'] })
  await sendMessage(as(grid.alice), { to: '#team', text: 'hi' })

  let posts = 0
  const echo = async () => {
    for (;;) {
      for (const agent of [grid.bob, carol, grid.alice]) {
        await readMessages(as(agent), {})
        await sendMessage(as(agent), { to: '#team', text: 'hi' })
        posts++
      }
    }
  }

  await expect(echo()).rejects.toMatchObject({
    code: 'conversation_paused',
    message: expect.stringContaining('Nothing was sent to #team. The conversation of @alice, @bob, @carol is paused'),
  })
  // The first post is one way.
  expect(posts).toBe(200)
})

function as({ id, alias }: TestAgent): AccountStore {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

async function countedTurns() {
  const sql = 'SELECT key, turns FROM conversation_turns WHERE account_id = ? AND turns > 0 ORDER BY key'
  return await rows(grid, sql, [grid.acme.id])
}
