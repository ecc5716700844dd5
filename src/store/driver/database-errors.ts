/** What an error of the database means for the write that met it (done, not done, unknown). */
import { LibsqlBatchError, LibsqlError } from '@libsql/client'

/** The stable code of a database error, for example `SQLITE_CONSTRAINT`; empty for anything else. */
export function errorCode(error: unknown): string {
  return error instanceof LibsqlError ? error.code : ''
}

/** A constraint spoke: nothing of the unit is stored. */
export function isConstraint(error: unknown): boolean {
  return errorCode(error).startsWith('SQLITE_CONSTRAINT')
}

/** Another process holds the local file, or the lock of a server. */
export function isBusy(error: unknown): boolean {
  return errorCode(error).startsWith('SQLITE_BUSY')
}

/** Write, fsync or commit failed: the outcome is unknown and nothing may be tried again in this process. */
export function isStorageFault(error: unknown): boolean {
  return /^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(errorCode(error))
}

/** The connection to a remote database was lost: the outcome is unknown. */
export function isRemoteLoss(error: unknown): boolean {
  if (isConstraint(error) || isOneUnitsFault(error)) return false
  return !/^SQLITE_/.test(errorCode(error))
}

/** A statement of the group is bad, and the group was rolled back: its units can be run one by one. */
export function isOneUnitsFault(error: unknown): boolean {
  if (isConstraint(error)) return true
  // The driver cannot represent an integer of a damaged row that a unit reads.
  if (error instanceof RangeError) return true
  const code = errorCode(error)
  return error instanceof LibsqlBatchError && !/^SQLITE_(IOERR|FULL|BUSY|CORRUPT|NOTADB|NOMEM)/.test(code)
}
