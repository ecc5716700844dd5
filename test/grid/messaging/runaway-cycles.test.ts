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

async function newGrid(): Promise<TestGrid> {
  const grid = await testGrid()
  grids.push(grid)
  return grid
}
