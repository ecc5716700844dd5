/**
 * Paused conversations across processes, restarts and accounts. docs/conversations.md, "Conversations that run away".
 */
import { expect, onTestFinished, test } from 'vitest'
import { resumeConversation, setAutomated, setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { notifyOfPauses } from '../../../src/worker/pauses.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { echo, pausesOf, send } from '../../support/echoes.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { startSqld } from '../../support/sqld.ts'

let grid: TestGrid

test('two processes share turns, pauses and settings of a conversation', async () => {
  const server = await startSqld({ isRelaxed: true })
  onTestFinished(() => server.stop())
  grid = await testGrid({ url: server.url })
  const { acme, evil, alice, bob, eve } = grid
  const other = await testGrid({ url: server.url, cast: { acme, evil, alice, bob, eve } })
  onTestFinished(() => other.close())
  await setTurnLimits(grid.acme.store, { warn: 10, perHour: 20 })
  const grids = [grid, other]

  // Each agent uses its own process.
  await send(grid, alice, '@bob')
  const told: number[] = []
  const { turns, refused } = await echo(grid, [bob, alice], {
    grids,
    onSent: (sent) => sent.turns && told.push(sent.turns),
  })
  expect([turns, refused.code, told[0]]).toEqual([20, 'conversation_paused', 10])

  // Both processes apply the pause and its end, and the account's owners are notified once.
  for (const process of grids) expect(await send(process, bob, '@alice')).toMatchObject({ code: 'conversation_paused' })
  await Promise.all([notifyOfPauses(grid.store), notifyOfPauses(other.store)])
  expect([...grid.emails, ...other.emails]).toHaveLength(1)
  const [pause] = await pausesOf(other)
  await resumeConversation(other.acme.store, pause.key)
  for (const process of grids) expect(await send(process, bob, '@alice')).toMatchObject({ recipient: '@alice' })
  await setAutomated(other.acme.store, { agent: 'alice', isAutomated: true })
  const exempt = await echo(grid, [alice, bob], { grids, most: 60 })
  expect(exempt.refused).toBeUndefined()
}, 300_000)

test("each account counts and pauses its own agents, and does not see the other account's pause", async () => {
  grid = await testGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  await setTurnLimits(grid.evil.store, { perHour: 50 })
  await postA2a(grid, grid.eve.key, send10({ contextId: 'job', metadata: { to: '@desk' } }))

  const { turns, refused } = await echo(grid, [desk, grid.eve], { withReplyIds: true })

  // One more than the limit of 50, because the next turn is sent from the account with the higher limit.
  expect(turns).toBe(51)
  expect(refused).toMatchObject({ code: 'conversation_paused', message: expect.stringContaining('@desk, @eve') })
  expect(await grid.evil.store.read.turns.paused()).toMatchObject([{ agents: ['desk', 'eve'], turns: 51 }])
  expect(await pausesOf(grid)).toEqual([])
  const [pause] = await grid.evil.store.read.turns.paused()
  await expect(resumeConversation(grid.acme.store, pause.key)).rejects.toMatchObject({ code: 'conversation_not_found' })
  // Naming a conversation id of the other account adds no turns there.
  const keys = await rows(grid, 'SELECT key FROM conversation_turns WHERE account_id = ?', [grid.acme.id])
  expect(keys).toEqual([{ key: '@desk @eve' }])
  // The other account applies its own limits.
  expect(await send(grid, desk, '@eve')).toMatchObject({ recipient: '@eve' })
  await notifyOfPauses(grid.store)
  expect(grid.emails.map(({ to }) => to)).toEqual(['ed@evil.example'])
})

test('turn limits are integers, defaults are not stored, and 0 means no limit', async () => {
  grid = await testGrid()
  for (const limit of [-1, 1.5, NaN, 1_000_001]) {
    await expect(setTurnLimits(grid.acme.store, { warn: limit })).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'warn' },
    })
  }
  expect(await setTurnLimits(grid.acme.store, { warn: 5 })).toEqual({ warn: 5, perHour: 200, hops: 64 })
  expect(await grid.acme.store.read.turns.limits()).toEqual({ warn: 5, perHour: 200, hops: 64 })
  expect(await grid.evil.store.read.turns.limits()).toEqual({ warn: 30, perHour: 200, hops: 64 })
  await setTurnLimits(grid.acme.store, { warn: 30 })
  expect(await rows(grid, 'SELECT turn_limits FROM accounts WHERE id = ?', [grid.acme.id])).toEqual([
    { turn_limits: null },
  ])
  await setTurnLimits(grid.acme.store, { warn: 0, perHour: 0, hops: 0 })
  await send(grid, grid.alice, '@bob')
  const { refused } = await echo(grid, [grid.bob, grid.alice], {
    most: 250,
    withReplyIds: true,
    onSent: ({ turns }) => expect(turns).toBeUndefined(),
  })
  expect(refused).toBeUndefined()
})
