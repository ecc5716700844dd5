/** The write queue, with a client whose commits can be held and failed. See docs/delivery.md, "Group commit". */
import { LibsqlBatchError, LibsqlError, type ResultSet } from '@libsql/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLog } from '../../src/log.ts'
import { type QueueOptions, WriteQueue } from '../../src/store/queue.ts'
import { isSettled, turn } from '../support/wait-for.ts'

test('concurrent units share a commit, in order, and each gets its own rows', async () => {
  const { queue, commits } = testQueue()

  const answers = await Promise.all([
    queue.write('a', [unit('a1'), unit('a2')]),
    queue.write('b', [unit('b1')]),
    queue.write('a', [unit('a3')]),
  ])

  expect(commits).toEqual([['a1', 'a2', 'b1', 'a3']])
  expect(answers).toEqual([[[{ ran: 'a1' }], [{ ran: 'a2' }]], [[{ ran: 'b1' }]], [[{ ran: 'a3' }]]])
})

test('no promise settles before its commit returned; units that arrive meanwhile join the next one', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  let settled = 0
  const count = () => settled++

  const first = queue.write('a', [unit('first')]).then(count)
  await turn()
  const later = [queue.write('a', [unit('second')]).then(count), queue.write('b', [unit('third')]).then(count)]
  await turn()
  expect(commits).toEqual([['first']])
  expect(settled).toBe(0)
  held.open()
  await Promise.all([first, ...later])

  expect(commits).toEqual([['first'], ['second', 'third']])
})

test('a unit that breaks a constraint fails alone', async () => {
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
  ['the disk is full', new LibsqlBatchError('full', 0, 'SQLITE_FULL')],
  ['the disk is full at COMMIT', new LibsqlError('full', 'SQLITE_FULL')],
  ['the file is busy', new LibsqlError('busy', 'SQLITE_BUSY')],
  ['the driver fails', new TypeError('undefined cannot be passed as argument to the database')],
])('a failing commit rejects all units and runs none alone: %s', async (_, error) => {
  let failures = 1
  const { queue, commits } = testQueue({ batch: () => failures-- > 0 ? Promise.reject(error) : undefined })

  const answers = await settle([queue.write('a', [unit('one')]), queue.write('b', [unit('two')])])
  const after = await settle([queue.write('a', [unit('three')])])

  expect(answers).toEqual(['unavailable', 'unavailable'])
  expect(after).toEqual(['done'])
  expect(commits).toEqual([['one', 'two'], ['three']])
})

test.each([
  ['at COMMIT', new LibsqlError('disk I/O error', 'SQLITE_IOERR', 'SQLITE_IOERR_FSYNC', 1034)],
  ['at a statement', new LibsqlBatchError('disk I/O error', 0, 'SQLITE_IOERR', 'SQLITE_IOERR_WRITE', 778)],
  ['a damaged file', new LibsqlBatchError('malformed', 0, 'SQLITE_CORRUPT')],
])('after an I/O error nothing is written again, and the process is told to end: %s', async (_, error) => {
  const held = hold()
  const { queue, commits, faults } = testQueue({ batch: () => held.opened.then(() => Promise.reject(error)) })

  const first = settle([queue.write('a', [unit('one')]), queue.write('b', [unit('two')])])
  await turn()
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

test('an I/O error among units run alone stops the rest of them', async () => {
  const io = new LibsqlError('disk I/O error', 'SQLITE_IOERR')
  const { queue, commits } = testQueue({
    batch: (sqls) => sqls.length > 1 ? failOn('bad', constraint, sqls) : failOn('broken', io, sqls),
  })

  const answers = await settle(['good', 'broken', 'bad', 'never'].map((name) => queue.write(name, [unit(name)])))

  expect(answers).toEqual(['done', 'unavailable', 'unavailable', 'unavailable'])
  expect(commits.slice(1)).toEqual([['good'], ['broken']])
})

test('a lost lock is a storage fault: nothing is written without it', async () => {
  let hasLock = true
  const { queue, commits, faults } = testQueue({
    batch: () => {
      hasLock = false
      return Promise.reject(new LibsqlError('full', 'SQLITE_FULL'))
    },
    options: { checkConnection: () => hasLock ? Promise.resolve() : Promise.reject(new Error('no lock')) },
  })

  const answers = await settle([queue.write('a', [unit('one')])])
  const after = await settle([queue.write('a', [unit('two')])])

  expect([...answers, ...after]).toEqual(['unavailable', 'unavailable'])
  expect(commits).toEqual([['one']])
  expect(faults).toHaveLength(1)
})

const losses: [string, Error][] = [
  ['refused', new TypeError('fetch failed')],
  ['silent', new DOMException('timed out', 'TimeoutError')],
  ['an answer of 502', new LibsqlError('Server returned HTTP status 502', 'SERVER_ERROR')],
  ['cut', new LibsqlError('closed', 'HRANA_CLOSED_ERROR')],
  ['locked by another process', new LibsqlError('database is locked', 'SQLITE_BUSY')],
]

test.each(losses)('a remote connection that is %s repeats the group once', async (_, loss) => {
  let failures = 1
  const batch = () => failures-- > 0 ? Promise.reject(loss) : undefined
  const { queue, commits } = testQueue({ batch, options: { local: false } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['done'])
  expect(commits).toEqual([['one'], ['one']])
})

test.each(losses)('a remote connection that stays %s is unavailable after two attempts', async (_, loss) => {
  const { queue, commits, faults } = testQueue({ batch: () => Promise.reject(loss), options: { local: false } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['unavailable'])
  expect(commits).toEqual([['one'], ['one']])
  expect(faults).toEqual([])
})

test.each([
  ['a local error', new LibsqlError('?', 'UNKNOWN'), true],
  ["a server's full disk", new LibsqlBatchError('full', 0, 'SQLITE_FULL'), false],
  ["a server's broken disk", new LibsqlBatchError('io', 0, 'SQLITE_IOERR'), false],
])('%s is not repeated and does not end the process', async (_, error, local) => {
  const { queue, commits, faults } = testQueue({ batch: () => Promise.reject(error), options: { local } })

  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['unavailable'])
  expect(commits).toEqual([['one']])
  expect(faults).toEqual([])
})

test('1,000 units may wait; one more is unavailable at once, and all others are stored', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('a', [unit('running')])
  await turn()

  const waiting = Array.from({ length: 1_000 }, (_, n) => queue.write('a', [unit(`${n}`)]))
  await expect(queue.write('b', [unit('over')])).rejects.toMatchObject({
    code: 'unavailable',
    details: { retryAfterSeconds: 1 },
  })
  held.open()

  expect(await settle([running, ...waiting])).toEqual(Array(1_001).fill('done'))
  expect(commits.slice(1).flat()).toEqual(Array.from({ length: 1_000 }, (_, n) => `${n}`))
  expect(Math.max(...commits.map((commit) => commit.length))).toBe(128)
})

test.each([[2_000, 'done'], [2_001, 'unavailable']])(
  'a unit that has waited for %i ms is %s at its turn',
  async (ms, answer) => {
    const held = hold()
    const { queue, clock, commits } = testQueue({ batch: () => held.opened })
    const running = queue.write('a', [unit('running')])
    await turn()

    const late = settle([queue.write('a', [unit('late')])])
    clock.now += ms
    const fresh = queue.write('b', [unit('fresh')])
    held.open()

    expect(await late).toEqual([answer])
    expect(await settle([running, fresh])).toEqual(['done', 'done'])
    expect(commits.flat().includes('late')).toBe(answer === 'done')
  },
)

test('a unit behind a commit that hangs is refused in time', async () => {
  const held = hold()
  const { queue, clock } = testQueue({ batch: () => held.opened })
  const running = queue.write('a', [unit('running')])
  await turn()

  const late = settle([queue.write('a', [unit('late')])])
  clock.now += 2_001

  expect(await late).toEqual(['unavailable'])
  held.open()
  expect(await settle([running])).toEqual(['done'])
})

test('accounts share a group fairly: a busy one does not delay the others', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('x', [unit('x')])
  await turn()

  const busy = Array.from({ length: 300 }, (_, n) => queue.write('busy', [unit(`busy ${n}`)]))
  const calm = ['calm 1', 'calm 2'].map((name) => queue.write(name, [unit(name)]))
  held.open()
  await Promise.all([running, ...busy, ...calm])

  expect(commits[1].slice(0, 4)).toEqual(['busy 0', 'calm 1', 'calm 2', 'busy 1'])
})

test('accounts take turns over groups too: four that fill each group do not starve the fifth', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('x', [unit('x')])
  await turn()

  const posts = ['a', 'b', 'c', 'd', 'e'].flatMap((lane) =>
    Array.from({ length: 5 }, (_, n) => queue.write(lane, [{ ...unit(`${lane}${n}`), rows: 500 }]))
  )
  held.open()
  await Promise.all([running, ...posts])

  expect(commits.slice(1, 4)).toEqual([['a0', 'b0', 'c0', 'd0'], ['e0', 'a1', 'b1', 'c1'], ['d1', 'e1', 'a2', 'b2']])
})

test('a group closes at about 2,000 rows; a unit larger than that runs alone', async () => {
  const { queue, commits } = testQueue()

  await Promise.all([
    queue.write('a', [{ ...unit('a'), rows: 1_999 }]),
    queue.write('b', [{ ...unit('b'), rows: 1 }]),
    queue.write('c', [{ ...unit('c'), rows: 9_000 }]),
    queue.write('d', [unit('d')]),
  ])

  expect(commits).toEqual([['a', 'b'], ['c'], ['d']])
})

test('drained() resolves when nothing waits and nothing runs', async () => {
  const held = hold()
  const { queue } = testQueue({ batch: () => held.opened })
  await queue.drained()

  const writes = [queue.write('a', [unit('one')]), queue.write('a', [unit('two')])]
  const drained = queue.drained()
  expect(await isSettled(drained)).toBe(false)
  held.open()

  await Promise.all([...writes, drained])
})

test('an ended queue takes no further units, and reports no storage fault', async () => {
  const { queue, commits } = testQueue()

  const last = queue.write('a', [unit('last')])
  await queue.end()
  await last

  await expect(queue.write('a', [unit('late')])).rejects.toMatchObject({ code: 'unavailable' })
  expect(commits).toEqual([['last']])
})

test('a statement that the inspector refuses is not queued', () => {
  const { queue, commits } = testQueue({
    options: {
      inspect: (sql) => {
        if (sql === 'bad') throw new Error('refused')
      },
    },
  })

  expect(() => queue.write('a', [unit('good'), unit('bad')])).toThrow('refused')
  expect(commits).toEqual([])
})

test('a deferred unit joins the next commit, at its front, and has none of its own', async () => {
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

test('drained() commits deferred units', async () => {
  const { queue, commits } = testQueue()

  queue.writeLater([unit('late')])
  await queue.drained()

  expect(commits).toEqual([['late']])
})

test('a deferred unit that fails is logged and affects no other, and the other deferred units run together', async () => {
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

test('a unit that fails does not lose the deferred units of its group', async () => {
  const { queue, commits } = testQueue({ batch: (sqls) => failOn('bad', constraint, sqls) })

  queue.writeLater([unit('late')])
  const answers = await settle([queue.write('a', [unit('bad')])])

  expect(answers).toEqual(['write_conflict'])
  expect(commits).toEqual([['late', 'bad'], ['bad'], ['late']])
})

test('a deferred unit that a full disk refuses is tried again, until the end', async () => {
  let isFull = true
  const full = new LibsqlBatchError('full', 0, 'SQLITE_FULL')
  const { queue, commits, logs } = testQueue({ batch: () => isFull ? Promise.reject(full) : undefined })

  queue.writeLater([unit('late')])
  expect(await settle([queue.write('a', [unit('one')])])).toEqual(['unavailable'])
  isFull = false
  await queue.write('a', [unit('two')])
  expect(commits).toEqual([['late', 'one'], ['late', 'two']])

  isFull = true
  queue.writeLater([unit('never')])
  await queue.drained()
  expect(logs.at(-1)).toContain('A deferred write failed')
})

test('10,000 deferred units may wait; beyond that the oldest is dropped and that is logged', async () => {
  const { queue, commits, logs } = testQueue()

  for (let n = 0; n <= 10_000; n++) queue.writeLater([unit(`${n}`)])
  await queue.drained()

  expect(commits.flat()).toHaveLength(10_000)
  expect(commits[0][0]).toBe('1')
  expect(Math.max(...commits.map((commit) => commit.length))).toBe(256)
  expect(logs).toHaveLength(1)
})

const constraint = new LibsqlBatchError('UNIQUE constraint failed', 0, 'SQLITE_CONSTRAINT', 'SQLITE_CONSTRAINT_UNIQUE')

/** A queue with a client that records each commit; `batch` may hold or fail it. */
function testQueue({ batch, options }: {
  batch?: (sqls: string[]) => Promise<unknown> | undefined
  options?: Partial<QueueOptions>
} = {}) {
  const clock = { now: 0 }
  const commits: string[][] = []
  const faults: unknown[] = []
  const logs: string[] = []
  const queue = new WriteQueue({
    client: {
      async batch(statements, mode) {
        expect(mode).toBe('write')
        const sqls = statements.map((statement) => (statement as { sql: string }).sql)
        commits.push(sqls)
        await batch?.(sqls)
        return sqls.map((sql) => ({ rows: [{ ran: sql }] }) as unknown as ResultSet)
      },
    },
    log: createLog('warn', (line) => logs.push(line)),
    now: () => clock.now,
    local: true,
    inspect: () => {},
    onStorageFault: (error) => faults.push(error),
    checkConnection: () => Promise.resolve(),
    ...options,
  })
  return { queue, clock, commits, faults, logs }
}

function unit(sql: string) {
  return { sql, args: [] }
}

function failOn(name: string, error: Error, sqls: string[]): Promise<unknown> {
  return sqls.includes(name) ? Promise.reject(error) : Promise.resolve()
}

/** A promise that stays pending until `open` is called. */
function hold() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { opened, open: () => open() }
}

function settle(promises: Promise<unknown>[]): Promise<string[]> {
  return Promise.all(promises.map((promise) => promise.then(() => 'done', (error) => error.code ?? String(error))))
}
