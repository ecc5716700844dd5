import { expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid

test('a grid that was not built says how to build the client package', async () => {
  grid = await testGrid()
  const answer = await grid.request('/agent-grid.tgz')

  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ error: { code: 'not_found', message: expect.stringContaining('build') } })
})
