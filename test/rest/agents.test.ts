/** `PATCH /api/v1/agents/{agent}`, and keys for sessions. `test/roles.test.ts` tests the accepted credentials. */
import { expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callRest } from '../support/rest.ts'

const call = (grid: TestGrid, agent: string, args: Record<string, unknown>) =>
  callRest(grid, grid.acme.adminKey, 'PATCH /api/v1/agents/:agent', { agent, ...args })

test('an admin sets how A2A calls to an agent are answered, and omitted fields stay unchanged', async () => {
  const grid = await testGrid()

  expect((await call(grid, '@bob', { callersWait: 'yes' })).body).toEqual({
    alias: '@bob',
    callersWait: 'yes',
    messageReplies: false,
  })
  expect((await call(grid, 'bob', { messageReplies: true })).body).toMatchObject({
    callersWait: 'yes',
    messageReplies: true,
  })
  expect((await call(grid, grid.bob.id, { callersWait: 'auto' })).body).toMatchObject({
    callersWait: 'auto',
    messageReplies: true,
  })
})

test("a change is refused for another account's agent, an unknown value, or a setting that the route does not change", async () => {
  const grid = await testGrid()

  expect(await call(grid, 'eve', { callersWait: 'yes' })).toMatchObject({ status: 404 })
  expect(await call(grid, 'bob', { callersWait: 'always' })).toMatchObject({ status: 400 })
  expect(await call(grid, 'bob', { visibility: 'public' })).toMatchObject({ status: 400 })
})

test("an admin's program gets a key for an agent, which is created if its alias is new", async () => {
  const grid = await testGrid()
  const keyOf = (agent: string) =>
    callRest(grid, grid.acme.adminKey, 'POST /api/v1/agents/:agent/keys', { agent, name: 'session on laptop' })

  // Of two simultaneous requests, one creates the agent.
  const both = await Promise.all([keyOf('@worker-3'), keyOf('@worker-3')])
  expect(both.map(({ body }) => body.isNew).sort()).toEqual([false, true])
  for (const { body: { apiKey } } of [...both, await keyOf('bob')]) {
    const me = await callRest(grid, apiKey, 'GET /api/v1/me', {})
    expect(me.body).toMatchObject({ key: { name: 'session on laptop' } })
  }
  expect(await keyOf('@eve')).toMatchObject({ status: 409, body: { error: { code: 'alias_taken' } } })
  expect(await keyOf('@No')).toMatchObject({ status: 400, body: { error: { code: 'invalid_alias' } } })
})
