/** Filling an empty database of any kind. */
import type { Client } from '@libsql/client'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { connect } from '../driver/local-client.ts'
import { localPath } from '../driver/local-file.ts'
import { type Snapshot, snapshotOf } from '../driver/snapshot.ts'
import { StartError } from '../start-error.ts'
import { withDatabase } from './copied-database.ts'
import { copySnapshot } from './copier.ts'
import { putNew, sync } from './files.ts'
import { type Content, contentOf, difference } from './inspect.ts'
import { copyTables } from './tables.ts'

/** A database, as the settings name it. */
export interface DatabaseAddress {
  url: string
  authToken?: string
}

/** Copy what a snapshot shows into an empty database, and compare. Resolves to what was copied. */
export async function fill(
  snapshot: Snapshot,
  to: DatabaseAddress,
  onTable: (table: string, rows: number) => void = () => {},
): Promise<Content> {
  const expected = await contentOf(snapshot)
  const path = localPath(to.url)
  const compare = async (client: Client) => {
    const problem = difference(expected, await contentOf(snapshotOf(client)))
    if (problem) throw new Error(`The copy is not like its source: ${problem}`)
  }
  if (path === undefined) {
    const client = connect({ ...to, intMode: 'number' })
    try {
      const { rows } = await client.execute(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' LIMIT 1",
      )
      if (rows.length > 0) throw notEmpty(new URL(to.url).host)
      await copyTables(snapshot, client, onTable)
      await compare(client)
    } finally {
      client.close()
    }
  } else {
    // A log that was left of another file would be written into the new one.
    for (const file of [path, `${path}-wal`]) if (existsSync(file)) throw notEmpty(file)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const unfinished = `${path}.copying`
    rmSync(unfinished, { force: true })
    try {
      await copySnapshot(() => Promise.resolve(snapshot), unfinished, undefined, onTable)
      await withDatabase(unfinished, false, compare)
      await sync(unfinished)
      await putNew(path, unfinished)
    } finally {
      rmSync(unfinished, { force: true })
    }
  }
  return expected
}

function notEmpty(name: string): StartError {
  return new StartError(
    'database_not_empty',
    `${name} is not empty. A grid is copied or restored into an empty database only.`,
  )
}
