/** Deferred units of the write queue, which wait for another commit. */
import { LibsqlBatchError } from '@libsql/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { turn } from '../support/wait-for.ts'
import { constraint, failOn, settle, testQueue, unit } from '../support/write-queue.ts'

test('a deferred unit joins the front of the next commit and causes no commit of its own', async () => {
  const { queue, commits } = testQueue()

  queue.writeLater([unit('late 1')])
  queue.writeLater([unit('late 2')])
  await turn()
  expect(commits).toEqual([])
  await queue.write('a', [unit('one')])
  await queue.drained()

  expect(commits).toEqual([['late 1', 'late 2', 'one']])
})

test('a deferred unit is committed alone if there are no other writes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { queue, commits } = testQueue()

  queue.writeLater([unit('late')])
  vi.advanceTimersByTime(199)
  await turn()
  expect(commits).toEqual([])
  vi.advanceTimersByTime(1)
  await turn()

  expect(commits).toEqual([['late']])
})

test('a failing deferred unit is logged, and the other deferred units run together', async () => {
  const { queue, commits, logs } = testQueue({ batch: (sqls) => failOn('bad late', constraint, sqls) })

  for (const name of ['late 1', 'bad late', 'late 2']) queue.writeLater([unit(name)])
  const answers = await settle([queue.write('a', [unit('one')]), queue.write('b', [unit('two')])])
  await queue.drained()

  expect(answers).toEqual(['done', 'done'])
  expect(commits.slice(1)).toEqual([
    ['one'],
    ['two'],
    ['late 1', 'bad late', 'late 2'],
    ['late 1'],
    ['bad late'],
    ['late 2'],
  ])
  expect(logs).toEqual([expect.stringContaining('A deferred write failed')])
})

test('a deferred unit that a full disk refuses is tried again, until the queue is drained', async () => {
  let isFull = true
  const full = new LibsqlBatchError('full', 0, 'SQLITE_FULL')
  const { queue, commits, logs } = testQueue({ batch: () => isFull ? Promise.reject(full) : undefined })

  queue.writeLater([unit('late')])
  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['storage_full'])
  isFull = false
  await queue.write('a', [unit('two')])
  expect(commits).toEqual([['late', 'one'], ['late', 'two']])

  isFull = true
  queue.writeLater([unit('never')])
  await queue.drained()
  expect(logs.at(-1)).toContain('A deferred write failed')
})

test('at most 10,000 deferred units wait, and beyond that the oldest is dropped and logged', async () => {
  const { queue, commits, logs } = testQueue()

  for (let n = 0; n <= 10_000; n++) queue.writeLater([unit(`${n}`)])
  await queue.drained()

  expect(commits.flat()).toHaveLength(10_000)
  expect(commits[0][0]).toBe('1')
  expect(Math.max(...commits.map((commit) => commit.length))).toBe(256)
  expect(logs).toHaveLength(1)
})
