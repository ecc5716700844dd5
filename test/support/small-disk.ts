/** A small disk of its own: a file system in memory. Only root may mount one. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  folder: string
  /** Fill it until `freeBytes` are left. */
  fill(freeBytes: number): void
  /** Remove what filled it. */
  clear(): void
  remove(): void
}

/** Mount a disk of `megabytes`; undefined if this user may not. */
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
