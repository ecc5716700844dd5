import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

/** `f_type` of statfs(2). */
const networks = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x00c36400, 0x0bd00bd0, 0x65735546])
const memories = new Set([0x01021994, 0x858458f6])
const containerLayer = 0x794c7630

/** Whether the disk of a database file is one for a database, and has space. */
export function checkDisk(path: string, config: Config): Finding[] {
  const folder = dirname(path)
  try {
    return judgeDisk(folder, statfsSync(folder), config)
  } catch {
    return [
      warning('disk', 'The system does not tell how much space is free.', 'Watch the space of the disk yourself.'),
    ]
  }
}

/** What statfs(2) of a folder means. */
export function judgeDisk(
  folder: string,
  { type, bavail, blocks, bsize }: { type: number; bavail: number; blocks: number; bsize: number },
  { minFreeMegabytes }: Config,
): Finding[] {
  const findings: Finding[] = []
  if (networks.has(type >>> 0)) {
    findings.push(broken(
      'disk',
      `${folder} is on a network file system. Its locks cannot be relied on, and messages may be lost.`,
      'Move the folder to a local disk; several processes share a libsql-server.',
    ))
  }
  if (memories.has(type >>> 0)) {
    findings.push(broken('disk', `${folder} is in memory, and goes with it.`, 'Move the folder to a local disk.'))
  }
  if (type >>> 0 === containerLayer) {
    findings.push(
      warning('disk', `${folder} is in the layer of a container, and goes with it.`, 'Mount a volume there.'),
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

/** Whole megabytes, at least 1 unless there is nothing. */
function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
