/** The write queue when a statement, a commit, or the connection fails. */
import { LibsqlBatchError, LibsqlError } from '@libsql/client'
import { expect, test } from 'vitest'
import { constraint, failOn, gathered, hold, settle, testQueue, unit } from '../support/write-queue.ts'

test('a unit that violates a constraint fails alone', async () => {
  const { queue, commits } = testQueue({ batch: (sqls) => failOn('bad', constraint, sqls) })

  const answers = await settle([
    queue.write('a', [unit('good 1')]),
    queue.write('b', [unit('bad')]),
    queue.write('c', [unit('good 2')]),
  ])

  expect(answers).toEqual(['done', 'write_conflict', 'done'])
  expect(commits).toEqual([['good 1', 'bad', 'good 2'], ['good 1'], ['bad'], ['good 2']])
})

test.each([
  ['the database does not understand', new LibsqlBatchError('SQLITE_UNKNOWN: no such table', 0, 'SQLITE_UNKNOWN')],
  ['reads a number that cannot be represented', new RangeError('too large')],
])('a statement that %s fails alone, with its own error', async (_, bad) => {
  const { queue } = testQueue({ batch: (sqls) => failOn('bad', bad, sqls) })

  const answers = await Promise.allSettled([queue.write('a', [unit('good')]), queue.write('b', [unit('bad')])])

  expect(answers[0].status).toBe('fulfilled')
  expect(answers[1]).toEqual({ status: 'rejected', reason: bad })
})

test.each([
  ['the disk is full', new LibsqlBatchError('full', 0, 'SQLITE_FULL'), 'storage_full'],
  ['the disk is full at COMMIT', new LibsqlError('full', 'SQLITE_FULL'), 'storage_full'],
  ['the driver fails', new TypeError('undefined cannot be passed as argument to the database'), 'unavailable'],
])('all units of a failed commit are rejected, and not run alone: %s', async (_, error, code) => {
  let failures = 1
  const { queue, commits } = testQueue({ batch: () => failures-- > 0 ? Promise.reject(error) : undefined })

  const answers = await settle([queue.write('a', [unit('one')]), queue.write('b', [unit('two')])])
  const after = await settle([queue.write('a', [unit('three')])])

  expect(answers).toEqual([code, code])
  expect(after).toEqual(['done'])
  expect(commits).toEqual([['one', 'two'], ['three']])
})

test.each([
  ['at COMMIT', new LibsqlError('disk I/O error', 'SQLITE_IOERR', 'SQLITE_IOERR_FSYNC', 1034)],
  ['at a statement', new LibsqlBatchError('disk I/O error', 0, 'SQLITE_IOERR', 'SQLITE_IOERR_WRITE', 778)],
  ['a damaged file', new LibsqlBatchError('malformed', 0, 'SQLITE_CORRUPT')],
])('after an I/O error no more is written, and the process is asked to end: %s', async (_, error) => {
  const held = hold()
  const { queue, commits, faults } = testQueue({ batch: () => held.opened.then(() => Promise.reject(error)) })

  const first = settle([queue.write('a', [unit('one')]), queue.write('b', [unit('two')])])
  await gathered()
  const waiting = settle([queue.write('a', [unit('waiting')])])
  held.open()
  const answers = [...await first, ...await waiting]
  const after = await settle([queue.write('a', [unit('after')])])

  expect(answers).toEqual(['unavailable', 'unavailable', 'unavailable'])
  expect(after).toEqual(['unavailable'])
  expect(commits).toEqual([['one', 'two']])
  expect(faults).toEqual([error])
  await queue.drained()
})

test('after an I/O error, units are no longer run alone', async () => {
  const io = new LibsqlError('disk I/O error', 'SQLITE_IOERR')
  const { queue, commits } = testQueue({
    batch: (sqls) => sqls.length > 1 ? failOn('bad', constraint, sqls) : failOn('broken', io, sqls),
  })

  const answers = await settle(['good', 'broken', 'bad', 'never'].map((name) => queue.write(name, [unit(name)])))

  expect(answers).toEqual(['done', 'unavailable', 'unavailable', 'unavailable'])
  expect(commits.slice(1)).toEqual([['good'], ['broken']])
})

test('after a lost connection or a locked file, a local queue writes nothing more', async () => {
  for (const code of ['CONNECTION_LOST', 'SQLITE_BUSY']) {
    const { queue, commits, faults } = testQueue({ batch: () => Promise.reject(new LibsqlError('lost', code)) })

    const answers = await settle([queue.write('a', [unit('one')])])
    const after = await settle([queue.write('a', [unit('two')])])

    expect([...answers, ...after]).toEqual(['unavailable', 'unavailable'])
    expect(commits).toEqual([['one']])
    expect(faults).toHaveLength(1)
  }
})

const losses: [string, Error][] = [
  ['refused', new TypeError('fetch failed')],
  ['silent', new DOMException('timed out', 'TimeoutError')],
  ['an answer of 502', new LibsqlError('Server returned HTTP status 502', 'SERVER_ERROR')],
  ['cut', new LibsqlError('closed', 'HRANA_CLOSED_ERROR')],
  ['locked by another process', new LibsqlError('database is locked', 'SQLITE_BUSY')],
]

test.each(losses)('a group is retried once after a remote connection fails: %s', async (_, loss) => {
  let failures = 1
  const batch = () => failures-- > 0 ? Promise.reject(loss) : undefined
  const { queue, commits } = testQueue({ batch, options: { local: false } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['done'])
  expect(commits).toEqual([['one'], ['one']])
})

test.each(losses)('a unit is refused as unavailable after a remote connection fails twice: %s', async (_, loss) => {
  const { queue, commits, faults } = testQueue({ batch: () => Promise.reject(loss), options: { local: false } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['unavailable'])
  expect(commits).toEqual([['one'], ['one']])
  expect(faults).toEqual([])
})

test.each([
  ['a local error', new LibsqlError('?', 'UNKNOWN'), true, 'unavailable'],
  ["a server's full disk", new LibsqlBatchError('full', 0, 'SQLITE_FULL'), false, 'storage_full'],
  ["a server's broken disk", new LibsqlBatchError('io', 0, 'SQLITE_IOERR'), false, 'unavailable'],
])('after %s, no write is retried and the process does not end', async (_, error, local, code) => {
  const { queue, commits, faults } = testQueue({ batch: () => Promise.reject(error), options: { local } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual([code])
  expect(commits).toEqual([['one']])
  expect(faults).toEqual([])
})
