import process from 'node:process'
import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { SealedFileError } from '../store/backup/sealed-file.ts'
import { restoreFile, restoreRemote } from '../store/backup/restore.ts'
import { isFull } from '../store/driver/database-errors.ts'
import { isNoSpace, localPath } from '../store/driver/local-file.ts'
import { checkBackup, fileKey, keyOption } from './backup-files.ts'
import { ownCommand } from '../lib/version.ts'
import { CommandError, type ProcessCommand } from './command.ts'
import { table } from './tables.ts'

export const restore: ProcessCommand = {
  name: 'restore',
  summary: 'Check a backup and put it in the place of the database, whose server must be stopped. Keeps the old files.',
  operand: 'file',
  options: {
    file: { placeholder: 'FILE', description: 'the backup', required: true },
    key: { ...keyOption, description: 'pass phrase of the backup' },
    'without-keys': {
      placeholder: '',
      description: 'restore although the key ring lacks keys: stored tokens will not open',
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
    console.log(json ? JSON.stringify(result) : print(result))
    return 0
  },
}

function print(result: { restored: string; made_at: string; messages: number; kept: string[] }): string {
  return [
    table([
      ['Restored', result.restored],
      ['State of', result.made_at],
      ['Messages', result.messages],
      ...result.kept.map((file) => ['Kept', file] as const),
    ]),
    '',
    `What was sent after ${result.made_at} is not in it. An agent that reads with an older cursor gets cursor_expired,`,
    'and reads again with since: "24h".',
    ...(result.kept.length > 0 ? ['The old files are kept; remove them when you do not need them.'] : []),
    `Next: ${ownCommand} serve`,
  ].join('\n')
}

function explained(error: unknown): never {
  if (isFull(error) || isNoSpace(error)) {
    throw new CommandError(
      'disk_full',
      'There is no space to open the backup beside the database, or in TMPDIR for a remote one. Free some, and run the ' +
        'command again; the database is as it was.',
    )
  }
  throw error instanceof SealedFileError ? new CommandError(error.code, error.message) : error
}
