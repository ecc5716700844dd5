/** The commands `export-account` and `import-account`. See docs/operating/accounts.md, "Export and import". */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { readConfig } from '../../../config.ts'
import { readSignedLines, SignedLinesError, withSignature } from '../signed-lines.ts'
import { fingerprintOf, type JWK } from '../../../lib/signing.ts'
import { archiveLines, linesOfCopy } from '../store/archive.ts'
import {
  isSealedFile,
  readSealedFile,
  SealedFileError,
  writeNewFile,
  writeSealedFile,
} from '../../../store/backup/sealed-file.ts'
import { localPath } from '../../../store/driver/local-file.ts'
import { noDatabase } from '../../../store/start-error.ts'
import { openStore, type Store } from '../../../store/store.ts'
import { noteExportCommand, signArchiveCommand } from './asked.ts'
import { checkBackup, checkNewBackup, newFileKey, withCopyOnServer } from '../../../cli/backup-files.ts'
import {
  accountOption,
  CommandError,
  type CommandOption,
  type CommandResult,
  type ProcessCommand,
  type StoreCommand,
} from '../../../cli/command.ts'
import { folderOf } from '../../../cli/copy-database.ts'
import { type Ask, importArchive, printImported } from './import-archive.ts'
import { print } from '../../../cli/output.ts'
import { processDeps } from '../../../cli/process.ts'
import { askHolder, isInUse } from '../../../cli/database-holder.ts'
import { table } from '../../../cli/tables.ts'

const keyOption = {
  placeholder: 'PHRASE',
  description: 'passphrase of at least 12 characters that encrypts the archive',
  file: 'key-file',
} as const satisfies CommandOption

export const exportAccount: ProcessCommand = {
  name: 'export-account',
  summary: 'Write an account into a signed file, from a running or stopped grid. No password, key or token is in it.',
  operands: ['file'],
  options: {
    account: accountOption,
    file: { placeholder: 'FILE', description: 'where it is written; there must be no such file', required: true },
    key: keyOption,
  },
  async start(json, args) {
    const path = resolve(args.file!)
    const key = args.key === undefined ? undefined : newFileKey({ key: args.key })
    if (existsSync(path)) throw exists(path)
    checkNewBackup(path)
    const account = args.account!
    const minFreeBytes = readConfig(process.env).minFreeMegabytes * 2 ** 20
    const [madeAt, reader] = [Date.now(), undefined]
    let fingerprint = ''
    const write = async (lines: AsyncIterable<string>, ask: Ask) => {
      const bytes = withSignature(lines, async (list) => {
        const signed = await ask(signArchiveCommand, { list })
        fingerprint = await fingerprintOf(signed.public_key as JWK)
        return signed as unknown as { public_key: JWK; protected: string; signature: string }
      })
      const written = key === undefined ? writeNewFile(path, bytes) : writeSealedFile(path, key, bytes)
      await written.catch((error) => {
        throw error.code === 'EEXIST' ? exists(path) : error
      })
    }
    await withGrid(async (ask, store) => {
      await ask(noteExportCommand, { account })
      if (store) return await write(archiveLines(store, { account, reader, madeAt }), ask)
      await withCopyOnServer(ask, (copy) => {
        const target = join(folderOf(copy), 'archive')
        return write(linesOfCopy({ copy, target, account, reader, madeAt, minFreeBytes }), ask)
      })
    })
    const result = { file: path, bytes: statSync(path).size, encrypted: key !== undefined, fingerprint }
    print(
      json ? JSON.stringify(result) : [
        table([
          ['Archive', result.file],
          ['Size', `${(result.bytes / 2 ** 20).toFixed(1)} MB`],
          ['Encrypted', result.encrypted ? 'yes' : 'no: anyone with the file can read it'],
          ['Fingerprint', fingerprint],
        ]),
        '',
        'import-account asks for the fingerprint. Send it another way than the file.',
      ].join('\n'),
    )
    return 0
  },
}

export const importAccount: ProcessCommand = {
  name: 'import-account',
  summary: 'Import an account from a file of export-account. Its agents get new keys, and its people invitations.',
  operands: ['file'],
  options: {
    file: { placeholder: 'FILE', description: 'the archive', required: true },
    fingerprint: { placeholder: 'TEXT', description: 'what export-account printed', required: true },
    key: { ...keyOption, description: 'passphrase of the archive' },
    rename: { placeholder: 'OLD=NEW', description: 'another alias for an agent; may be repeated', several: true },
  },
  async start(json, args) {
    const path = resolve(args.file!)
    checkBackup(path)
    const isSealed = await isSealedFile(path)
    if (isSealed && args.key === undefined) {
      throw new CommandError('wrong_key', 'The archive is encrypted: give its passphrase with --key-file.')
    }
    const passphrase = args.key?.trim() ?? ''
    const read = () => isSealed ? readSealedFile(path, { passphrase }) : createReadStream(path)
    const result = await withGrid((ask) =>
      importArchive(ask, {
        read: (onLine) => readSignedLines(read(), args.fingerprint!.trim(), onLine),
        renames: args.rename?.split('\n') ?? [],
        reserved: readConfig(process.env).reservedAliases,
        now: Date.now(),
      })
    ).catch(explained)
    print(json ? JSON.stringify(result) : printImported(result))
    return 0
  },
}

function exists(path: string): CommandError {
  return new CommandError('file_exists', `${path} already exists. Give another name, or remove the file.`)
}

function explained(error: unknown): never {
  if (error instanceof SignedLinesError || error instanceof SealedFileError) {
    throw new CommandError(error.code, error.message)
  }
  throw error
}

/** Runs `work` in this process, or through the server that holds the local database file. */
async function withGrid<Result>(work: (ask: Ask, store?: Store) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env)
  const path = localPath(config.databaseUrl)
  if (path !== undefined && !existsSync(path)) throw noDatabase(path)
  let store: Store
  try {
    store = await openStore(processDeps(config))
  } catch (error) {
    if (!isInUse(error)) throw error
    return await work((command, args) => askHolder(config, error, command, args))
  }
  try {
    return await work((command: StoreCommand, args): Promise<CommandResult> => command.run(store, args), store)
  } finally {
    await store.close()
  }
}
