import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'
import type { FileKey } from '../store/backup/sealed-file.ts'
import { BackupExistsError, sealCopy } from '../store/backup/backup-file.ts'
import type { Manifest } from '../store/backup/local-copy.ts'
import { backUpStopped } from '../store/backup/stopped.ts'
import { localPath, readOwner } from '../store/driver/local-file.ts'
import { checkNewBackup, keyOption, newFileKey, plainOption } from './backup-files.ts'
import { CommandError, type CommandResult, type ProcessCommand, type StoreCommand } from './command.ts'
import { runOnServer } from './command-server.ts'
import { copyDatabaseCommand, folderOf, noteBackupCommand } from './copy-database.ts'
import { table } from './tables.ts'

/**
 * The server that holds the local file makes the copy. This process checks, encrypts and writes it, so the server never
 * sees the pass phrase and spends no time on it.
 */
export const backup: ProcessCommand = {
  name: 'backup',
  summary: 'Back up the database, of a running grid or of a stopped one. The key ring is not in a backup.',
  operand: 'file',
  options: {
    file: {
      placeholder: 'FILE',
      description: 'where the backup is written; there must be no such file',
      required: true,
    },
    key: keyOption,
    plain: plainOption,
  },
  async start(json, args) {
    const config = readConfig(process.env)
    const key = newFileKey(args)
    const path = resolve(args.file!)
    const { manifest, bytes } = await make(config, path, key)
    const result = {
      file: path,
      bytes,
      made_at: manifest.madeAt,
      encrypted: key !== 'plain',
      schema: manifest.schema,
      messages: manifest.rows.messages ?? 0,
      keys: manifest.keys,
    }
    console.log(json ? JSON.stringify(result) : print(result))
    return 0
  },
}

function print(result: { file: string; bytes: number; encrypted: boolean; messages: number; keys: string[] }): string {
  const rows: [string, string | number][] = [
    ['Backup', result.file],
    ['Size', `${(result.bytes / 2 ** 20).toFixed(1)} MB`],
    ['Messages', result.messages],
    [
      'Encrypted',
      result.encrypted ? 'yes; without the pass phrase nobody can open it' : 'no: whoever has the file can read it',
    ],
  ]
  const ring = result.keys.length === 0 ? [] : [
    '',
    `Stored tokens need the key ring (${result.keys.join(', ')}), which is not in the backup: keep a copy of ` +
    'grid.db.keys, or of GRID_KEYS, in another place.',
  ]
  return [table(rows), ...ring].join('\n')
}

const claimMs = minute

async function make(config: Config, path: string, key: FileKey): Promise<{ manifest: Manifest; bytes: number }> {
  const madeAt = Date.now()
  const minFreeBytes = config.minFreeMegabytes * 2 ** 20
  try {
    checkNewBackup(path)
    const database = { url: config.databaseUrl, authToken: config.databaseAuthToken }
    return await backUpStopped(database, { path, key, madeAt, minFreeBytes })
  } catch (error) {
    if (error instanceof BackupExistsError) throw new CommandError(error.code, error.message)
    if (!(error instanceof GridError) || error.code !== 'database_in_use') throw error
    const ask = (command: StoreCommand, args: Record<string, string>) => onServer(config, command, args, error)
    const { copy, job } = await copyOnServer(ask)
    // The server removes a copy if no command has asked for it lately.
    const claims = setInterval(() => void ask(copyDatabaseCommand, { job }).catch(() => {}), claimMs)
    try {
      const made = await sealCopy(copy, { path, key, madeAt, thread: false, minFreeBytes })
      await ask(noteBackupCommand, { at: String(madeAt), file: path, bytes: String(made.bytes) })
      return made
    } finally {
      clearInterval(claims)
      await rm(folderOf(copy), { recursive: true, force: true })
    }
  }
}

/** A request waits for 10 s at most. Resolves to the path of the copy, and its job. */
async function copyOnServer(
  ask: (command: StoreCommand, args: Record<string, string>) => Promise<CommandResult>,
): Promise<{ copy: string; job: string }> {
  for (let args = {};;) {
    const { job, path } = await ask(copyDatabaseCommand, args)
    if (path !== null) return { copy: String(path), job: String(job) }
    args = { job: String(job) }
  }
}

async function onServer(
  config: Config,
  command: StoreCommand,
  args: Record<string, string>,
  inUse: GridError,
): Promise<CommandResult> {
  const address = readOwner(localPath(config.databaseUrl)!)?.control
  const result = address && await runOnServer(address, command, args)
  if (!result) throw inUse
  return result
}
