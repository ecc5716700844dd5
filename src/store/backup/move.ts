/** Moves a grid from one database to another. */
import type { Client } from '@libsql/client'
import { existsSync } from 'node:fs'
import { clearInterval, setInterval } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { GridError } from '../../errors.ts'
import { connect } from '../driver/remote-client.ts'
import { localPath } from '../driver/local-file.ts'
import { openSnapshot, type Snapshot, snapshotOf } from '../driver/snapshot.ts'
import { planMigration } from '../migrate.ts'
import { StartError } from '../start-error.ts'
import type { Content } from './local-copy.ts'
import { type DatabaseAddress, fill } from './fill.ts'
import { openStopped } from './stopped.ts'
import { copyingFact } from './tables.ts'

/** How long to wait for a heartbeat, which each process sends every 15 s. */
const heartbeatMs = 20_000
/** How long a remote source stays closed after the process that copies it was killed. */
const closedMs = 60_000

/**
 * Copies a whole grid into an empty database. The copy continues the grid's history, so cursors stay valid. During the
 * copy, a local source is locked, and a remote source refuses new processes. Fails with `database_in_use` while a
 * process of the grid uses the source, with `database_not_empty`, and with the `StartError` that a start on the source
 * would throw. Resolves to the copied content.
 */
export async function copyGrid(
  { from, to, now }: { from: DatabaseAddress; to: DatabaseAddress; now: () => number },
  onTable: (table: string, rows: number) => void,
): Promise<Content> {
  const source = await openSource(from, now)
  try {
    const content = await fill(source.snapshot, to, onTable)
    await source.requireUnserved()
    return content
  } finally {
    await source.close()
  }
}

interface Source {
  snapshot: Snapshot
  requireUnserved(): Promise<void>
  close(): Promise<void>
}

async function openSource(from: DatabaseAddress, now: () => number): Promise<Source> {
  const path = localPath(from.url)
  if (path !== undefined) {
    if (!existsSync(path)) throw new StartError('no_database', `There is no database at ${path}.`)
    const { client, close } = await openStopped(from)
    await planMigration(client, `The database ${path}`).catch(async (error) => {
      await close()
      throw error
    })
    return { snapshot: snapshotOf(client), requireUnserved: () => Promise.resolve(), close }
  }
  const client = connect({ ...from, intMode: 'number' })
  const { host } = new URL(from.url)
  const closed = await planMigration(client, `The database at ${host}`)
    .then(() => closeSource(client, host, now))
    .catch((error) => {
      client.close()
      throw error
    })
  const snapshot = await openSnapshot(from).catch(async (error) => {
    await closed.open()
    client.close()
    throw error
  })
  return {
    snapshot,
    requireUnserved: closed.requireUnserved,
    async close() {
      snapshot.close()
      await closed.open().finally(() => client.close())
    },
  }
}

/**
 * Refuses new processes of the grid on the database until `open` is called, or for a minute if this process is killed.
 */
async function closeSource(
  client: Client,
  host: string,
  now: () => number,
): Promise<{ open(): Promise<void>; requireUnserved(): Promise<void> }> {
  const write = (until: number) =>
    client.execute({
      sql: 'INSERT INTO store_facts (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      args: [copyingFact, String(until)],
    })
  const open = async () => {
    clearInterval(timer)
    await client.execute({ sql: 'DELETE FROM store_facts WHERE key = ?', args: [copyingFact] })
  }
  await write(now() + closedMs)
  const timer = setInterval(() => void write(now() + closedMs).catch(() => {}), closedMs / 4)
  const before = await heartbeatsOf(client)
  if (before.size > 0) await sleep(heartbeatMs)
  if (await isServed(client, before)) {
    await open()
    throw new GridError('database_in_use', `Processes of the grid run on ${host}. Stop them all first.`)
  }
  return {
    open,
    async requireUnserved() {
      if (!await isServed(client, before)) return
      throw new GridError(
        'database_in_use',
        `A process of the grid started on ${host} during the copy, so the copy may lack messages. Stop it, empty the ` +
          'copy, and run the command again.',
      )
    },
  }
}

async function heartbeatsOf(client: Client): Promise<Map<string, number>> {
  const { rows } = await client.execute('SELECT id, heartbeats FROM instances')
  return new Map(rows.map(({ id, heartbeats }) => [String(id), Number(heartbeats)]))
}

/** Whether a process of the grid has used the database since `before`: it started, or sent a heartbeat. */
async function isServed(client: Client, before: Map<string, number>): Promise<boolean> {
  return [...await heartbeatsOf(client)].some(([id, count]) => before.get(id) !== count)
}
