import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

test('signup answers 201 with the key, the trial and a ready configuration', async () => {
  const response = await signUp({ owner_email: 'Zoe@Example.com', alias: 'zoe-agent', skills: ['a', 'b', 'a'] })
  const body = await response.json()
  expect(response.status).toBe(201)
  console.log(JSON.stringify(body, null, 1))
})

function signUp(body: unknown, address?: string) {
  return grid.post('/api/v1/agentic-signup', body, {}, address)
}
