/** The lines of an archive, from a copy of the database. See docs/protocol/archive.md. */
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runOnThread } from '../../lib/run-on-thread.ts'
import { linesOf } from '../../lib/signed-lines.ts'
import { temporaryFolder } from '../backup/files.ts'
import { localPath, workFolderOf } from '../driver/local-file.ts'
import { type ArchiveInput, writeArchiveRows } from './write-rows.ts'

export interface ArchiveOptions extends Pick<ArchiveInput, 'account' | 'reader' | 'madeAt'> {
  databaseUrl: string
  copyTo(path: string): Promise<void>
}

/** The lines without a signature. What is made for them next to the database is removed with the last one. */
export async function* archiveLines(
  { databaseUrl, copyTo, account, reader, madeAt }: ArchiveOptions,
): AsyncIterable<string> {
  const path = localPath(databaseUrl)
  const folder = await mkdtemp(path === undefined ? await temporaryFolder('copy', madeAt) : workFolderOf(path))
  try {
    const [copy, target] = [join(folder, 'grid.db'), join(folder, 'archive')]
    await copyTo(copy)
    yield* linesOfCopy({ copy, target, account, reader, madeAt })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The same from a copy that was made already. The caller removes `copy` and `target`. */
export async function* linesOfCopy(input: ArchiveInput): AsyncIterable<string> {
  await runOnThread('writeArchiveRows', writeArchiveRows, input)
  yield* linesOf(createReadStream(input.target))
}
