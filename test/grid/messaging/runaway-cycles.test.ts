/** Conversations over accounts and through a hub. docs/delivery.md, "Conversations that run away". */
import { afterEach, expect, test } from 'vitest'
import { echo, send } from '../../support/echoes.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const grids: TestGrid[] = []

afterEach(async () => {
  await Promise.all(grids.splice(0).map((grid) => grid.close()))
})

test('hops travel with replies over accounts', async () => {
  const grid = await newGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  await send(grid, grid.eve, '@desk')

  const { turns, refused } = await echo(grid, [desk, grid.eve], { withReplyIds: true })

  expect(turns).toBe(64)
  expect(refused.message).toContain('more than 64 answers led to this message')
})

test('two partners who answer each other through a hub are stopped', async () => {
  const grid = await newGrid()
  const hub = await grid.acme.agent('hub')
  const path = [grid.alice, hub, grid.bob, hub]
  let sent = 0
  let refused
  while (!refused && sent < 500) {
    const [from, to] = [path[sent % 4], path[(sent + 1) % 4]]
    const answer = await send(grid, from, `@${to.alias}`)
    if (answer.code === undefined) sent++
    else refused = answer
  }

  // Each of them has half of the turns with the hub, and the first message with each is one way.
  expect(sent).toBe(2 * 200 + 2)
  expect(refused.message).toContain('is paused')
})

async function newGrid(): Promise<TestGrid> {
  const grid = await testGrid()
  grids.push(grid)
  return grid
}
