/** Conversations that run away over processes, restarts and accounts. docs/delivery.md, "Conversations that run away". */
import { rmSync } from 'node:fs'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { mergeClaim, openClaim } from '../../../src/grid/accounts/claim.ts'
import {
  longConversations,
  pausedConversations,
  resumeConversation,
  setAutomated,
  setTurnLimits,
} from '../../../src/grid/messaging/conversations.ts'
import { day, hour } from '../../../src/lib/time.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { tellOfPauses } from '../../../src/worker/paused-conversations.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { echo, exchangeMessages, pausesOf, read, send } from '../../support/echoes.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { person } from '../../support/people.ts'
import { startSqld } from '../../support/sqld.ts'
import { tripwire } from '../../support/tripwire.ts'

let grid: TestGrid

afterEach(() => grid.close())

test('two processes share turns, reads, pauses and settings, as far as one exchange a second allows', async () => {
  const server = await startSqld({ isRelaxed: true })
  onTestFinished(() => server.stop())
  grid = await testGrid({ url: server.url })
  const { acme, evil, alice, bob, eve } = grid
  const carol = await grid.acme.agent('carol')
  const other = await testGrid({ url: server.url, cast: { acme, evil, alice, bob, eve } })
  onTestFinished(() => other.close())
  const exchange = () => exchangeMessages(grid, other)
  await setTurnLimits(grid.acme.store, { warn: 10, perHour: 20 })
  await exchange()

  // Each agent reads and sends at both processes by turns, so that neither sees the whole.
  await send(grid, alice, '@bob')
  const grids = [grid, grid, other, other]
  let sent = 0
  let refused: unknown
  while (!refused) {
    const result = await echo(grid, [bob, carol, alice], { grids, most: 12, again: sent > 0 })
    sent += result.turns
    refused = result.refused
    await exchange()
    expect(sent).toBeLessThan(60)
  }
  expect(refused).toMatchObject({ code: 'conversation_paused' })
  expect(sent).toBeGreaterThanOrEqual(20)

  // It is paused at the other process too, its owners are told once, and resuming it counts everywhere.
  await exchange()
  const [pause, ...more] = await pausesOf(other)
  expect(more).toEqual([])
  await Promise.all([tellOfPauses(grid.store), tellOfPauses(other.store)])
  expect([...grid.emails, ...other.emails]).toHaveLength(1)
  for (const process of [grid, other]) {
    const { refused } = await echo(process, [alice], { most: 1, again: true, to: '@bob' })
    expect(refused).toMatchObject({ code: 'conversation_paused' })
  }
  await resumeConversation(other.acme.store, pause.id)
  await exchange()
  for (const process of [grid, other]) {
    const { refused } = await echo(process, [alice], { most: 1, again: true, to: '@bob' })
    expect(refused).toBeUndefined()
  }
  await setAutomated(other.acme.store, { agent: 'alice', isAutomated: true })
  await exchange()
  const exempt = await echo(grid, [alice, bob], { most: 60, again: true })
  expect(exempt.refused).toBeUndefined()
}, 300_000)

test('a restart forgets neither turns nor pauses, and what is old is removed', async () => {
  grid = await testGrid()
  const carol = await grid.acme.agent('carol')
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], {})
  await send(grid, grid.alice, '@carol')
  await echo(grid, [carol, grid.alice], { most: 40 })
  await restart()

  expect(await pausesOf(grid)).toMatchObject([{ agents: ['alice', 'bob'], reason: 'turns', turns: 200 }])
  expect(await longConversations(grid.acme.store)).toMatchObject([{ agents: ['alice', 'carol'], turns: 40 }])
  // Who read whom lately is not stored by a process alone, so a first message is no answer.
  await send(grid, grid.alice, '@bob')
  await read(grid, grid.bob)
  expect(await send(grid, grid.bob, '@alice')).toMatchObject({ code: 'conversation_paused' })
  await read(grid, carol)
  await send(grid, carol, '@alice')
  await read(grid, grid.alice)
  expect(await send(grid, grid.alice, '@carol')).toMatchObject({ turns: expect.any(Number) })

  const [pause] = await pausesOf(grid)
  await resumeConversation(grid.acme.store, pause.id)
  grid.clock.now += 31 * day
  await sweep(grid.store)
  for (const table of ['conversation_turns', 'conversation_pauses']) {
    expect(await rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ?`, [grid.acme.id])).toEqual([])
  }
})

test('each account counts and pauses for its own agents, and sees nothing of the other', async () => {
  grid = await testGrid()
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  await setTurnLimits(grid.evil.store, { perHour: 50 })
  await postA2a(grid, grid.eve.key, send10({ contextId: 'job', metadata: { to: '@desk' } }))

  const { turns, refused } = await echo(grid, [desk, grid.eve], { withReplyIds: true })

  // The last one is of the account that allows more.
  expect(turns).toBe(51)
  expect(refused).toMatchObject({ code: 'conversation_paused', message: expect.stringContaining('@desk, @eve') })
  await grid.store.exchangeUsage()
  expect(await pausedConversations(grid.evil.store)).toMatchObject([{ agents: ['desk', 'eve'], turns: 51 }])
  expect(await pausesOf(grid)).toEqual([])
  const [pause] = await pausedConversations(grid.evil.store)
  await expect(resumeConversation(grid.acme.store, pause.id)).rejects.toMatchObject({ code: 'conversation_not_found' })
  // A stranger counts no turns of a conversation of the account by naming its id.
  const keys = await rows(grid, 'SELECT key FROM conversation_turns WHERE account_id = ?', [grid.acme.id])
  expect(keys).toEqual([{ key: '@desk @eve' }])
  // The other account goes by its own limits.
  expect(await send(grid, desk, '@eve')).toMatchObject({ recipient: '@eve' })
  await tellOfPauses(grid.store)
  expect(grid.emails.map(({ to }) => to)).toEqual(['ed@evil.example'])
})

test('after a restart, turns of more than an hour ago are not counted either', async () => {
  grid = await testGrid()
  await send(grid, grid.alice, '@bob')
  await echo(grid, [grid.bob, grid.alice], { most: 150 })
  await restart()
  grid.clock.now += hour

  await send(grid, grid.alice, '@bob')
  const { refused } = await echo(grid, [grid.bob, grid.alice], { most: 150, again: true })

  expect(refused).toBeUndefined()
})

test('a turn, and a read that is told of it, run the same statements as others', async () => {
  const seen: string[] = []
  grid = await testGrid({
    inspect(sql, name) {
      tripwire(sql, name)
      seen.push(sql)
    },
  })
  await setTurnLimits(grid.acme.store, { warn: 1 })
  const statements = async (run: () => Promise<unknown>) => {
    seen.length = 0
    await run()
    return [...seen]
  }
  const answer = () => send(grid, grid.bob, '@alice')
  const readNext = async () => (await read(grid, grid.bob)).more
  // Both are looked up, and what each has to read is the same in both rounds.
  for (let n = 0; n < 2; n++) {
    await answer()
    await send(grid, grid.alice, '@bob')
  }
  const oneWay = await statements(answer)
  await setAutomated(grid.acme.store, { agent: 'alice', isAutomated: true })
  const untold = await statements(readNext)
  await setAutomated(grid.acme.store, { agent: 'alice', isAutomated: false })
  await send(grid, grid.alice, '@bob')
  await read(grid, grid.bob)
  let sent
  const turn = await statements(async () => sent = await answer())
  await send(grid, grid.alice, '@bob')
  let more
  const told = await statements(async () => more = await readNext())

  expect(sent).toHaveProperty('turns')
  expect(more).toHaveProperty('turns')
  expect(turn).toEqual(oneWay)
  expect(told).toEqual(untold)
})

test('claiming an agent into another account removes what was counted', async () => {
  grid = await testGrid()
  const email = 'zoe@new.example'
  const signUp = async (alias: string) =>
    (await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })).json()
  const { api_key: key, trial } = await signUp('zoe')
  const { api_key: other } = await signUp('yan')
  const [zoe, yan] = [{ id: '', alias: 'zoe', key }, { id: '', alias: 'yan', key: other }]
  await send(grid, zoe, '@yan')
  await echo(grid, [yan, zoe], { most: 4 })
  await grid.store.exchangeUsage()
  const owner = await person(grid, { email, role: 'owner' })
  const token = trial.claim_url.split('/').at(-1)
  const { provisionalId, agents } = await openClaim(grid.store, token)
  const counted = 'SELECT key, turns FROM conversation_turns WHERE account_id = ?'
  expect(await rows(grid, counted, [provisionalId])).toEqual([{ key: '@yan @zoe', turns: 4 }])

  const into = { id: grid.acme.id, account: grid.store.account(grid.acme.id, owner.actor('owner')) }
  const claimant = { user: owner, sessionId: 'test' }
  await mergeClaim(grid.store, token, claimant, into, { keep: agents.map(({ id }) => id), discard: [] }, null)

  expect(await rows(grid, counted, [provisionalId])).toEqual([])
  await echo(grid, [yan, zoe], { most: 3 })
  await grid.store.exchangeUsage()
  expect(await rows(grid, counted, [grid.acme.id])).toEqual([{ key: '@yan @zoe', turns: 3 }])
})

test('limits are whole numbers, defaults are not stored, and 0 is no limit', async () => {
  grid = await testGrid()
  for (const limit of [-1, 1.5, NaN, 1_000_001]) {
    await expect(setTurnLimits(grid.acme.store, { warn: limit })).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'warn' },
    })
  }
  expect(await setTurnLimits(grid.acme.store, { warn: 5 })).toEqual({ warn: 5, perHour: 200, hops: 64 })
  expect(grid.acme.store.turns.limits).toEqual({ warn: 5, perHour: 200, hops: 64 })
  expect(grid.evil.store.turns.limits).toEqual({ warn: 30, perHour: 200, hops: 64 })
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

/** Close the grid and open its database again. */
async function restart(): Promise<void> {
  await grid.store.exchangeUsage()
  const { acme, evil, alice, bob, eve, folder, clock, deps } = grid
  // The folder of a local file would go with the grid, so only the store is closed.
  await grid.store.close()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  grid = await testGrid({ url: deps.config.databaseUrl, cast: { acme, evil, alice, bob, eve } })
  grid.clock.now = clock.now
}
