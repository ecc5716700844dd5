/** Snoozing items in Attention. docs/web.md, "Attention". */
import { beforeEach, expect, test } from 'vitest'
import { attentionOf, endSnooze, snooze } from '../../../src/grid/attention/attention.ts'
import { day, hour } from '../../../src/lib/time.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Person, person } from '../../support/people.ts'

let grid: TestGrid
let ann: Person
beforeEach(async () => {
  grid = await testGrid()
  ann = await person(grid, { role: 'viewer' })
  await send()
  await send()
  grid.clock.now += hour
})

const as = (user: Person) => grid.store.account(grid.acme.id, user.actor('viewer'))
const send = () => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi' })
const open = async (user = ann) => (await attentionOf(as(user), undefined)).open.map(({ kind }) => kind)
const stored = () => rows(grid, 'SELECT * FROM snoozes WHERE account_id = ?', [grid.acme.id])
const bob = () => ({ kind: 'unread', subject: grid.bob.id })

test('a snoozed item is hidden from its user only, until the snooze is over', async () => {
  const other = await person(grid, { role: 'owner' })
  expect(await open()).toEqual(['unread'])

  expect(await snooze(as(ann), undefined, { ...bob(), time: 'hour' })).toBe(true)
  expect([await open(), await open(other)]).toEqual([[], ['unread']])
  const until = grid.clock.now + hour
  expect((await attentionOf(as(ann), undefined)).snoozed).toMatchObject([{ until, condition: bob() }])
  grid.clock.now = until - 1
  expect(await open()).toEqual([])
  grid.clock.now = until
  expect(await open()).toEqual(['unread'])

  await snooze(as(ann), undefined, { ...bob(), time: 'tomorrow' })
  const [{ until: tomorrow }] = (await attentionOf(as(ann), undefined)).snoozed
  expect(new Date(tomorrow).toISOString()).toMatch(/T08:00:00.000Z$/)
  expect(tomorrow - grid.clock.now).toBeGreaterThan(8 * hour)
  await snooze(as(ann), undefined, { ...bob(), time: 'week' })
  expect((await attentionOf(as(ann), undefined)).snoozed).toMatchObject([{ until: grid.clock.now + 7 * day }])
})

test('a snooze ends early when twice as many messages wait', async () => {
  await snooze(as(ann), undefined, { ...bob(), time: 'week' })
  await send()
  expect(await open()).toEqual([])
  await send()
  expect(await open()).toEqual(['unread'])

  await snooze(as(ann), undefined, { ...bob(), time: 'week' })
  expect(await open()).toEqual([])
})

test('only the user who snoozed an item can end the snooze, and ended snoozes are removed', async () => {
  await snooze(as(ann), undefined, { ...bob(), time: 'hour' })
  await endSnooze(as(await person(grid, { role: 'viewer' })), bob())
  expect(await open()).toEqual([])
  await endSnooze(as(ann), bob())
  expect(await open()).toEqual(['unread'])

  await snooze(as(ann), undefined, { ...bob(), time: 'hour' })
  grid.clock.now += hour - 1
  await sweep(grid.store)
  expect(await stored()).toHaveLength(1)
  grid.clock.now += 1
  await sweep(grid.store)
  expect(await stored()).toEqual([])
})
