/** Putting finished files into their places. */
import { existsSync, linkSync, renameSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { databaseInUse } from '../driver/local-file.ts'

/** Give the file its name, if nobody has made another one meanwhile. */
export async function putNew(path: string, file: string): Promise<void> {
  try {
    linkSync(file, path)
  } catch (error) {
    if (existsSync(path)) throw databaseInUse(path)
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    renameSync(file, path)
  }
  await sync(dirname(path)).catch(() => {})
}

/** Sync a file, or the names in a folder. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+').catch(() => open(path, 'r'))
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
