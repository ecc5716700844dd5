/** Explains to the operator why the database cannot be opened: the file or address, the reason, the next step. */
import { dirname } from 'node:path'
import { GridError } from '../errors.ts'
import { newKeyInShell } from '../lib/key-ring.ts'
import { hostnameOf, isIpAddress } from '../lib/outbound/egress-policy.ts'
import { errorCode, isBusy, isConnectionLoss, isFull } from './driver/database-errors.ts'
import { databaseInUse, filesOf, howToGive, isNoSpace } from './driver/local-file.ts'

/** Error codes for scripts that start a grid. */
type StartErrorCode =
  | 'backup_needed'
  | 'copy_running'
  | 'copy_unfinished'
  | 'database_damaged'
  | 'database_empty'
  | 'database_linked'
  | 'database_not_empty'
  | 'database_not_writable'
  | 'database_refused'
  | 'database_unreachable'
  | 'disk_failed'
  | 'disk_full'
  | 'invalid_key_ring'
  | 'key_ring_missing'
  | 'key_ring_not_accessible'
  | 'key_ring_wrong'
  | 'migration_changed'
  | 'no_database'
  | 'not_a_database'
  | 'schema_newer'

/** Thrown when a start is refused. The message may contain paths and addresses, so only the operator sees it. */
export class StartError extends Error {
  readonly code: StartErrorCode

  constructor(code: StartErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'StartError'
    this.code = code
  }
}

export function noDatabase(path: string): StartError {
  return new StartError(
    'no_database',
    `There is no database at ${path}. Run the command in the folder in which the grid was started, or set DATABASE_URL ` +
      'to its database. "serve", or "create-account --new", begins a new grid.',
  )
}

export function emptyDatabase(path: string): StartError {
  return new StartError(
    'database_empty',
    `The database ${path} is empty, but the key ring ${path}.keys next to it is of a grid with data. Restore a backup with ` +
      '"agent-grid restore". To begin a new grid, move the key ring away.',
  )
}

/** Reports that the ring's keys with these ids did not encrypt the tokens. `file` is undefined for `GRID_KEYS`. */
export function wrongKeyRing(ids: readonly string[], file: string | undefined): StartError {
  return new StartError(
    'key_ring_wrong',
    `${file ?? 'GRID_KEYS'} has another key ${ids.join(', ')} than the one that encrypted stored tokens. ` +
      restoreKeyRing(file),
  )
}

/** Tells the operator what to do when the keys of stored tokens are missing. `file` is undefined for `GRID_KEYS`. */
export function restoreKeyRing(file: string | undefined): string {
  const command = file === undefined ? `GRID_KEYS="${newKeyInShell}"` : `(umask 077; echo "${newKeyInShell}" > ${file})`
  return 'Restore the key ring from where it is kept apart from the data. If it is lost, make one with a new id ' +
    `(${command}), and enter the tokens again.`
}

/** Explains an error from opening the database at `url`. `path` is the local file. Returns other errors unchanged. */
export function explained(error: unknown, url: string, path: string | undefined): unknown {
  if (error instanceof StartError || error instanceof GridError) return error
  return path === undefined ? explainedRemote(error, url) : explainedLocal(error, path)
}

/** Explains why the key ring `file` cannot be opened. Returns other errors, such as a full disk, unchanged. */
export function explainedKeyRing(error: unknown, file: string): unknown {
  const { code = '', name = '' } = Object(error) as Record<string, string>
  const isClosed = /^(EACCES|EPERM|EROFS|EISDIR|ELOOP)$/.test(code) || isDenied(name)
  if (!isClosed) return error
  const reason = name === 'NotCapable' ? 'Deno has no permission' : code || name
  const step = name === 'NotCapable'
    ? `Start with --allow-read=${dirname(file)} and --allow-write=${dirname(file)}.`
    : code === 'EACCES' || code === 'EPERM'
    ? howToGive(file)
    : 'Restore the original file.'
  return new StartError(
    'key_ring_not_accessible',
    `The key ring ${file} cannot be opened (${reason}). ${step} Do not remove it. ` +
      'Without it the stored tokens of other services cannot be decrypted.',
    error,
  )
}

const readOnly = 'The file system is read-only for this process: a unit of systemd needs the folder in ReadWritePaths.'

/** Explains why a backup folder cannot be written to. Returns undefined if the error has another cause. */
export function explainedFolder(error: unknown, folder: string): string | undefined {
  const { code = '', name = '' } = Object(error) as Record<string, string>
  if (isNoSpace(error)) return `The disk of the folder ${folder} is full.`
  if (!/^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST)$/.test(code) && !isDenied(name)) return undefined
  const step = code === 'EROFS'
    ? readOnly
    : code === 'ENOTDIR' || code === 'EEXIST'
    ? 'It is a file, or in one.'
    : howToGive(folder)
  return `The folder ${folder} is not writable (${code || name}). ${step}`
}

/** Whether the name belongs to a Deno permission error, which has no code. */
function isDenied(name: string): boolean {
  return name === 'NotCapable' || name === 'PermissionDenied'
}

function explainedLocal(error: unknown, path: string): unknown {
  const fail = (code: StartErrorCode, message: string) => new StartError(code, message, error)
  const { message = '', code: systemCode = '', name = '' } = Object(error) as Record<string, string>
  const code = errorCode(error)
  if (isFull(error) || isNoSpace(error)) {
    return fail(
      'disk_full',
      `The disk of ${path} is full, and this start has to write. Free some space, and start again.`,
    )
  }
  if (isBusy(error)) return databaseInUse(path)
  if (code.startsWith('SQLITE_NOTADB')) {
    return fail(
      'not_a_database',
      `${path} is not an SQLite database. Set DATABASE_URL to the database of the grid; or move the file away, and the next start makes a new one.`,
    )
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return fail(
      'database_damaged',
      `The database ${path} is damaged. Keep a copy of it and of ${path}-wal, and restore a backup (docs/operating/backups.md, "Backup and restore").`,
    )
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const detail = (error as { extendedCode?: string }).extendedCode ?? code
    return fail(
      'disk_failed',
      `The disk of ${path} failed (${detail}). Check the disk and the system log before the next start.`,
    )
  }
  // The driver has no code for a file that it cannot open.
  const isClosed = /^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST|EISDIR|ENOENT|ELOOP|ENAMETOOLONG)$/.test(systemCode) ||
    isDenied(name) || name === 'NotADirectory' || /^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code) ||
    /Unable to open connection/.test(message)
  if (!isClosed) return error
  const isNoFolder = /^(ENOTDIR|EEXIST)$/.test(systemCode) || name === 'NotADirectory'
  const reason = name === 'NotCapable'
    ? 'Deno has no permission'
    : isNoFolder
    ? `${dirname(path)} is not a folder`
    : systemCode === 'EISDIR'
    ? 'it is a folder'
    : code || systemCode || 'it cannot be opened'
  const step = isNoFolder || systemCode === 'EISDIR'
    ? 'Set DATABASE_URL to a file in a folder.'
    : name === 'NotCapable'
    ? `Start with --allow-write=${dirname(path)}.`
    : `${
      systemCode === 'EROFS' ? readOnly : howToGive(dirname(path), ...filesOf(path))
    } Or set DATABASE_URL to another file.`
  return fail('database_not_writable', `The database ${path} cannot be opened for writing (${reason}). ${step}`)
}

function explainedRemote(error: unknown, url: string): unknown {
  const address = new URL(url).host
  const status = Object(Object(error).cause).status ?? String(Object(error).message).match(/HTTP status (\d{3})/)?.[1]
  if (Number(status) === 401 || Number(status) === 403) {
    return new StartError(
      'database_refused',
      `The database at ${address} refuses this grid (HTTP ${status}). Set DATABASE_AUTH_TOKEN to a token for it.`,
      error,
    )
  }
  if (!isConnectionLoss(error)) return error
  const answer = status === undefined ? reasonOf(error) : `HTTP ${status}`
  const byName = isIpAddress(hostnameOf(new URL(url)))
    ? ' Use a host name and not an IP address: libsql-server reads the namespace from its first label.'
    : ''
  return new StartError(
    'database_unreachable',
    `The database at ${address} cannot be reached (${answer}). Check that it runs and that DATABASE_URL is its address, and start again.${byName}`,
    error,
  )
}

/** Returns the code of the innermost system or driver error among the causes, or else the innermost message. */
function reasonOf(error: unknown): string {
  const reasons: { code?: string; message?: string }[] = []
  for (let at = error; at !== undefined && at !== null; at = Object(at).cause ?? Object(at).errors?.[0]) {
    reasons.unshift(Object(at))
  }
  const coded = reasons.find(({ code }) => typeof code === 'string' && /^[A-Z][A-Z_]+$/.test(code))
  return coded?.code ?? reasons.find(({ message }) => message)?.message ?? 'no answer'
}
