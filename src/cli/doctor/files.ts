import { closeSync, fsyncSync, openSync, readdirSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import type { Config } from '../../config.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { broken, type Finding, ok, skipped, warning } from './finding.ts'

/** Checks that an existing database file, and the files next to it, are accessible only to this user. */
export function checkFiles(path: string): Finding[] {
  const folder = dirname(path)
  const files = readdirSync(folder).filter((name) => name.startsWith(basename(path))).map((name) => join(folder, name))
  const closed = files.find((file) => !canOpen(file))
  if (closed !== undefined) {
    return [broken(
      'files',
      `This user cannot read and write ${closed}.`,
      'Run every command as the user of the grid, or make that user the owner of the folder and its files.',
    )]
  }
  const findings: Finding[] = []
  const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0)
  if (open.length > 0) {
    const names = open.map((file) => basename(file)).join(', ')
    findings.push(warning('files', `Other users of this machine can read ${names}.`, `chmod 600 ${open.join(' ')}`))
  }
  if ((statSync(folder).mode & 0o022) !== 0) {
    findings.push(warning('files', `Other users can replace files in ${folder}.`, `chmod 700 ${folder}`))
  }
  return findings.length > 0 ? findings : [ok('files', 'Only the user of the grid can read its files.')]
}

/** Must not run while this process has the database open, because closing a file drops the process's locks on it. */
function canOpen(path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'))
    return true
  } catch {
    return false
  }
}

/** File system types, as in `f_type` of statfs(2). */
const networks = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x00c36400, 0x0bd00bd0, 0x65735546])
const memories = new Set([0x01021994, 0x858458f6])
const containerLayer = 0x794c7630

/** Checks whether a database file's disk is suitable and has enough free space. */
export function checkDisk(path: string, config: Config): Finding[] {
  const folder = dirname(path)
  try {
    return judgeDisk(folder, statfsSync(folder), config)
  } catch {
    return [
      warning('disk', 'The system does not report how much space is free.', 'Monitor the disk space yourself.'),
    ]
  }
}

export function judgeDisk(
  folder: string,
  { type, bavail, blocks, bsize }: { type: number; bavail: number; blocks: number; bsize: number },
  { minFreeMegabytes }: Config,
): Finding[] {
  const findings: Finding[] = []
  if (networks.has(type >>> 0)) {
    findings.push(broken(
      'disk',
      `${folder} is on a network file system. Its locks are unreliable, so messages may be lost.`,
      'Move the folder to a local disk. If several processes need the database, use libsql-server.',
    ))
  }
  if (memories.has(type >>> 0)) {
    findings.push(
      broken(
        'disk',
        `${folder} is in memory, and is lost when the machine restarts.`,
        'Move the folder to a local disk.',
      ),
    )
  }
  if (type >>> 0 === containerLayer) {
    findings.push(
      warning(
        'disk',
        `${folder} is in a container's writable layer, and is lost when the container is removed.`,
        'Mount a volume there.',
      ),
    )
  }
  const [free, total] = [bavail * bsize, blocks * bsize]
  const mark = Math.min(minFreeMegabytes * 2 ** 20, total / 10)
  const found = `${megabytes(free)} MB of ${megabytes(total)} MB are free.`
  const space = `${found} Below ${megabytes(mark)} MB nothing new is stored.`
  if (free < mark) findings.push(broken('disk', space, 'Free some space on the disk of the database.'))
  else if (free < 2 * mark) findings.push(warning('disk', space, 'Free some space on the disk of the database.'))
  return findings.length > 0 ? findings : [ok('disk', found)]
}

/** Megabytes, rounded up. */
function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}

const fsyncs = 15
/** No disk syncs faster than this. A shorter time means that something acknowledges syncs without writing. */
const tooFastMs = 0.01
const slowMs = 50

/** Checks whether acknowledged messages are on disk. `writeMode` is null for a remote database. */
export function checkDurability(
  { durability }: Config,
  path: string | undefined,
  { writeMode }: Pick<DatabaseHealth, 'writeMode'>,
): Finding {
  if (path === undefined || writeMode === null) {
    return skipped(
      'durability',
      'The database server decides when data is on disk.',
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
      'Set DURABILITY=full, unless this is intended.',
    )
  }
  const ms = measureFsync(dirname(path))
  return ms === undefined ? skipped('durability', 'Nothing can be written next to the database.') : judgeFsync(ms)
}

export function judgeFsync(ms: number): Finding {
  const found = `An fsync takes ${ms.toFixed(ms < 1 ? 2 : 0)} ms.`
  if (ms < tooFastMs) {
    return warning(
      'durability',
      `${found} No disk is that fast: something acknowledges without writing.`,
      'Look for eatmydata, a disk in memory, or a virtual disk that ignores flushes.',
    )
  }
  if (ms > slowMs) {
    return warning(
      'durability',
      `${found} Every send waits for an fsync.`,
      'Use a faster disk, or find out what else writes to this disk.',
    )
  }
  return ok('durability', `Each commit is on disk before it is acknowledged. ${found}`)
}

/** The time to fsync one small file, in ms. It is a median, because other programs also use the disk. */
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
    // The disk is full, or the folder belongs to another user. Other checks report both.
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
    rmSync(path, { force: true })
  }
}
