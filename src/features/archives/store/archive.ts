/** Reads an archive's lines from a copy of the database. See docs/protocol/archive.md. */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runOnThread } from '../../../lib/run-on-thread.ts'
import { linesOf } from '../signed-lines.ts'
import { temporaryFolder } from '../../../store/backup/files.ts'
import { localPath, workFolderOf } from '../../../store/driver/local-file.ts'
import type { Store } from '../../../store/store.ts'
import { type ArchiveInput, writeArchiveRows } from './write-rows.ts'

type ArchiveOptions = Pick<ArchiveInput, 'account' | 'reader' | 'madeAt'>

/**
 * Yields the unsigned lines, as of one commit. Once the first line is yielded, only the archive takes disk space, until
 * the lines end or the process exits. Reading fails like the store's `copyTo`.
 */
export async function* archiveLines({ deps: { config }, copyTo }: Store, input: ArchiveOptions): AsyncIterable<string> {
  const path = localPath(config.databaseUrl)
  const folder = await mkdtemp(path === undefined ? await temporaryFolder('copy', input.madeAt) : workFolderOf(path))
  try {
    const [copy, target] = [join(folder, 'grid.db'), join(folder, 'archive')]
    await copyTo(copy)
    yield* linesOfCopy({ copy, target, ...input, minFreeBytes: config.minFreeMegabytes * 2 ** 20 })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Yields the unsigned lines from a database copy, which it removes. On failure, the caller removes both files. */
export async function* linesOfCopy(input: ArchiveInput): AsyncIterable<string> {
  await runOnThread('writeArchiveRows', writeArchiveRows, input)
  // The files are unlinked immediately, so that a client that stops reading cannot leave a copy of the database behind.
  await rm(input.copy)
  const file = await open(input.target)
  await rm(input.target)
  yield* linesOf(file.createReadStream())
}
