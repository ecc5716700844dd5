/** Classifies database errors: whether a failed write was committed, was not committed, or may have been committed. */
import { LibsqlBatchError, LibsqlError } from '@libsql/client'

/** The primary code of a database error, for example `SQLITE_CONSTRAINT`; empty for any other error. */
export function errorCode(error: unknown): string {
  return error instanceof LibsqlError ? error.code : ''
}

export function isConstraint(error: unknown): boolean {
  return errorCode(error).startsWith('SQLITE_CONSTRAINT')
}

/** Whether another process holds the lock of the local file or of the server. */
export function isBusy(error: unknown): boolean {
  return errorCode(error).startsWith('SQLITE_BUSY')
}

/** Whether the outcome of a write on a local file is unknown, so that this process must not write again. */
export function isStorageFault(error: unknown): boolean {
  return /^(SQLITE_(BUSY|IOERR|CORRUPT|NOTADB)|CONNECTION_LOST)/.test(errorCode(error)) && !isFull(error)
}

export function isFull(error: unknown): boolean {
  if (errorCode(error).startsWith('SQLITE_FULL')) return true
  // The index of the log could not grow.
  return error instanceof LibsqlError && error.extendedCode === 'SQLITE_IOERR_SHMSIZE'
}

/** Whether the connection to a remote database was lost, so that the outcome is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (isConstraint(error) || isStatementFault(error)) return false
  return !/^SQLITE_/.test(errorCode(error))
}

/** Whether a single statement failed and the group was rolled back, so that its units can be run one by one. */
export function isStatementFault(error: unknown): boolean {
  if (isConstraint(error)) return true
  // The driver cannot represent an integer in a row that a unit returned.
  if (error instanceof RangeError) return true
  const code = errorCode(error)
  return error instanceof LibsqlBatchError && !/^SQLITE_(IOERR|FULL|BUSY|CORRUPT|NOTADB|NOMEM)/.test(code)
}
