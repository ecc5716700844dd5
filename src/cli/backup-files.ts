/** What opens a backup: the option `--key`, the variable BACKUP_KEY, or `--plain`. */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { BackupExistsError } from '../store/backup/backup-file.ts'
import type { FileKey } from '../store/backup/sealed-file.ts'
import { CommandError, type CommandOption, usageError } from './command.ts'

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

export function fileKey({ key }: { key?: string }): FileKey | undefined {
  return key?.trim() ? { passphrase: key.trim() } : undefined
}

/**
 * Check the place of a new backup before a copy is made, which may take minutes. Fails with `backup_exists`,
 * `no_folder` and `not_writable`.
 */
export function checkNewBackup(path: string): void {
  if (isThere(path)) throw new BackupExistsError(path)
  const folder = dirname(path)
  if (!isThere(folder)) {
    throw new CommandError('no_folder', `There is no folder ${folder}. Make it first, or write the backup elsewhere.`)
  }
  const code = refusalOf(() => accessSync(folder, constants.W_OK))
  if (code === undefined) return
  throw new CommandError(
    'not_writable',
    `This user may not write into ${folder} (${code}). Give the folder to the user, or write the backup elsewhere.`,
  )
}

/** Fails with `no_file` or `not_readable` if there is no backup to read. */
export function checkBackup(path: string): void {
  if (!isThere(path)) {
    throw new CommandError('no_file', `There is no file ${path}. Name the backup that is to be restored.`)
  }
  if (statSync(path).isDirectory()) {
    throw new CommandError('no_file', `${path} is a folder. Name the file of a backup.`)
  }
  const code = refusalOf(() => accessSync(path, constants.R_OK))
  if (code === undefined) return
  throw new CommandError(
    'not_readable',
    `This user may not read ${path} (${code}). Run the command as its owner, or give the file to this user.`,
  )
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** The code of a refusal by the system. Deno may not ask who the user is, and then says so without a code. */
function refusalOf(access: () => void): string | undefined {
  try {
    access()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}
