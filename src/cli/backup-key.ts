/** What opens a backup: the option `--key`, the variable BACKUP_KEY, or `--plain`. */
import type { FileKey } from '../store/backup/sealed-file.ts'
import { type CommandOption, usageError } from './command.ts'

export const keyOption = {
  placeholder: 'PHRASE',
  description: 'pass phrase of at least 12 characters that encrypts the backup',
  env: 'BACKUP_KEY',
  file: 'key-file',
} as const satisfies CommandOption

export const plainOption = {
  placeholder: '',
  description: 'do not encrypt the backup: everybody who has the file can read all messages',
  flag: true,
} as const satisfies CommandOption

const minKeyLength = 12

/** The key of a new backup. Fails with `usage` if none was given. */
export function newFileKey({ key, plain }: { key?: string; plain?: string }): FileKey {
  if (plain) return 'plain'
  const passphrase = key?.trim() ?? ''
  if (passphrase.length >= minKeyLength) return { passphrase }
  throw usageError(
    passphrase === ''
      ? 'A backup contains all messages, so it is encrypted: give a pass phrase in BACKUP_KEY or with --key-file PATH, or say --plain.'
      : `The pass phrase of a backup has at least ${minKeyLength} characters.`,
  )
}

/** The key of a backup that is read; undefined if none was given. */
export function fileKey({ key }: { key?: string }): FileKey | undefined {
  return key?.trim() ? { passphrase: key.trim() } : undefined
}
