/** A small separate disk, which is an in-memory file system. Only root may mount it. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  folder: string
  /** Fills the disk until `freeBytes` are left. */
  fill(freeBytes: number): void
  /** Removes the file that fills the disk. */
  clear(): void
  remove(): void
}

/** Mounts a disk of `megabytes`. Returns undefined if this user lacks the permission. */
export function smallDisk(megabytes: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'agent-grid', folder])
  if (status !== 0) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill(freeBytes) {
      const file = openSync(filler, 'a')
      try {
        for (;;) {
          const { bavail, bsize } = statfsSync(folder)
          const excess = bavail * bsize - freeBytes
          if (excess <= 0) return
          writeSync(file, new Uint8Array(Math.min(excess, 2 ** 20)))
        }
      } finally {
        closeSync(file)
      }
    },
    clear: () => rmSync(filler, { force: true }),
    remove() {
      spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
