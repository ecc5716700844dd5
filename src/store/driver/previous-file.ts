/** A copy of a local file before a migration. */
import type { Client } from '@libsql/client'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sync } from '../backup/files.ts'
import { isStorageFull } from '../../errors.ts'
import { StartError } from '../start-error.ts'
import { isFull } from './database-errors.ts'
import { bytesOf, createFile, unusedBytes } from './local-file.ts'

function previousFile(path: string, version: number): string {
  return `${path}.schema-${version}`
}

function previousFiles(path: string): string[] {
  const prefix = `${basename(path)}.schema-`
  const versionOf = (name: string) => Number(name.slice(prefix.length))
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .sort((a, b) => versionOf(a) - versionOf(b))
    .map((name) => join(dirname(path), name))
}

/** Removes the copies next to a file. Returns the removed files. */
export function removePreviousFiles(path: string): string[] {
  const files = previousFiles(path)
  for (const file of files) rmSync(file, { force: true })
  return files
}

/**
 * Copies the locked file, whose schema has this version. The database itself writes the copy, because another reader of
 * the file in this process would drop its lock. Resolves once the copy is on disk. Fails with `disk_full` if there is
 * no space. `requireSpace` checks this before anything is written.
 */
export async function keepPreviousFile(
  client: Client,
  path: string,
  version: number,
  requireSpace: (bytes: number) => Promise<void>,
): Promise<string> {
  const file = previousFile(path, version)
  const unfinished = `${file}.new`
  try {
    rmSync(unfinished, { force: true })
    await requireSpace(bytesOf(path) - await unusedBytes(client))
    // The copy is created before the database opens it, so that only its owner may read it.
    createFile(unfinished)
    await client.execute({ sql: 'VACUUM INTO ?', args: [unfinished] })
    await sync(unfinished)
    renameSync(unfinished, file)
    // Windows cannot open a folder, and does not need to sync one.
    await sync(dirname(path)).catch(() => {})
  } catch (error) {
    rmSync(unfinished, { force: true })
    if (!isFull(error) && !isStorageFull(error)) throw error
    throw new StartError(
      'disk_full',
      `The database ${path} has to be migrated, and a copy of it is kept until that has worked. The disk has no space ` +
        'for the copy. Free some space, and start again. If it is backed up, "agent-grid migrate --no-backup" makes none.',
      error,
    )
  }
  return file
}
