import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import type { Config } from '../config.ts'
import { BackupExistsError, sealCopy } from '../store/backup/backup-file.ts'
import type { Manifest } from '../store/backup/local-copy.ts'
import { restoreFile, restoreRemote, verifyBackup } from '../store/backup/restore.ts'
import { type FileKey, SealedFileError } from '../store/backup/sealed-file.ts'
import { backUpStopped } from '../store/backup/stopped.ts'
import { isFull } from '../store/driver/database-errors.ts'
import { isNoSpace, localPath } from '../store/driver/local-file.ts'
import { print } from './output.ts'
import { askHolder, isInUse } from './database-holder.ts'
import { CommandError, type CommandOption, type ProcessCommand, type StoreCommand } from './command.ts'
import { checkBackup, checkNewBackup, newFileKey, withCopyOnServer } from './backup-files.ts'
import { noteBackupCommand } from './copy-database.ts'
import { ownCommandLine } from './own-command.ts'
import { table } from './tables.ts'
import { readConfig } from './settings.ts'

const keyOption = {
  placeholder: 'PHRASE',
  description: 'passphrase of at least 12 characters that encrypts the backup',
  env: 'BACKUP_KEY',
  file: 'key-file',
} as const satisfies CommandOption

const plainOption = {
  placeholder: '',
  description: 'do not encrypt the backup: anyone with the file can read all messages',
  flag: true,
} as const satisfies CommandOption

/**
 * The server that holds the local file makes the copy. This process checks, encrypts and writes the copy, so the server
 * never sees the passphrase and spends no time on encryption.
 */
export const backup: ProcessCommand = {
  name: 'backup',
  summary: 'Back up the database of a running or stopped grid, or check a backup. The key ring is not in a backup.',
  operands: ['file'],
  options: {
    file: {
      placeholder: 'FILE',
      description: 'path of the backup file, which must not exist yet',
      required: true,
    },
    key: keyOption,
    plain: plainOption,
    verify: { placeholder: '', description: 'check this backup file instead of making a backup', flag: true },
  },
  async start(json, args) {
    const path = resolve(args.file!)
    const key = args.verify ? fileKey(args) : newFileKey(args)
    const { manifest, bytes } = args.verify ? await verify(path, key) : await make(readConfig(process.env), path, key!)
    const result = {
      file: path,
      bytes,
      made_at: manifest.madeAt,
      encrypted: Object(key).passphrase !== undefined,
      schema: manifest.schema,
      messages: manifest.rows.messages ?? 0,
      keys: manifest.keys,
    }
    const title = args.verify ? `The backup of ${manifest.madeAt} is complete, and its database is intact.\n` : ''
    print(json ? JSON.stringify(result) : title + printBackup(result))
    return 0
  },
}

async function verify(path: string, key: FileKey | undefined): Promise<{ manifest: Manifest; bytes: number }> {
  checkBackup(path)
  const manifest = await verifyBackup({ backup: path, key, now: Date.now() }).catch(explained)
  return { manifest, bytes: statSync(path).size }
}

function printBackup(
  result: { file: string; bytes: number; encrypted: boolean; messages: number; keys: string[] },
): string {
  const rows: [string, string | number][] = [
    ['Backup', result.file],
    ['Size', `${(result.bytes / 2 ** 20).toFixed(1)} MB`],
    ['Messages', result.messages],
    [
      'Encrypted',
      result.encrypted ? 'yes; it cannot be opened without the passphrase' : 'no: anyone with the file can read it',
    ],
  ]
  const ring = result.keys.length === 0 ? [] : [
    '',
    `Stored tokens need the key ring (${result.keys.join(', ')}), which is not in the backup. Keep a copy of ` +
    'grid.db.keys, or of GRID_KEYS, in another location.',
  ]
  return [table(rows), ...ring].join('\n')
}

async function make(config: Config, path: string, key: FileKey): Promise<{ manifest: Manifest; bytes: number }> {
  const madeAt = Date.now()
  const minFreeBytes = config.minFreeMegabytes * 2 ** 20
  try {
    checkNewBackup(path)
    const database = { url: config.databaseUrl, authToken: config.databaseAuthToken }
    return await backUpStopped(database, { path, key, madeAt, minFreeBytes })
  } catch (error) {
    if (error instanceof BackupExistsError) throw new CommandError(error.code, error.message)
    if (!isInUse(error)) throw error
    const ask = (command: StoreCommand, args: Record<string, string>) => askHolder(config, error, command, args)
    return await withCopyOnServer(ask, async (copy) => {
      const made = await sealCopy(copy, { path, key, madeAt, thread: false, minFreeBytes })
      await ask(noteBackupCommand, { at: String(madeAt), file: path, bytes: String(made.bytes) })
      return made
    })
  }
}

export const restore: ProcessCommand = {
  name: 'restore',
  summary: 'Check a backup, and replace the database with it. Stop the server first. The old files are kept.',
  operands: ['file'],
  options: {
    file: { placeholder: 'FILE', description: 'the backup', required: true },
    key: { ...keyOption, description: 'passphrase of the backup' },
    'without-keys': {
      placeholder: '',
      description: 'restore although the key ring lacks keys: stored tokens cannot be decrypted',
      flag: true,
    },
  },
  async start(json, args) {
    const config = readConfig(process.env)
    const path = localPath(config.databaseUrl)
    const backup = resolve(args.file!)
    checkBackup(backup)
    const options = {
      backup,
      key: fileKey(args),
      now: Date.now(),
      gridKeys: config.gridKeys,
      withoutKeys: args['without-keys'] === 'yes',
    }
    const address = { url: config.databaseUrl, authToken: config.databaseAuthToken }
    const { manifest, kept } =
      await (path === undefined ? restoreRemote({ ...options, address }) : restoreFile({ ...options, path })).catch(
        explained,
      )
    const result = {
      restored: path ?? new URL(config.databaseUrl).host,
      made_at: manifest.madeAt,
      schema: manifest.schema,
      messages: manifest.rows.messages ?? 0,
      kept,
    }
    print(json ? JSON.stringify(result) : printRestored(result))
    return 0
  },
}

function printRestored(result: { restored: string; made_at: string; messages: number; kept: string[] }): string {
  return [
    table([
      ['Restored', result.restored],
      ['State of', result.made_at],
      ['Messages', result.messages],
      ...result.kept.map((file) => ['Kept', file] as const),
    ]),
    '',
    `Messages sent after ${result.made_at} are not in it. An agent that reads with an older cursor gets cursor_expired,`,
    'and reads again with since: "24h".',
    ...(result.kept.length > 0 ? ['The old files are kept. Remove them when you no longer need them.'] : []),
    `Next: ${ownCommandLine('serve')}`,
  ].join('\n')
}

function explained(error: unknown): never {
  if (isFull(error) || isNoSpace(error)) {
    throw new CommandError(
      'disk_full',
      'There is not enough space to open the backup, which needs it next to the database for a restore, otherwise in TMPDIR. Free some and run ' +
        'the command again. The database is unchanged.',
    )
  }
  throw error instanceof SealedFileError ? new CommandError(error.code, error.message) : error
}

function fileKey({ key }: { key?: string }): FileKey | undefined {
  return key?.trim() ? { passphrase: key.trim() } : undefined
}
