/** Counting full inboxes in the background (docs/operations.md, "Quotas"), without a database. */
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { UnreadCounts } from '../../src/store/unread-counts.ts'

const limit = 10_000
const names = (n: number) => Array.from({ length: n }, (_, i) => `inbox-${i}`)

/** Counts of inboxes that all have `stored` unread messages. */
function open(stored: () => number = () => limit) {
  const clock = { now: 1_000_000 }
  const statements: { home: string; inboxes: string[] }[] = []
  const logs: string[] = []
  let isScheduled = false
  let isBroken = false
  const counts = new UnreadCounts({
    deps: { config: readConfig({}), log: createLog('info', (line) => logs.push(line)), now: () => clock.now },
    exchange: { schedule: () => void (isScheduled = true) },
    tablesOf: (home) => ({
      read: {
        usage: {
          unread(inboxes: string[]) {
            statements.push({ home, inboxes })
            if (isBroken) return Promise.reject(new Error('no database'))
            return Promise.resolve(inboxes.map((agentId) => ({ agentId, unread: stored() })))
          },
        },
      },
    }),
  })
  return {
    counts,
    clock,
    logs,
    break: (broken: boolean) => isBroken = broken,
    isScheduled: () => isScheduled,
    /** The inboxes that one exchange counts. */
    async counted() {
      statements.length = 0
      await counts.recount()
      return statements.flatMap(({ inboxes }) => inboxes)
    },
    statements,
  }
}

test('of many full inboxes some are counted at a time, and each in its turn', async () => {
  const { counts, counted, statements } = open()
  for (const name of names(50)) counts.delivered('acme', name, undefined)

  const rounds: string[][] = []
  for (let n = 0; n < 3; n++) {
    rounds.push(await counted())
    expect(statements.every(({ inboxes }) => inboxes.length <= 2)).toBe(true)
    // Those of the first round are used all the time.
    for (const name of rounds[0]) counts.unread(name)
  }

  expect(rounds.map((round) => round.length)).toEqual([20, 20, 10])
  expect(rounds.flat().toSorted()).toEqual(names(50).toSorted())
})

test('nearly empty inboxes are counted many at a time, those of each account apart', async () => {
  const { counts, counted, statements } = open(() => 3)
  for (const name of names(50)) counts.delivered(name < 'inbox-3' ? 'acme' : 'evil', name, undefined)

  expect((await counted()).length).toBe(50)
  expect(statements.every(({ home, inboxes }) => inboxes.every((name) => (name < 'inbox-3') === (home === 'acme'))))
    .toBe(true)
  expect(counts.unread('inbox-7')).toBe(3)
  expect(await counted()).toEqual([])
})

test('a full inbox is counted again after 3 seconds, however often it is used', async () => {
  let stored = limit
  const { counts, clock, counted } = open(() => stored)
  counts.delivered('acme', 'inbox', undefined)
  expect(await counted()).toEqual(['inbox'])
  stored = 0

  counts.unread('inbox')
  clock.now += 2_999
  expect(await counted()).toEqual([])
  expect(counts.unread('inbox')).toBe(limit)
  clock.now += 1
  expect(await counted()).toEqual(['inbox'])
  expect(counts.unread('inbox')).toBe(0)
})

test('an inbox that moved with a claimed agent is counted in its new account', async () => {
  const { counts, counted, statements } = open()
  counts.delivered('provisional', 'inbox', undefined)
  await counted()
  for (let n = 0; n < 100; n++) counts.delivered('acme', 'inbox', undefined)
  await counted()

  expect(statements.map(({ home }) => home)).toEqual(['acme'])
})

test('a receipt that counted few messages makes counting unnecessary', async () => {
  const { counts, counted, isScheduled } = open()
  for (const name of names(1_000)) counts.delivered('acme', name, 99)

  expect([isScheduled(), await counted(), counts.unread('inbox-1')]).toEqual([false, [], 0])
})

test('inboxes that could not be counted are counted the next time', async () => {
  const grid = open()
  grid.counts.delivered('acme', 'inbox', undefined)
  grid.break(true)
  expect(await grid.counts.recount()).toBe(true)
  expect(grid.logs.join()).toContain('could not be counted')
  grid.break(false)

  expect(await grid.counted()).toEqual(['inbox'])
  expect(grid.counts.unread('inbox')).toBe(limit)
})
