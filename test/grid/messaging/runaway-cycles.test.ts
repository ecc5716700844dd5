/** Cycles over accounts, over grids and through a hub. docs/delivery.md, "Conversations that run away". */
import { afterEach, expect, test } from 'vitest'
import { setTurnLimits } from '../../../src/grid/messaging/conversations.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { echo, read, send } from '../../support/echoes.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'

const grids: TestGrid[] = []

afterEach(async () => {
  await Promise.all(grids.splice(0).map((grid) => grid.close()))
})

test.each([{ withReplyIds: false }, { withReplyIds: true }])(
  'a cycle of three over accounts is told and stopped, reply ids: $withReplyIds',
  async ({ withReplyIds }) => {
    const grid = await newGrid()
    await setTurnLimits(grid.acme.store, { hops: 0 })
    await setTurnLimits(grid.evil.store, { hops: 0 })
    const desk = await grid.acme.agent('desk', { visibility: 'public' })
    const help = await grid.acme.agent('help', { visibility: 'public' })
    const shop = await grid.evil.agent('shop', { visibility: 'public' })
    await send(grid, desk, '@help')
    const told: number[] = []

    const { turns, refused } = await echo(grid, [help, shop, desk], {
      withReplyIds,
      onSent: (sent) => sent.turns && told.push(sent.turns),
    })

    // The first message of help closes no cycle yet. The account of two of them counts every turn.
    expect(turns).toBe(1 + 200)
    expect(told[0]).toBe(30)
    expect(refused).toMatchObject({
      code: 'conversation_paused',
      message: expect.stringContaining('@desk, @help, @shop'),
    })
  },
)

test('hops travel with replies over accounts', async () => {
  const grid = await newGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  await send(grid, grid.eve, '@desk')

  const { turns, refused } = await echo(grid, [desk, grid.eve], { withReplyIds: true })

  expect(turns).toBe(64)
  expect(refused.message).toContain('more than 64 answers led to this message')
})

test('a cycle of three over three grids ends after 64 hops, although no grid sees the whole', async () => {
  const ring = [await newGrid(), await newGrid(), await newGrid()]
  // On each grid alice answers to carol what bob has brought; a program takes what carol got to the next grid.
  const carols: TestAgent[] = []
  for (const grid of ring) carols.push(await grid.acme.agent('carol'))
  let hops: number | undefined
  let answers = 0
  let refused: { code: string; message: string } | undefined
  while (!refused && answers < 100) {
    const grid = ring[answers % 3]
    await postA2a(grid, grid.bob.key, send10({ messageId: crypto.randomUUID(), metadata: { to: '@alice', hops } }))
    const [{ message_id }] = (await read(grid, grid.alice)).messages
    const sent = await send(grid, grid.alice, '@carol', { reply_to_message_id: message_id })
    if (sent.code === undefined) {
      answers++
      hops = (await read(grid, carols[ring.indexOf(grid)])).messages[0].hops
    } else refused = sent
  }

  expect(answers).toBe(64)
  expect(refused).toMatchObject({
    code: 'conversation_paused',
    message: expect.stringContaining('more than 64 answers led to this message'),
  })
})

test.each([{ by: 'reply ids', limit: 64 }, { by: 'one conversation id', limit: 200 }])(
  'two partners who answer each other through a hub are stopped by $by',
  async ({ by, limit }) => {
    const grid = await newGrid()
    const hub = await grid.acme.agent('hub')
    const path = [grid.alice, hub, grid.bob, hub]
    let sent = 0
    let refused: { message: string } | undefined
    while (!refused && sent < 500) {
      const [from, to] = [path[sent % 4], path[(sent + 1) % 4]]
      const [message] = (await read(grid, from)).messages
      refused = by === 'reply ids'
        ? await refusedSend(grid, from, to, { reply_to_message_id: message?.message_id })
        : await refusedA2a(grid, from, to, 'a-job')
      if (!refused) sent++
    }

    // The first messages answer nothing.
    expect(sent).toBeGreaterThanOrEqual(limit)
    expect(sent).toBeLessThan(limit + 4)
    expect(refused!.message).toContain('is paused')
  },
)

async function refusedSend(grid: TestGrid, from: TestAgent, { alias }: TestAgent, more: object) {
  const sent = await send(grid, from, `@${alias}`, more)
  return sent.code === undefined ? undefined : sent
}

async function refusedA2a(grid: TestGrid, from: TestAgent, { alias }: TestAgent, contextId: string) {
  const message = { messageId: crypto.randomUUID(), contextId, metadata: { to: `@${alias}` } }
  return (await postA2a(grid, from.key, send10(message))).body.error
}

async function newGrid(): Promise<TestGrid> {
  const grid = await testGrid()
  grids.push(grid)
  return grid
}
