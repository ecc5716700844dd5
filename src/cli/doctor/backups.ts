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

const units: Record<string, number> = { m: minute, h: hour }

/** Undefined if no folder is set; null if there is no backup in it. */
export function newestBackup(env: Record<string, string | undefined>): NewestBackup | null | undefined {
  const folder = env.BACKUP_DIR
  if (!folder) return undefined
  const [, count, unit] = env.BACKUP_EVERY?.match(/^(\d+)([mh])$/) ?? []
  const everyMs = count === undefined ? day : Number(count) * units[unit]
  const [newest] = namesIn(folder).filter((name) => name.endsWith('.backup'))
    .map((name) => ({ file: join(folder, name), at: statSync(join(folder, name)).mtimeMs }))
    .toSorted((a, b) => b.at - a.at)
  return newest === undefined ? null : { ...newest, everyMs }
}

/** Nothing if the folder cannot be read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
