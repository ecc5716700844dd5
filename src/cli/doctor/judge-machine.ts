/** What the facts of the machine mean. */
import { basename } from 'node:path'
import type { Config } from '../../config.ts'
import type { MachineFacts } from './machine.ts'
import { broken, type Finding, megabytes, ok, skipped, warning } from './report.ts'

type Kind = 'local' | 'network' | 'memory' | 'overlay' | 'fuse'

/** `f_type` of statfs(2). */
const fileSystems: Record<number, readonly [name: string, kind: Kind]> = {
  0xef53: ['ext4', 'local'],
  0x58465342: ['XFS', 'local'],
  0x9123683e: ['Btrfs', 'local'],
  0x2fc12fc1: ['ZFS', 'local'],
  0xf2f52010: ['F2FS', 'local'],
  0xca451a4e: ['bcachefs', 'local'],
  0x6969: ['NFS', 'network'],
  0x517b: ['SMB', 'network'],
  0xff534d42: ['SMB', 'network'],
  0xfe534d42: ['SMB', 'network'],
  0x5346414f: ['AFS', 'network'],
  0x00c36400: ['Ceph', 'network'],
  0x0bd00bd0: ['Lustre', 'network'],
  0x01161970: ['GFS2', 'network'],
  0x7461636f: ['OCFS2', 'network'],
  0x01021997: ['9P', 'network'],
  0x786f4256: ['a VirtualBox share', 'network'],
  0xbacbacbc: ['a VMware share', 'network'],
  0x65735546: ['FUSE', 'fuse'],
  0x01021994: ['tmpfs', 'memory'],
  0x858458f6: ['ramfs', 'memory'],
  0x794c7630: ['overlay', 'overlay'],
}

/** No disk is this fast: then a program or a layer below answers without writing. */
const tooFastMs = 0.01
const slowMs = 50
const megabyte = 2 ** 20

export function judgeMachine(facts: MachineFacts, config: Config): Finding[] {
  return [
    judgeFileSystem(facts),
    judgeSpace(facts, config),
    ...judgePermissions(facts),
    ...judgeFsync(facts, config),
  ]
}

function judgeFileSystem({ fileSystemType, folder: { path } }: MachineFacts): Finding {
  const [name, kind] = fileSystems[fileSystemType ?? 0] ?? ['a file system that the doctor does not know', 'local']
  const found = `${path} is on ${name}.`
  const elsewhere =
    'Move the folder to a local disk, and set DATABASE_URL to it; several processes share a libsql-server.'
  switch (kind) {
    case 'local':
      return ok('file_system', found)
    case 'network':
      return broken('file_system', `${found} Its locks cannot be relied on, and messages may be lost.`, elsewhere)
    case 'fuse':
      return warning('file_system', `${found} It may be on the network, where locks cannot be relied on.`, elsewhere)
    case 'memory':
      return broken('file_system', `${found} Everything is lost when the machine stops.`, elsewhere)
    case 'overlay':
      return warning(
        'file_system',
        `${found} It is the layer of a container, and goes with it.`,
        'Mount a volume for the folder of the database.',
      )
  }
}

function judgeSpace({ space }: MachineFacts, config: Config): Finding {
  if (!space) return skipped('disk_space', 'The system does not tell how much space is free.')
  const mark = Math.min(config.minFreeMegabytes * megabyte, space.total / 10)
  const found = `${megabytes(space.free)} MB of ${megabytes(space.total)} MB are free.`
  const free = 'Free some space on the disk of the database.'
  if (space.free < mark) {
    return broken('disk_space', `${found} Below ${megabytes(mark)} MB nothing new is stored.`, free)
  }
  if (space.free < 2 * mark) {
    return warning('disk_space', `${found} Below ${megabytes(mark)} MB nothing new is stored.`, free)
  }
  return ok('disk_space', found)
}

function judgePermissions({ folder, files, uid }: MachineFacts): Finding[] {
  const closed = [folder, ...files].filter(({ isAccessible }) => !isAccessible)
  if (closed.length > 0) {
    return [broken(
      'permissions',
      `This user cannot read and write ${closed[0].path}.`,
      'Run the doctor as the user of the grid, or give the folder and its files to that user.',
    )]
  }
  const findings: Finding[] = []
  const foreign = files.find((file) => uid !== undefined && file.uid !== uid)
  if (foreign) {
    findings.push(warning(
      'permissions',
      `${foreign.path} belongs to user ${foreign.uid}, and the doctor runs as ${uid}.`,
      'Run every command as the user of the grid, or give the files to that user.',
    ))
  }
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0)
  if (open.length > 0) {
    const names = open.map(({ path }) => basename(path)).join(', ')
    findings.push(warning(
      'permissions',
      `Other users of this machine can read ${names}.`,
      `chmod 600 ${open.map(({ path }) => path).join(' ')}`,
    ))
  }
  if ((folder.mode & 0o022) !== 0) {
    findings.push(
      warning('permissions', `Other users can replace files in ${folder.path}.`, `chmod 700 ${folder.path}`),
    )
  }
  return findings.length > 0 ? findings : [ok('permissions', 'Only the user of the grid can read its files.')]
}

function judgeFsync({ fsyncMs, folder: { path } }: MachineFacts, { durability }: Config): Finding[] {
  if (durability === 'relaxed') {
    return [warning(
      'durability',
      'DURABILITY is relaxed: a power failure may lose the last acknowledged messages.',
      'Set DURABILITY=full, unless you mean it.',
    )]
  }
  if (fsyncMs === undefined) {
    return [skipped('durability', `Nothing can be written to ${path}, so no fsync was measured.`)]
  }
  const found = `An fsync takes ${fsyncMs.toFixed(fsyncMs < 1 ? 2 : 0)} ms.`
  if (fsyncMs < tooFastMs) {
    return [warning(
      'durability',
      `${found} No disk is that fast: something answers without writing.`,
      'Look for eatmydata, a disk in memory, or a virtual disk that ignores flushes.',
    )]
  }
  if (fsyncMs > slowMs) {
    return [warning(
      'durability',
      `${found} Every send waits for one.`,
      'Use a faster disk, or find what else writes to this one.',
    )]
  }
  return [ok('durability', `Each commit is on disk before it is acknowledged. ${found}`)]
}
