/** The folder of scheduled backups. See docs/operations.md, "Scheduled backups". */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The name says when the backup was begun, in UTC. */
const namePattern = /^grid-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

export interface BackupInFolder {
  path: string
  at: number
}

/** The path of a backup that begins at `at`. Makes the folder. */
export async function pathInFolder(folder: string, at: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const time = new Date(at).toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
  return join(folder, `grid-${time}.backup`)
}

/** The scheduled backups in a folder, the newest first; none if there is no such folder. */
export async function backupsIn(folder: string): Promise<BackupInFolder[]> {
  const names = await readdir(folder).catch(() => [] as string[])
  return names.flatMap((name) => {
    const [, ...parts] = name.match(namePattern) ?? []
    if (parts.length === 0) return []
    const [year, month, ...rest] = parts.map(Number)
    return [{ path: join(folder, name), at: Date.UTC(year, month - 1, ...rest as [number, number, number, number]) }]
  }).sort((a, b) => b.at - a.at)
}

/** Remove all but the newest `keep` backups, but never the one at `made`, which an old clock may have named. */
export async function removeOldBackups(folder: string, keep: number, made: string): Promise<void> {
  for (const { path } of (await backupsIn(folder)).slice(keep)) {
    if (path !== made) await rm(path, { force: true })
  }
}

export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (/^grid-\d{8}T\d{6}Z\.backup\.[0-9a-f]{8}\.part$/.test(name)) await rm(join(folder, name), { force: true })
  }
}
