/** The projection of conversations: built after the sends, rebuilt, and reduced when messages are removed. */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { rebuildConversations } from '../../src/cli/doctor/repairs.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { day, hour, minute } from '../../src/lib/time.ts'
import { sendMessage as sendAs } from '../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { step } from '../../src/store/loop.ts'
import { sweep } from '../../src/worker/retention.ts'
import { followLog, gridFollowers } from '../../src/worker/followers.ts'
import { follow, projected, say } from '../support/conversations.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { claimAgents, signUpAs } from '../support/signup.ts'
import { waitFor } from '../support/wait-for.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let [alice, bob, desk] = [] as unknown as AccountStore[]
  beforeEach(async () => {
    grid = await open()
    ;[alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
    desk = storeOf(grid, await grid.evil.agent('desk', { visibility: 'public' }), grid.evil)
  })

  const all = async (...more: string[]) =>
    await Promise.all([grid.acme.id, grid.evil.id, ...more].map((id) => projected(grid, id)))
  /** Simulates a process that handles this many messages at a time. */
  async function followInSteps(limit: number): Promise<void> {
    const followers = gridFollowers(grid.store)
    for (;;) {
      const pulse = await grid.store.global.pulses.read()
      const behind = followers.filter((one) => pulse.positions.get(one.name)! < one.end(pulse))
      if (behind.length === 0) return
      for (const one of behind) await step(one, pulse.positions.get(one.name)!, one.end(pulse), limit)
    }
  }
  const texts = async (account = grid.acme.store) =>
    (await listThreads(account, {})).threads.map(({ preview, messages }) => `${preview?.text} ${messages}`)

  test('messages are assigned to conversations soon after they were sent, without a further statement in the send', async () => {
    const stop = follow(grid.store)
    await sendMessage(alice, { to: 'bob', text: 'one' })
    await sendMessage(alice, { to: 'bob', text: 'two' })

    await waitFor('both messages', async () => (await texts())[0] === 'two 2')
    await waitFor('the end of the log', () => grid.store.loop.behind('conversations') === 0)
    await stop()
    await sendMessage(alice, { to: 'bob', text: 'three' })
    expect(await texts()).toEqual(['two 2'])
  })

  test('a message that was sent while no process followed the log is assigned later', async () => {
    await sendMessage(alice, { to: 'bob', text: 'one' })
    const stop = follow(grid.store)

    await waitFor('the message', async () => (await texts())[0] === 'one 1')
    await stop()
  })

  test('several processes that follow the log at the same time assign each message once', async () => {
    for (let i = 0; i < 30; i++) {
      await sendMessage(i % 3 ? alice : bob, { to: i % 3 ? 'bob' : 'alice', text: String(i) })
    }
    await Promise.all(Array.from({ length: 20 }, () => followInSteps(7)))

    expect(await texts()).toEqual(['29 30'])
    const { positions, messages } = await grid.store.global.pulses.read()
    expect(positions.get('conversations')).toBe(messages)
  })

  test('gaps in the log do not block the assignment of messages', async () => {
    const send = async (from: number, to: number) => {
      for (let i = from; i < to; i++) await sendMessage(alice, { to: 'bob', text: String(i) })
    }
    await send(0, 10)
    await rows(grid, `UPDATE sqlite_sequence SET seq = seq + 5000 WHERE name = 'messages'`)
    await send(10, 20)
    await followLog(grid.store)

    expect(await texts()).toEqual(['19 20'])
  })

  test('a rebuild, in units of any size, results in the same conversations', async () => {
    await talk()
    await followLog(grid.store)
    const kept = await all()
    await rebuildConversations.run(grid.store, {})
    expect(await all()).toEqual(kept)

    for (const size of [1, 3]) {
      const { conversations, pulses, traffic } = grid.store.global
      await grid.store.write([conversations.startAgain(), traffic.startAgain()])
      while ((await pulses.read()).positions.get('conversations')! < 0) {
        await grid.store.write(conversations.empty(size))
      }
      await followInSteps(size)
      expect(await all()).toEqual(kept)
    }
  })

  test("counts of agents' messages and answers use each message's timestamp, and exclude the grid's own messages", async () => {
    const begin = grid.clock.now
    const { id } = await say(grid, alice, 'bob', 'asked')
    grid.clock.now = begin + minute
    await say(grid, bob, 'alice', 'answered', { replyToMessageId: id })
    // Simulates a clock that lags behind.
    grid.clock.now = begin - minute
    await say(grid, bob, 'alice', 'answered again', { replyToMessageId: id })
    const system = grid.store.account(grid.acme.id, { type: 'system', job: 'test' })
    await sendAs(system, { agentId: grid.bob.id, alias: 'bob' }, { to: '@alice', text: 'of the grid' })
    await followLog(grid.store)

    const { edges } = await projected(grid, grid.acme.id)
    const counted = { source: grid.bob.id, target: grid.alice.id, messages: 2, answers: 2, answer_ms: minute }
    expect(edges.filter((edge) => edge.period_ms === day)).toMatchObject([
      { ...counted, source: '', target: '', messages: 3, last_at: begin + minute },
      { source: grid.alice.id, target: grid.bob.id, messages: 1, answers: 0, answer_ms: 0, last_at: begin },
      { ...counted, last_at: begin + minute },
    ])
    expect((await listThreads(alice, {})).threads).toMatchObject([{ messages: 4 }])
  })

  test("an account's counts include messages that it sent, and exclude those from other accounts", async () => {
    await talk()
    await followLog(grid.store)

    for (const { id, store } of [grid.acme, grid.evil]) {
      const own = await rows(grid, "SELECT 1 FROM messages WHERE account_id = ? AND type <> 'system'", [
        id,
      ])
      const totals = await store.read.traffic.totals(hour, 0)
      expect(own.length).toBeGreaterThan(0)
      expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(own.length)
    }
  })

  test('hourly counts are kept for a day and daily counts for a week, even after a rebuild', async () => {
    const midnight = Math.floor(grid.clock.now / day) * day
    const times = [
      ...Array.from({ length: 11 }, (_, n) => midnight - (11 - n) * day),
      ...Array.from({ length: 7 }, (_, n) => midnight + n * hour * 4),
    ]
    for (const at of times) {
      grid.clock.now = at
      await sendMessage(alice, { to: 'bob', text: 'x' })
    }
    await followLog(grid.store)
    await sweep(grid.store)
    const kept = (await projected(grid, grid.acme.id)).edges
    await rebuildConversations.run(grid.store, {})

    expect((await projected(grid, grid.acme.id)).edges).toEqual(kept)
    const from = (ms: number) => kept.filter((edge) => edge.period_ms === ms).map(({ at }) => Number(at))[0]
    expect([from(hour), from(day)]).toEqual([midnight, midnight - 6 * day])
  })

  test('messages sent during a rebuild are assigned once', async () => {
    await talk()
    await followLog(grid.store)
    await grid.store.write([grid.store.global.conversations.startAgain(), grid.store.global.traffic.startAgain()])
    await grid.store.write(grid.store.global.conversations.empty(2))
    await sendMessage(alice, { to: 'bob', text: 'meanwhile' })
    await followLog(grid.store)
    const kept = await all()
    await rebuildConversations.run(grid.store, {})

    expect(await all()).toEqual(kept)
    expect((await texts())[0]).toBe('meanwhile 4')
  })

  test('retention removes messages from conversations, in all accounts', async () => {
    await talk()
    await followLog(grid.store)
    grid.clock.now += (grid.deps.config.retentionDays - 1) * day
    await say(grid, alice, 'bob', 'newer')
    await say(grid, desk, 'alice', 'newer')
    grid.clock.now += 2 * day
    await sweep(grid.store)

    expect(await texts()).toEqual(['newer 1', 'newer 1'])
    expect(await texts(grid.evil.store)).toEqual(['newer 1'])
    const kept = await all()
    await rebuildConversations.run(grid.store, {})
    expect((await all()).map(({ threads, messages }) => ({ threads, messages }))).toEqual(
      kept.map(({ threads, messages }) => ({ threads, messages })),
    )
    grid.clock.now += grid.deps.config.retentionDays * day
    await sweep(grid.store)
    expect(await all()).toEqual([nothing, nothing])
  })

  test('removing an unclaimed account removes its conversations', async () => {
    const zoe = await signUp('zoe')
    await signUp('mate')
    await sendMessage(zoe.store, { to: 'mate', text: 'hi' })
    await followLog(grid.store)
    expect((await projected(grid, zoe.home)).messages).toHaveLength(1)
    grid.clock.now += 7 * day
    await sweep(grid.store)

    expect(await projected(grid, zoe.home)).toEqual(nothing)
  })

  test('a claim assigns moved messages in both accounts, as a rebuild does', async () => {
    const [zoe, mate, left] = [await signUp('zoe'), await signUp('mate'), await signUp('left')]
    await sendMessage(alice, { to: 'bob', text: 'before' })
    const asked = await sendMessage(zoe.store, { to: 'mate', text: 'one' })
    await sendMessage(left.store, { to: 'zoe', text: 'left behind' })
    await followLog(grid.store)
    // This message has no conversation yet when the agents are claimed.
    await sendMessage(mate.store, { to: 'zoe', text: 'two', replyToMessageId: asked.id })
    await claimAgents(grid, zoe.link, { into: grid.acme, discard: ['left'] })
    await followLog(grid.store)
    const kept = await all(zoe.home)
    await rebuildConversations.run(grid.store, {})

    expect(await all(zoe.home)).toEqual(kept)
    expect(await texts()).toEqual(['two 2', 'left behind 1', 'before 1'])
    const old = grid.store.account(zoe.home, { type: 'system', job: 'test' })
    expect(await texts(old)).toEqual(['two 2', 'left behind 1'])
  })

  const nothing = { threads: [], messages: [], agents: [], edges: [] }

  /** Sends messages of all kinds. */
  async function talk(): Promise<void> {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const first = await sendMessage(alice, { to: 'bob', text: 'one' })
    const second = await sendMessage(bob, { to: 'alice', text: 'two', replyToMessageId: first.id })
    await sendMessage(alice, { to: '#general', text: 'post', conversationId: 'talk' })
    await sendMessage(alice, { to: 'bob', text: 'three', replyToMessageId: second.id })
    const out = await sendMessage(alice, { to: 'desk', text: 'out', replyToMessageId: second.id, conversationId: 'x' })
    await sendMessage(desk, { to: 'alice', text: 'back', replyToMessageId: out.id })
    await sendMessage(bob, { to: 'alice', text: 'talk', conversationId: 'x' })
  }

  async function signUp(alias: string) {
    const signed = await signUpAs(grid, 'zoe@new.example', alias)
    return { ...signed, store: await createAuthenticator(grid.store)(`Bearer ${signed.key}`) }
  }
})
