/** Fills an empty database of any kind. */
import type { Client } from '@libsql/client'
import { existsSync, rmSync } from 'node:fs'
import { lockFile } from '../driver/file-lock.ts'
import { connect } from '../driver/remote-client.ts'
import { copyingFile, localPath } from '../driver/local-file.ts'
import { type Snapshot, snapshotOf } from '../driver/snapshot.ts'
import { StartError } from '../start-error.ts'
import { type Content, contentOf, difference, withDatabase } from './local-copy.ts'
import { copySnapshot } from './copier.ts'
import { putNew, requireNoLog, sync } from './files.ts'
import { copyTables, finishCopy } from './tables.ts'

export interface DatabaseAddress {
  url: string
  authToken?: string
}

/** Copies a snapshot's content into an empty database, and compares the two. Resolves to the copied content. */
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
      await finishCopy(client)
    } finally {
      client.close()
    }
  } else {
    if (existsSync(path)) throw notEmpty(path)
    requireNoLog(path)
    const lock = await lockFile(path)
    const unfinished = copyingFile(path)
    rmSync(unfinished, { force: true })
    try {
      await copySnapshot(() => Promise.resolve(snapshot), unfinished, { onTable })
      await withDatabase(unfinished, compare)
      await sync(unfinished)
      await putNew(path, unfinished)
    } finally {
      rmSync(unfinished, { force: true })
      await lock.release()
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
