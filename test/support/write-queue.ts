/** A write queue whose client can delay commits and make them fail. */
import { LibsqlBatchError, type ResultSet } from '@libsql/client'
import { expect } from 'vitest'
import { createLog } from '../../src/log.ts'
import { maxGatherTurns, type QueueOptions, WriteQueue } from '../../src/store/queue.ts'
import { turn } from './wait-for.ts'

/** Creates the error of a statement that violates a constraint. */
export const constraint = new LibsqlBatchError(
  'UNIQUE constraint failed',
  0,
  'SQLITE_CONSTRAINT',
  'SQLITE_CONSTRAINT_UNIQUE',
)

/** Creates a queue with a client that records each commit. `batch` may delay a commit or make it fail. */
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

/** Returns a unit with one statement. */
export function unit(sql: string) {
  return { sql, args: [] }
}

/** Makes commits that contain the statement `name` fail. */
export function failOn(name: string, error: Error, sqls: string[]): Promise<unknown> {
  return sqls.includes(name) ? Promise.reject(error) : Promise.resolve()
}

/** Creates a promise that is pending until `open` is called. */
export function hold() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { opened, open: () => open() }
}

/** Resolves to a list with `done` or an error code for each promise. */
export function settle(promises: Promise<unknown>[]): Promise<string[]> {
  return Promise.all(promises.map((promise) => promise.then(() => 'done', (error) => error.code ?? String(error))))
}

/** Resolves after the queue has committed all units that it received before the call. */
export async function gathered(): Promise<void> {
  for (let n = 0; n <= maxGatherTurns; n++) await turn()
}
