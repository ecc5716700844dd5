/** A local database file in its own folder, and functions with which tests write to the file and read from it. */
import { type Client, createClient } from '@libsql/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { connect } from '../../src/store/driver/remote-client.ts'
import type { DatabaseOptions } from '../../src/store/open-database.ts'
import { openStore, type Store } from '../../src/store/store.ts'

export type LocalFile = ReturnType<typeof localFile>

/** Creates a folder. `open` creates the file in it. `close` closes everything in `closing` and removes the folder. */
export function localFile() {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-file-'))
  const closing: (() => unknown)[] = []
  const file = { folder, path: join(folder, 'data', 'grid.db'), closing, open, facts, close }
  return file

  /** Opens the file. `onLook` is called each time the clock is read, for example after an attempt to take the lock. */
  async function open(
    env: Record<string, string> = {},
    options: DatabaseOptions = {},
    onLook = () => {},
  ) {
    let client!: Client
    const config = readConfig({ DATABASE_URL: `file:${file.path}`, ...env })
    const now = () => {
      onLook()
      return Date.now()
    }
    const store = await openStore({ ...processDeps(config), log: createLog('error', () => {}), now }, {
      connect: (settings) => client = connect(settings),
      ...options,
    })
    closing.push(() => client.closed || store.close())
    return { store, client }
  }

  /** Returns the keys in the file, read over a new connection. */
  async function facts(): Promise<string[]> {
    const client = createClient({ url: `file:${file.path}` })
    const { rows } = await client.execute('SELECT key FROM store_facts')
    client.close()
    return rows.map(({ key }) => String(key))
  }

  async function close(): Promise<void> {
    for (const close of closing.reverse()) await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function putFact(store: Store, key: string) {
  return store.write([{ sql: "INSERT INTO store_facts (key, value) VALUES (?, '')", args: [key] }])
}

export async function pragmas(client: Client) {
  const names = [
    ...['journal_mode', 'synchronous', 'foreign_keys'],
    ...['cache_size', 'wal_autocheckpoint', 'journal_size_limit'],
  ]
  const values = await Promise.all(names.map(async (name) => (await client.execute(`PRAGMA ${name}`)).rows[0][name]))
  return Object.fromEntries(names.map((name, i) => [name, values[i]]))
}
