/** The newest scheduled backup. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { day, hour, minute } from '../../lib/time.ts'

export interface NewestBackup {
  file: string
  /** When it was written, and how often one is made, in milliseconds. */
  at: number
  everyMs: number
}

const units: Record<string, number> = { m: minute, h: hour, d: day }

/** Undefined if no folder is set; null if there is no backup in it. An unfinished one does not count. */
export function newestBackup(env: Record<string, string | undefined>): NewestBackup | null | undefined {
  const folder = env.BACKUP_DIR
  if (!folder) return undefined
  const [, count, unit] = env.BACKUP_EVERY?.match(/^(\d+)([mhd])$/) ?? []
  const everyMs = count === undefined ? day : Number(count) * units[unit]
  const files = namesIn(folder).filter((name) => !/^\.|\.(new|tmp|part)$/.test(name)).map((name) => join(folder, name))
  const backups = files.map((file) => ({ file, stats: statSync(file) })).filter(({ stats }) => stats.isFile())
  const [newest] = backups.toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs)
  return newest === undefined ? null : { file: newest.file, at: newest.stats.mtimeMs, everyMs }
}

/** Nothing if the folder cannot be read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
