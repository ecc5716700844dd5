import { afterEach, beforeEach } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from './process.ts'

/** A temporary database for each test of the file or group, removed after it. */
export function useDatabase(): TemporaryDatabase {
  const database = {} as TemporaryDatabase
  beforeEach(() => void Object.assign(database, temporaryDatabase()))
  afterEach(() => database.remove())
  return database
}
