/** Runaway conversations (docs/conversations.md, "Conversations that run away"), through MCP and A2A from outside. */
import { describe, expect, test } from 'vitest'
import { resumeConversation, setAutomated, setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { notifyOfPauses } from '../../../src/worker/pauses.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { person } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { echo, pausesOf, read, send } from '../../support/echoes.ts'
import { hour } from '../../../src/lib/time.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'two echo agents are warned at 30 turns and stopped at 200, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    grid = await testGrid()
    // Turns off the limit of hops, which is separate.
    await setTurnLimits(grid.acme.store, { hops: 0 })
    await send(grid, grid.alice, '@bob')

    const told: number[] = []
    const { turns, refused } = await echo(grid, [grid.bob, grid.alice], {
      withReplyIds,
      onSent: ({ turns, note }) => {
        if (turns === undefined) return
        told.push(turns)
        expect(note).toBe(
          `This conversation has had ${turns} turns within an hour with no message from a person: stop unless there is new work.`,
        )
      },
    })

    expect(turns).toBe(200)
    expect(told).toEqual(Array.from({ length: 171 }, (_, n) => 30 + n))
    expect(refused).toEqual({
      code: 'conversation_paused',
      message:
        'Nothing was sent to @alice. The conversation of @alice, @bob is paused, because it had 200 turns within an hour with no message from a person. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.',
    })
  },
)

test('a cycle of three agents under one conversation id causes a warning at 30 turns, and is paused at 200', async () => {
  grid = await testGrid()
  const carol = await grid.acme.agent('carol')
  const ring = [grid.alice, grid.bob, carol]
  const told: number[] = []
  let refused: unknown
  let sent = 0
  while (!refused) {
    const [from, to] = [ring[sent % 3], ring[(sent + 1) % 3]]
    const body = send10({ messageId: crypto.randomUUID(), contextId: 'a-job', metadata: { to: `@${to.alias}` } })
    const answer = (await postA2a(grid, from.key, body)).body
    refused = answer.error
    if (refused) break
    sent++
    const { turns } = answer.result.message.metadata
    if (turns) told.push(turns)
  }

  // Each pair's first message counts for the pair, not for the conversation id.
  expect(sent).toBe(3 + 1 + 200)
  expect(told[0]).toBe(30)
  expect(refused).toMatchObject({ message: expect.stringContaining('is paused') })
  expect((await pausesOf(grid))[0].agents.sort()).toEqual(['alice', 'bob', 'carol'])
})

test('a reply is refused even if only the message that it answers names the paused conversation', async () => {
  grid = await testGrid()
  const perHour = 10
  await setTurnLimits(grid.acme.store, { hops: 0, perHour })
  const carol = await grid.acme.agent('carol')
  const ring = [grid.alice, grid.bob, carol].map((agent) => ({ ...agent, store: storeOf(grid, agent) }))
  let n = 0
  const pass = async (named: object) => {
    const [{ store }, to] = [ring[n % 3], ring[(n + 1) % 3]]
    const { id } = await sendMessage(store, { to: `@${to.alias}`, text: 'go on', ...named })
    n++
    return id
  }
  let replyToMessageId = ''
  // Each pair's first message counts for the pair, not for the conversation id.
  while (n < 3 + 1 + perHour) replyToMessageId = await pass({ conversationId: 'a-job' })

  await expect(pass({ conversationId: 'a-job' })).rejects.toMatchObject({ code: 'conversation_paused' })
  await expect(pass({ replyToMessageId })).rejects.toMatchObject({ code: 'conversation_paused' })
})

test('a message after a chain of more than 64 answers is refused, and nothing is paused', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  const { turns, refused } = await echo(grid, [grid.bob, grid.alice], { withReplyIds: true })

  expect(turns).toBe(64)
  expect(refused).toMatchObject({
    code: 'conversation_paused',
    message:
      'Nothing was sent to @alice, because more than 64 answers led to this message. Do not answer again. Go on with other work, or tell your user.',
  })
  expect(await pausesOf(grid)).toEqual([])
  expect(await send(grid, grid.bob, '@alice')).toMatchObject({ recipient: '@alice' })
})

test("a person's post in a channel resets the channel's turn count", async () => {
  grid = await testGrid()
  await setTurnLimits(grid.acme.store, { warn: 3 })
  const { account } = await personWithAlias(grid, 'ann')
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'ann'] })
  const turns = async (by: TestAgent) => (await send(grid, by, '#team')).turns
  for (const by of [grid.alice, grid.bob, grid.alice]) expect(await turns(by)).toBeUndefined()
  expect(await turns(grid.bob)).toBe(3)

  await writeMessage(account, { to: '#team', text: 'go on' })

  for (const by of [grid.alice, grid.bob, grid.alice]) expect(await turns(by)).toBeUndefined()
  expect(await turns(grid.bob)).toBe(3)
})

test('a paused conversation does not refuse one-way messages, and continues when it is resumed', async () => {
  grid = await testGrid()
  await setTurnLimits(grid.acme.store, { perHour: 20 })
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], {})
  expect(await send(grid, grid.bob, '@alice')).toMatchObject({ code: 'conversation_paused' })
  expect(await send(grid, grid.alice, '@bob')).toMatchObject({ recipient: '@bob' })

  const [{ key }] = await pausesOf(grid)
  await resumeConversation(grid.acme.store, key)
  expect(await pausesOf(grid)).toEqual([])
  await expect(resumeConversation(grid.acme.store, key)).rejects.toMatchObject({ code: 'conversation_not_found' })
  await send(grid, grid.alice, '@bob')
  expect((await echo(grid, [grid.bob, grid.alice], {})).turns).toBe(20)
})

test('owners get exactly one log row and one email for a pause', async () => {
  grid = await testGrid()
  // Admins can resume a conversation too, but get no email.
  await person(grid, { role: 'admin' })
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], {})
  await Promise.all([notifyOfPauses(grid.store), notifyOfPauses(grid.store)])
  await notifyOfPauses(grid.store)

  expect(grid.emails).toMatchObject([{
    to: 'ann@acme.example',
    kind: 'conversation_paused',
    subject: 'A conversation of your agents is paused',
    text: expect.stringContaining('@alice, @bob'),
  }])
  const sql = "SELECT actor_type, outcome FROM activity WHERE account_id = ? AND tool = 'pause_conversation'"
  const recorded = await rows(grid, sql, [grid.acme.id])
  expect(recorded).toEqual([{ actor_type: 'system', outcome: 'ok' }])
})

test('hops claimed by another account count as one answer, and pause nothing', async () => {
  grid = await testGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  const shop = await grid.evil.agent('shop', { visibility: 'public' })
  await setTurnLimits(grid.evil.store, { hops: 0 })
  const hop = (from: TestAgent, to: string, hops: unknown) =>
    postA2a(grid, from.key, send10({ messageId: crypto.randomUUID(), metadata: { to, hops } }))

  expect((await hop(grid.eve, '@desk', 1_000_000)).body.result.message.metadata).toMatchObject({ hops: 1 })
  for (const hops of ['many', { toString: 1 }]) {
    expect((await hop(grid.eve, '@desk', hops)).body.result.message.metadata).toBeUndefined()
  }
  // A long chain in the other account does not count in this account either.
  await send(grid, shop, '@eve')
  await echo(grid, [grid.eve, shop], { withReplyIds: true, most: 99 })
  const [{ message_id }] = (await read(grid, shop)).messages
  await send(grid, shop, '@desk', { reply_to_message_id: message_id })
  const { messages } = await read(grid, desk)
  expect(messages.map(({ hops }) => hops)).toEqual([1, undefined, undefined, 100])
  for (const { message_id, user } of messages) {
    expect(await send(grid, desk, user, { reply_to_message_id: message_id })).toMatchObject({ recipient: user })
  }

  expect((await read(grid, shop)).messages.at(-1).hops).toBe(2)
  expect(await pausesOf(grid)).toEqual([])
})

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'an agent that is marked as automated is exempt, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    grid = await testGrid()
    await setAutomated(grid.acme.store, { agent: 'bob', isAutomated: true })
    await send(grid, grid.alice, '@bob')

    const { turns, refused } = await echo(grid, [grid.bob, grid.alice], { most: 420, withReplyIds })

    expect([turns, refused]).toEqual([420, undefined])
    const sql = 'SELECT turns FROM conversation_turns WHERE account_id = ?'
    expect(await rows(grid, sql, [grid.acme.id])).toEqual([{ turns: 0 }])
  },
)

test('hop counts travel with replies across accounts', async () => {
  grid = await testGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  await send(grid, grid.eve, '@desk')

  const { turns, refused } = await echo(grid, [desk, grid.eve], { withReplyIds: true })

  expect(turns).toBe(64)
  expect(refused.message).toContain('more than 64 answers led to this message')
})

test(
  '600 one-way posts by a script take no turn, however they are read and whatever ids they use',
  async () => {
    grid = await testGrid()
    const [bob, alice] = [storeOf(grid, grid.bob), storeOf(grid, grid.alice)]
    const task = await sendMessage(bob, { to: '@alice', text: 'report', conversationId: 'job' })
    await readMessages(alice, {})

    for (let n = 0; n < 600; n++) {
      const { turns } = await sendMessage(alice, {
        to: '@bob',
        text: `line ${n}`,
        // One message in three answers the task, one continues the conversation, and one does neither.
        ...[{ replyToMessageId: task.id }, { conversationId: 'job' }, {}][n % 3],
      })
      expect(turns).toBeUndefined()
      if (n % 50 === 49) await readMessages(bob, {})
    }

    // The reply to the task counts as one turn.
    expect(await countedTurns()).toEqual([{ key: '@alice @bob', turns: 1 }, { key: 'id job', turns: 1 }])
    expect(await pausesOf(grid)).toEqual([])
  },
)

async function countedTurns() {
  const sql = 'SELECT key, turns FROM conversation_turns WHERE account_id = ? AND turns > 0 ORDER BY key'
  return await rows(grid, sql, [grid.acme.id])
}

describe('in a channel', () => {
  const names = Array.from({ length: 10 }, (_, n) => `worker-${n}`)
  let workers: TestAgent[]

  async function open(members: number) {
    grid = await testGrid()
    workers = []
    for (const name of names.slice(0, members)) workers.push(await grid.acme.agent(name))
    await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', ...names.slice(0, members)] })
  }

  const post = (by: TestAgent, more: { replyToMessageId?: string } = {}) =>
    sendMessage(storeOf(grid, by), { to: '#team', text: 'done', ...more })
      .catch((error: unknown) => ({ id: '', turns: undefined, error }))

  /**
   * Lets these members post in turn, each answering the previous post. Resolves to the number of posts, and the error
   * that stopped them.
   */
  async function ring(agents: TestAgent[], most: number, { stepMs = 0, withReplyIds = false } = {}) {
    let replyToMessageId: string | undefined
    for (let sent = 0; sent < most; sent++) {
      const done = await post(agents[sent % agents.length], withReplyIds ? { replyToMessageId } : {})
      if ('error' in done) return { sent, error: done.error }
      replyToMessageId = done.id
      grid.clock.now += stepMs
    }
    return { sent: most, error: undefined }
  }

  test('ten agents with twenty status posts each in an hour are neither paused nor warned', async () => {
    await open(10)

    const sent = [await post(grid.alice), await post(grid.bob)]
    for (let n = 0; n < 200; n++) sent.push(await post(workers[n % 10]))

    expect(sent.filter((one) => 'error' in one || one.turns !== undefined)).toEqual([])
    expect(await pausesOf(grid)).toEqual([])
  })

  test.each([{ members: 2, withReplyIds: false }, { members: 3, withReplyIds: false }, {
    members: 3,
    withReplyIds: true,
  }])(
    'members who only answer each other are paused at the limit, and the others are not: %j',
    async ({ members, withReplyIds }) => {
      await open(members)
      await setTurnLimits(grid.acme.store, { hops: 0 })

      const { sent, error } = await ring(workers, 300, { withReplyIds })

      // The first post answers nobody, so it does not count.
      expect(sent).toBe(201)
      const named = workers.map(({ alias }) => `@${alias}`).join(', ')
      expect(error).toMatchObject({
        code: 'conversation_paused',
        message: expect.stringContaining(`The conversation of ${named} in #team is paused, because it had 200 turns`),
      })
      expect(await pausesOf(grid)).toMatchObject([{
        key: '#team',
        turns: 200,
        agents: workers.map(({ alias }) => alias),
      }])

      for (const by of [grid.alice, grid.bob]) expect(await post(by)).not.toHaveProperty('error')
      // Another member's post does not let the paused members continue.
      for (const by of workers) expect(await post(by)).toMatchObject({ error: { code: 'conversation_paused' } })

      await resumeConversation(grid.acme.store, '#team')
      expect(await ring(workers, 300)).toMatchObject({ sent: 201 })
    },
  )

  test('a ring of ten agents that post every ten seconds is stopped within the hour', async () => {
    await open(10)

    const { sent, error } = await ring(workers, 360, { stepMs: 10_000 })

    expect(error).toMatchObject({ code: 'conversation_paused' })
    expect(sent).toBeLessThan(360)
    expect((await pausesOf(grid))[0].agents).toEqual(names)
  })

  test('a second loop is paused in addition to the first, and the owners are notified of both', async () => {
    await open(4)
    await ring(workers.slice(0, 2), 300)
    await notifyOfPauses(grid.store)
    // Advances the clock, because owners are notified at most once an hour.
    grid.clock.now += hour

    await ring(workers.slice(2), 300)
    await notifyOfPauses(grid.store)

    expect(await pausesOf(grid)).toMatchObject([{ key: '#team', agents: names.slice(0, 4) }])
    const sql = "SELECT count(*) AS n FROM activity WHERE account_id = ? AND tool = 'pause_conversation'"
    expect(await rows(grid, sql, [grid.acme.id])).toEqual([{ n: 2 }])
  })

  test('only agents that answer each other are notified, not the sender of a first message', async () => {
    await open(2)
    await ring(workers, 60)

    const { more } = await read(grid, workers[1])
    expect(more).toMatchObject({ turns: 59 })
    expect((await read(grid, grid.alice)).more.turns).toBeUndefined()
    expect(await post(grid.alice)).not.toHaveProperty('turns')
  })
})
