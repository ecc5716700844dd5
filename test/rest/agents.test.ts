/** `PATCH /api/v1/agents/{agent}`, and keys for sessions. Which credentials it takes is in `test/roles.test.ts`. */
import { expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callRest } from '../support/rest.ts'

const call = (grid: TestGrid, agent: string, args: Record<string, unknown>) =>
  callRest(grid, grid.acme.adminKey, 'PATCH /api/v1/agents/:agent', { agent, ...args })

test('an admin says how calls over A2A are answered; what the call leaves out stays', async () => {
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

test('an agent of another account, an unknown value and another setting are refused', async () => {
  const grid = await testGrid()

  expect(await call(grid, 'eve', { callersWait: 'yes' })).toMatchObject({ status: 404 })
  expect(await call(grid, 'bob', { callersWait: 'always' })).toMatchObject({ status: 400 })
  expect(await call(grid, 'bob', { visibility: 'public' })).toMatchObject({ status: 400 })
})

test('a program of an admin gets a key of an agent, which is made if the account has none of its alias', async () => {
  const grid = await testGrid()
  const keyOf = (agent: string) =>
    callRest(grid, grid.acme.adminKey, 'POST /api/v1/agents/:agent/keys', { agent, name: 'session on laptop' })

  // Of two that come at once, one makes the agent.
  const both = await Promise.all([keyOf('@worker-3'), keyOf('@worker-3')])
  expect(both.map(({ body }) => body.isNew).sort()).toEqual([false, true])
  for (const { body: { apiKey } } of [...both, await keyOf('bob')]) {
    const me = await callRest(grid, apiKey, 'GET /api/v1/me', {})
    expect(me.body).toMatchObject({ key: { name: 'session on laptop' } })
  }
  expect(await keyOf('@eve')).toMatchObject({ status: 409, body: { error: { code: 'alias_taken' } } })
  expect(await keyOf('@No')).toMatchObject({ status: 400, body: { error: { code: 'invalid_alias' } } })
})
