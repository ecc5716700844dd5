import { afterEach, beforeEach } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from './process.ts'

/** Creates a temporary database for each test of a file or group, and removes it after the test. */
export function useDatabase(): TemporaryDatabase {
  const database = {} as TemporaryDatabase
  beforeEach(() => void Object.assign(database, temporaryDatabase()))
  afterEach(() => database.remove())
  return database
}
