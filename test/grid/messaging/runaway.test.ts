/** Conversations that run away (docs/delivery.md, "Conversations that run away"), through MCP and A2A from outside. */
import { afterEach, expect, test } from 'vitest'
import { resumeConversation, setAutomated, setTurnLimits } from '../../../src/grid/messaging/conversations.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { tellOfPauses } from '../../../src/worker/paused-conversations.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { person } from '../../support/people.ts'
import { echo, exchangeMessages, pausesOf, read, send, sendAsPerson } from '../../support/echoes.ts'

let grid: TestGrid

afterEach(() => grid.close())

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'two echo agents are told at 30 turns and stopped at 200, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    grid = await testGrid()
    // Hops are another limit.
    await setTurnLimits(grid.acme.store, { hops: 0 })
    await send(grid, grid.alice, '@bob')

    const told: number[] = []
    const { turns, refused } = await echo(grid, [grid.bob, grid.alice], {
      withReplyIds,
      onSent: ({ turns, note }) => {
        if (turns === undefined) return
        told.push(turns)
        expect(note).toBe(
          `This conversation has had ${turns} turns without new input from a person or another agent: stop unless there is new work.`,
        )
      },
    })

    expect(turns).toBe(200)
    expect(told).toEqual(Array.from({ length: 171 }, (_, n) => 30 + n))
    expect(refused).toEqual({
      code: 'conversation_paused',
      message:
        'Nothing was sent to @alice. The conversation of @alice, @bob is paused, because it had 200 turns within an hour without new input from a person or another agent. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.',
    })
  },
)

test('a reader is told from 30 turns on, in the second part of the answer', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], { most: 29 })
  const { more: before } = await read(grid, grid.alice)
  await send(grid, grid.alice, '@bob')
  const { more: after } = await read(grid, grid.bob)

  expect([before.turns, before.note]).toEqual([undefined, undefined])
  expect(after).toMatchObject({ turns: 30, note: expect.stringContaining('stop unless there is new work') })
})

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'a cycle of three is told and stopped, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    grid = await testGrid()
    await setTurnLimits(grid.acme.store, { hops: 0 })
    const carol = await grid.acme.agent('carol')
    await send(grid, grid.alice, '@bob')
    const told: number[] = []

    // Each sends to the next what it reads of the one before.
    const { turns, refused } = await echo(grid, [grid.bob, carol, grid.alice], {
      withReplyIds,
      onSent: (sent) => sent.turns && told.push(sent.turns),
    })

    // The first message of bob closes no cycle yet.
    expect(turns).toBe(1 + 200)
    expect(told[0]).toBe(30)
    expect(refused).toMatchObject({
      code: 'conversation_paused',
      message: expect.stringContaining('@alice, @bob, @carol'),
    })
  },
)

test('a chain of replies is paused after 64 hops, and resumed', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  const { turns, refused } = await echo(grid, [grid.bob, grid.alice], { withReplyIds: true })

  expect(turns).toBe(64)
  expect(refused).toMatchObject({ message: expect.stringContaining('more than 64 answers led to this message') })
  await grid.store.exchangeUsage()
  const [pause] = await pausesOf(grid)
  expect(pause).toMatchObject({ agents: ['alice', 'bob'], reason: 'hops', hops: 65 })

  await resumeConversation(grid.acme.store, pause.id)
  const again = await echo(grid, [grid.bob, grid.alice], { withReplyIds: true, again: true })
  expect(again.turns).toBe(64)
})

test('a person who writes begins the count again, and a paused conversation goes on when it is resumed', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], { most: 150 })
  await sendAsPerson(grid, '@alice')
  const { turns } = await echo(grid, [grid.alice, grid.bob], {})
  // The first one answers the person.
  expect(turns).toBe(1 + 200)

  await grid.store.exchangeUsage()
  const [pause] = await pausesOf(grid)
  await resumeConversation(grid.acme.store, pause.id)
  expect(await pausesOf(grid)).toEqual([])
  await expect(resumeConversation(grid.acme.store, pause.id)).rejects.toMatchObject({ code: 'conversation_not_found' })
  const again = await echo(grid, [grid.bob, grid.alice], { again: true })
  expect(again.turns).toBe(200)
})

test('input of another agent begins the count again', async () => {
  grid = await testGrid()
  const carol = await grid.acme.agent('carol')
  await send(grid, grid.alice, '@bob')
  for (let n = 0; n < 5; n++) {
    await echo(grid, [grid.bob, grid.alice], { most: 100, again: n > 0 })
    await send(grid, carol, '@bob')
  }
  expect(await pausesOf(grid)).toEqual([])
})

test('turns of more than an hour ago are not counted', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  for (let n = 0; n < 3; n++) {
    const { refused } = await echo(grid, [grid.bob, grid.alice], { most: 180, again: n > 0 })
    expect(refused).toBeUndefined()
    grid.clock.now += 5 * minute
    await send(grid, grid.bob, '@alice')
    grid.clock.now += hour
    await send(grid, grid.bob, '@alice')
  }
})

test('what was read more than 10 minutes ago is answered only by reply id', async () => {
  grid = await testGrid()
  const turnsAfter = async (wait: number, withReplyId: boolean) => {
    await send(grid, grid.alice, '@bob')
    const [{ message_id }] = (await read(grid, grid.bob)).messages
    grid.clock.now += wait
    await send(grid, grid.bob, '@alice', withReplyId ? { reply_to_message_id: message_id } : {})
    await exchangeMessages(grid)
    const stored = await rows(grid, 'SELECT turns FROM conversation_turns WHERE account_id = ?', [grid.acme.id])
    return stored.reduce((sum, { turns }) => sum + Number(turns), 0)
  }

  expect(await turnsAfter(10 * minute, false)).toBe(1)
  expect(await turnsAfter(10 * minute + 1, false)).toBe(1)
  expect(await turnsAfter(10 * minute + 1, true)).toBe(2)
})

test('the owners get one row and one email for a pause, and that is all', async () => {
  grid = await testGrid()
  // They can resume it too, but are not written to.
  await person(grid, { role: 'admin' })
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], {})
  await grid.store.exchangeUsage()
  await Promise.all([tellOfPauses(grid.store), tellOfPauses(grid.store)])
  await tellOfPauses(grid.store)

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

test('an A2A echo over hops is stopped, and the receipt says the hops', async () => {
  grid = await testGrid()
  const hop = (hops: unknown) =>
    postA2a(grid, grid.alice.key, send10({ messageId: crypto.randomUUID(), metadata: { to: '@bob', hops } }))

  expect((await hop(64)).body.result.message.metadata).toMatchObject({ hops: 64 })
  const { messages } = await read(grid, grid.bob)
  expect(messages).toMatchObject([{ hops: 64, a2a: { metadata: { hops: 64 } } }])
  expect((await hop('many')).body.result.message.metadata).not.toHaveProperty('hops')

  const { status, body } = await hop(65)
  expect([status, body.error.code, body.error.data[0].reason]).toEqual([200, -32056, 'CONVERSATION_PAUSED'])
  expect(body.error.message).toContain('more than 64 answers led to this message')
})

test('an echo over A2A without reply ids is stopped', async () => {
  grid = await testGrid()
  const contextId = 'a-conversation'
  let refused: unknown
  let turns = 0
  await send(grid, grid.bob, '@alice')
  while (!refused) {
    await read(grid, grid.alice)
    const { body } = await postA2a(
      grid,
      grid.alice.key,
      send10({ messageId: crypto.randomUUID(), contextId, metadata: { to: '@bob' } }),
    )
    refused = body.error
    if (refused) break
    turns++
    const { messages } = await read(grid, grid.bob)
    const answered = await callTool(grid, grid.bob.key, 'send_message', {
      to: messages[0].reply_to,
      message: 'ok',
    })
    refused = answered.text.error
    if (!refused) turns++
  }
  expect(refused).toBeDefined()
  expect(turns).toBe(200)
})

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'an agent that is marked as automated is exempt, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    grid = await testGrid()
    await setAutomated(grid.acme.store, { agent: 'bob', isAutomated: true })
    await send(grid, grid.alice, '@bob')

    const { turns, refused } = await echo(grid, [grid.bob, grid.alice], { most: 420, withReplyIds })

    expect([turns, refused]).toEqual([420, undefined])
    await exchangeMessages(grid)
    expect(await rows(grid, 'SELECT key FROM conversation_turns WHERE account_id = ?', [grid.acme.id])).toEqual([])
  },
)

test('a repeat under the same key is one turn, and so are several answers to one message', async () => {
  grid = await testGrid()
  const answers = async (by: TestAgent, to: string, more: object[]) => {
    const { messages } = await read(grid, by)
    for (const one of more) {
      await send(grid, by, to, { reply_to_message_id: messages[0].message_id, ...one })
    }
  }
  await send(grid, grid.alice, '@bob')
  await answers(grid.bob, '@alice', [{ idempotency_key: 'a' }, { idempotency_key: 'a' }, {}, {}])
  await answers(grid.alice, '@bob', [{}])
  await exchangeMessages(grid)

  const stored = await rows(grid, 'SELECT key, turns FROM conversation_turns WHERE account_id = ?', [grid.acme.id])
  expect(stored).toEqual([{ key: '@alice @bob', turns: 2 }])
})
