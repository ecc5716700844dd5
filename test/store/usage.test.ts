/** Counters of usage (docs/operations.md, "Quotas"), with a database that can be slow or away. */
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import type { UnreadCounts } from '../../src/store/unread-counts.ts'
import { AccountUsage, UsageCounters } from '../../src/store/usage.ts'

const stranger = { agentId: 'desk', home: 'other' }

function open() {
  const reads: { account: string; subjects: string[]; answer: (messages?: number) => void; fail: () => void }[] = []
  const stored: { account: string; subjects: string[] }[] = []
  const logs: string[] = []
  const counters = new UsageCounters({
    deps: { config: readConfig({}), log: createLog('info', (line) => logs.push(line)), now: () => 0 },
    isAlone: false,
    exchange: { schedule() {} },
    writeLater() {},
    tablesOf: (account) => ({
      read: {
        usage: {
          unread: () => Promise.resolve([]),
          counted: (_, subjects) =>
            new Promise((resolve, reject) =>
              reads.push({
                account,
                subjects,
                answer: (messages = 0) => resolve(subjects.map((subject) => ({ subject, messages, bytes: 0 }))),
                fail: () => reject(new Error('no database')),
              })
            ),
        },
      },
      change: {
        usage: {
          store(_, counts) {
            stored.push({ account, subjects: counts.map(({ subject }) => subject) })
            return { sql: '', args: [] }
          },
        },
      },
    }),
  })
  const inboxes = { delivered() {}, unread: () => 0 } as unknown as UnreadCounts
  return { counters, reads, stored, logs, usageOf: (account: string) => new AccountUsage(counters, inboxes, account) }
}

test('a read that fails ends no exchange of others, and is made again', async () => {
  const { counters, reads, logs, usageOf } = open()
  for (const account of ['acme', 'evil']) usageOf(account).count({ bytes: 1 })
  const exchanged = counters.exchange()
  reads[0].fail()
  reads[1].answer(5)

  expect(await exchanged).toBe(true)
  expect(await usageOf('evil').today()).toMatchObject({ messages: 6 })
  expect(logs.join()).toContain('could not be read')
  const again = counters.exchange()
  for (const { answer } of reads.splice(0)) answer(7)
  await again
  expect(await usageOf('acme').today()).toMatchObject({ messages: 8 })
})

test('an older read that arrives late does not replace a newer one', async () => {
  const { counters, reads, usageOf } = open()
  const usage = usageOf('acme')
  usage.count({ bytes: 1 })
  const exchanged = counters.exchange()
  const shown = usage.todayOfAll()
  reads[1].answer(20)
  await shown
  reads[0].answer(10)
  await exchanged

  expect(await usage.today()).toMatchObject({ messages: 21 })
})

test('what is not used takes part in no exchange, and each count is stored once', async () => {
  const { counters, reads, stored, usageOf } = open()
  const exchange = async () => {
    const exchanged = counters.exchange()
    for (const { answer } of reads) answer()
    await exchanged
    return reads.splice(0).map(({ account }) => account).toSorted()
  }
  for (const account of ['acme', 'evil']) usageOf(account).count({ inbox: stranger, bytes: 1 })
  expect(await exchange()).toEqual(['acme', 'evil'])
  usageOf('acme').count({ bytes: 1 })

  expect(await exchange()).toEqual(['acme', 'evil'])
  expect(await exchange()).toEqual(['acme'])
  expect(await exchange()).toEqual([])
  expect(await counters.exchange()).toBe(false)
  expect(stored).toEqual([
    { account: 'acme', subjects: ['', 'desk'] },
    { account: 'evil', subjects: ['', 'desk'] },
    { account: 'acme', subjects: [''] },
  ])
})

test('the pairs that are kept are bounded in total, but not below those at their limit', async () => {
  const { counters, reads, usageOf } = open()
  const idle = async () => {
    for (let n = 0; n < 3; n++) {
      const exchanged = counters.exchange()
      for (const { answer } of reads.splice(0)) answer()
      await exchanged
    }
  }
  for (let n = 0; n < 2_000; n++) usageOf('acme').count({ inbox: stranger, bytes: 1 })
  usageOf('acme').count({ inbox: { agentId: 'shop', home: 'other' }, bytes: 1 })
  await idle()
  for (let n = 0; n < 20_000; n++) usageOf(`account ${n % 10}`).toStranger(`agent ${n}`)
  await idle()

  expect(usageOf('acme').toStranger('desk')).toBe(2_000)
  expect(usageOf('acme').toStranger('shop')).toBe(0)
})
