import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Config } from '../../config.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { broken, type Finding, ok, skipped, warning } from './finding.ts'

const fsyncs = 15
/** No disk is this fast: then a program or a layer below answers without writing. */
const tooFastMs = 0.01
const slowMs = 50

/** Whether acknowledged messages are on disk. `writeMode` is null for a remote database. */
export function checkDurability(
  { durability }: Config,
  path: string | undefined,
  { writeMode }: Pick<DatabaseHealth, 'writeMode'>,
): Finding {
  if (path === undefined || writeMode === null) {
    return skipped(
      'durability',
      'The database server decides what is on disk.',
      'A libsql-server must be set to durability_mode "strong".',
    )
  }
  const { journal, synchronous } = writeMode
  if (journal !== 'wal' || synchronous !== (durability === 'full' ? 2 : 1)) {
    return broken(
      'durability',
      `The database runs with journal_mode ${journal} and synchronous ${synchronous}.`,
      'Restart the grid; it sets them again.',
    )
  }
  if (durability === 'relaxed') {
    return warning(
      'durability',
      'DURABILITY is relaxed: a power failure may lose the last acknowledged messages.',
      'Set DURABILITY=full, unless you mean it.',
    )
  }
  const ms = measureFsync(dirname(path))
  return ms === undefined ? skipped('durability', 'Nothing can be written beside the database.') : judgeFsync(ms)
}

/** What the median time of an fsync means. */
export function judgeFsync(ms: number): Finding {
  const found = `An fsync takes ${ms.toFixed(ms < 1 ? 2 : 0)} ms.`
  if (ms < tooFastMs) {
    return warning(
      'durability',
      `${found} No disk is that fast: something answers without writing.`,
      'Look for eatmydata, a disk in memory, or a virtual disk that ignores flushes.',
    )
  }
  if (ms > slowMs) {
    return warning(
      'durability',
      `${found} Every send waits for one.`,
      'Use a faster disk, or find what else writes to this one.',
    )
  }
  return ok('durability', `Each commit is on disk before it is acknowledged. ${found}`)
}

/** The median, because other programs use the disk too. Writes and removes one small file. */
function measureFsync(folder: string): number | undefined {
  const path = join(folder, `.doctor-${process.pid}`)
  let file: number | undefined
  try {
    file = openSync(path, 'wx', 0o600)
    const page = new Uint8Array(4_096).fill(1)
    const times = Array.from({ length: fsyncs }, () => {
      writeSync(file!, page)
      const startedAt = performance.now()
      fsyncSync(file!)
      return performance.now() - startedAt
    })
    return times.sort((a, b) => a - b)[Math.floor(fsyncs / 2)]
  } catch {
    // The disk is full, or the folder belongs to another user: other checks say so.
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
    rmSync(path, { force: true })
  }
}
