/** The lines of an archive, from a copy of the database. See docs/protocol/archive.md. */
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
 * The lines without a signature, of the state of one commit. While they are read, the archive alone takes space, until its
 * end or this process's. Reading them fails as `copyTo` of the store does.
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

/** The same from a copy that was made already, which is removed. If it fails, the caller removes `copy` and `target`. */
export async function* linesOfCopy(input: ArchiveInput): AsyncIterable<string> {
  await runOnThread('writeArchiveRows', writeArchiveRows, input)
  // A client that stops to read must not keep a copy of the whole database, and none a file with a name.
  await rm(input.copy)
  const file = await open(input.target)
  await rm(input.target)
  yield* linesOf(file.createReadStream())
}
