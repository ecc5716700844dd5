/** A write queue with a client whose commits can be held and failed. */
import { LibsqlBatchError, type ResultSet } from '@libsql/client'
import { expect } from 'vitest'
import { createLog } from '../../src/log.ts'
import { maxGatherTurns, type QueueOptions, WriteQueue } from '../../src/store/queue.ts'
import { turn } from './wait-for.ts'

/** The error of a statement that breaks a constraint. */
export const constraint = new LibsqlBatchError(
  'UNIQUE constraint failed',
  0,
  'SQLITE_CONSTRAINT',
  'SQLITE_CONSTRAINT_UNIQUE',
)

/** A queue with a client that records each commit; `batch` may hold or fail it. */
export function testQueue({ batch, options }: {
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
    storage: { isFull: false, hasRoomFor: () => true, full() {}, recover() {} },
    inspect: () => {},
    onStorageFault: (error) => faults.push(error),
    ...options,
  })
  return { queue, clock, commits, faults, logs }
}

/** A unit of one statement. */
export function unit(sql: string) {
  return { sql, args: [] }
}

/** Fail the commits that contain the statement `name`. */
export function failOn(name: string, error: Error, sqls: string[]): Promise<unknown> {
  return sqls.includes(name) ? Promise.reject(error) : Promise.resolve()
}

/** A promise that stays pending until `open` is called. */
export function hold() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { opened, open: () => open() }
}

/** `done`, or the code of the error, for each promise. */
export function settle(promises: Promise<unknown>[]): Promise<string[]> {
  return Promise.all(promises.map((promise) => promise.then(() => 'done', (error) => error.code ?? String(error))))
}

/** Resolves when the queue commits what it was given before. */
export async function gathered(): Promise<void> {
  for (let n = 0; n <= maxGatherTurns; n++) await turn()
}
