/** Backup and archive files: their paths and keys, and the copies that a running server makes for them. */
import { accessSync, constants, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { minute } from '../lib/time.ts'
import { BackupExistsError } from '../store/backup/backup-file.ts'
import type { FileKey } from '../store/backup/sealed-file.ts'
import { CommandError, type CommandResult, type StoreCommand, usageError } from './command.ts'
import { copyDatabaseCommand, folderOf } from './copy-database.ts'

const claimMs = minute
type AskServer = (command: StoreCommand, args: Record<string, string>) => Promise<CommandResult>

/** Runs `work` on a copy made by the server. Removes the copy afterwards. */
export async function withCopyOnServer<Result>(
  ask: AskServer,
  work: (copy: string) => Promise<Result>,
): Promise<Result> {
  const { copy, job } = await copyOnServer(ask)
  // Requests the copy regularly, because the server removes a copy that no command has requested lately.
  const claims = setInterval(() => void ask(copyDatabaseCommand, { job }).catch(() => {}), claimMs)
  try {
    return await work(copy)
  } finally {
    clearInterval(claims)
    await rm(folderOf(copy), { recursive: true, force: true })
  }
}

/** Makes a copy, with requests of at most 10 s each. Resolves to the copy's path and its job. */
async function copyOnServer(ask: AskServer): Promise<{ copy: string; job: string }> {
  for (let args = {};;) {
    const { job, path } = await ask(copyDatabaseCommand, args)
    if (path !== null) return { copy: String(path), job: String(job) }
    args = { job: String(job) }
  }
}

const minKeyLength = 12

/** The key of a new backup. Fails with `usage` if no key is given. */
export function newFileKey({ key, plain }: { key?: string; plain?: string }): FileKey {
  if (plain) return 'plain'
  const passphrase = key?.trim() ?? ''
  if (passphrase.length >= minKeyLength) return { passphrase }
  throw usageError(
    passphrase === ''
      ? 'A backup contains all messages, so it is encrypted. Give a passphrase in BACKUP_KEY or with --key-file PATH, or use --plain.'
      : `The passphrase of a backup has at least ${minKeyLength} characters.`,
  )
}

/**
 * Checks the path of a new backup before a copy is made, which may take minutes. Fails with `backup_exists`,
 * `no_folder` or `not_writable`.
 */
export function checkNewBackup(path: string): void {
  if (isThere(path)) throw new BackupExistsError(path)
  const folder = dirname(path)
  if (!isThere(folder)) {
    throw new CommandError('no_folder', `There is no folder ${folder}. Create it first, or write the backup elsewhere.`)
  }
  const code = refusalOf(() => accessSync(folder, constants.W_OK))
  if (code === undefined) return
  throw new CommandError(
    'not_writable',
    `This user may not write into ${folder} (${code}). Change the owner of the folder, or write the backup elsewhere.`,
  )
}

/** Fails with `no_file` or `not_readable` if there is no readable backup. */
export function checkBackup(path: string): void {
  if (!isThere(path)) {
    throw new CommandError('no_file', `There is no file ${path}. Give the path of a backup file.`)
  }
  if (statSync(path).isDirectory()) {
    throw new CommandError('no_file', `${path} is a folder. Give the path of a backup file.`)
  }
  const code = refusalOf(() => accessSync(path, constants.R_OK))
  if (code === undefined) return
  throw new CommandError(
    'not_readable',
    `This user may not read ${path} (${code}). Run the command as the owner of the file, or make this user the owner.`,
  )
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** The system's error code. Undefined without an error, and on Deno without the permission to read the user id. */
function refusalOf(access: () => void): string | undefined {
  try {
    access()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}
