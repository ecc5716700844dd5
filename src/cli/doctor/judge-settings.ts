/** What the settings mean, and the services that they name. */
import process from 'node:process'
import { type Config, describeMixedAddresses } from '../../config.ts'
import { createKeyRing, isKeyRing } from '../../lib/key-ring.ts'
import { day, hour, second } from '../../lib/time.ts'
import type { BackupInFolder } from '../../store/backup/schedule.ts'
import { runtimeName } from './inside.ts'
import { broken, counted, type Finding, ok, skipped, warning } from './report.ts'

/** The oldest versions on which the grid is tested. */
const oldest = { node: [20, 19], deno: [2, 9], bun: [1, 4] } as const

/** Whether others than this machine can reach the grid. */
export function isPublic({ baseUrl }: Config): boolean {
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname)
}

export function judgeAddresses(config: Config): Finding {
  const { baseUrl, appUrl } = config
  const mixed = describeMixedAddresses(config)
  if (mixed) return warning('addresses', mixed, 'Set BASE_URL and APP_URL to https addresses.')
  if (isPublic(config) && baseUrl.startsWith('http:')) {
    return warning(
      'addresses',
      `The grid is served at ${baseUrl}: keys and passwords cross the network unencrypted.`,
      'Put a TLS proxy in front, and set BASE_URL to its https address.',
    )
  }
  return ok('addresses', appUrl === baseUrl ? `The grid is at ${baseUrl}.` : `The grid is at ${baseUrl} and ${appUrl}.`)
}

export function judgeRuntime(versions: Record<string, string | undefined> = process.versions): Finding {
  const name = versions.bun ? 'bun' : versions.deno ? 'deno' : 'node'
  const [major, minor] = versions[name]!.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldest[name]
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    return ok('runtime', `The doctor runs on ${runtimeName()}.`)
  }
  return broken(
    'runtime',
    `${name} ${versions[name]} is too old.`,
    `Install ${name} ${oldestMajor}.${oldestMinor} or newer.`,
  )
}

/** `error` is undefined if the email server answered. */
export function judgeEmail(config: Config, error: unknown): Finding {
  if (config.smtpUrl === undefined) {
    return isPublic(config)
      ? warning('email', 'No email server is set: links for people are only in the log.', 'Set SMTP_URL and MAIL_FROM.')
      : ok('email', 'No email server is set: links for people are in the log.')
  }
  const { host } = new URL(config.smtpUrl)
  if (error === undefined) return ok('email', `The email server ${host} answers.`)
  const { message = String(error) } = Object(error) as { message?: string }
  return broken(
    'email',
    `The email server ${host} cannot be used: ${message}`,
    'Check that it runs, and that SMTP_URL has its address, user and password.',
  )
}

/**
 * `file` is the text of the key ring beside a local file: undefined if there is none, null if it cannot be read. `keys`
 * are those of the stored tokens, and undefined if the database could not be read. `known` are those of the server.
 */
export function judgeKeyRing(
  { gridKeys }: Config,
  { file, keys, known }: {
    file: string | undefined | null
    keys: { key: string; tokens: number }[] | undefined
    known: readonly string[] | undefined
  },
): Finding {
  const keep =
    'Restore the key ring from where it is kept apart from the data; without it the tokens must be entered again.'
  if (gridKeys === undefined && file === null) {
    return broken(
      'key_ring',
      'The key ring beside the database cannot be read.',
      'Give the file to the user of the grid.',
    )
  }
  const ring = gridKeys ?? file ?? undefined
  if (ring !== undefined && !isKeyRing(ring)) {
    return broken('key_ring', 'The file beside the database is not a key ring.', keep)
  }
  if (keys === undefined) {
    return skipped('key_ring', 'The database was not read, so whether it needs a key ring is not known.')
  }
  const ids = createKeyRing(ring).ids
  const missing = keys.filter(({ key }) => !ids.includes(key))
  if (missing.length > 0) {
    const tokens = missing.reduce((sum, { tokens }) => sum + tokens, 0)
    const names = missing.map(({ key }) => key).join(', ')
    return broken('key_ring', `The ring lacks the keys of ${counted(tokens, 'stored token')}: ${names}.`, keep)
  }
  if (known && known.join() !== ids.join()) {
    return warning('key_ring', 'The server runs with another key ring than the settings name.', 'Restart the grid.')
  }
  const tokens = keys.reduce((sum, { tokens }) => sum + tokens, 0)
  return ok(
    'key_ring',
    ids.length === 0
      ? 'There is no key ring, and nothing needs one.'
      : tokens === 0
      ? 'The key ring is there. No token is stored yet.'
      : `The key ring has the keys of ${counted(tokens, 'token')}.`,
  )
}

/** `newest` is the newest one in BACKUP_DIR, if it is set and has one. */
export function judgeBackups(config: Config, newest: BackupInFolder | undefined, now: number): Finding {
  if (config.backupDir === undefined) {
    return isPublic(config)
      ? warning(
        'backups',
        'No backups are made here.',
        'Set BACKUP_DIR to a folder on another disk; see "Backup and restore" in docs/operations.md.',
      )
      : ok('backups', 'No backups are made here.')
  }
  if (!newest) {
    return warning(
      'backups',
      'BACKUP_DIR has no backup.',
      'Check that the folder is right, and the log for a failed backup.',
    )
  }
  const age = now - newest.at
  const found = `The newest backup is ${newest.path}, ${Math.floor(age / hour)} hours old.`
  return age > Math.max(2 * config.backupEverySeconds * second, day)
    ? warning('backups', found, 'See the log for failed backups.')
    : ok('backups', found)
}
