// @ts-check
/**
 * Runs a TypeScript program of this repository on Deno or Bun: `node scripts/other-runtime.js deno src/main.ts serve`.
 * This file is JavaScript without packages, because it also runs on Node 20 after `npm ci --omit=dev`.
 *
 * Install scripts are disabled (`.npmrc`), so the binaries are only in the platform packages, and `.bin/bun` just
 * prints an error.
 */
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** @typedef {'deno' | 'bun'} OtherRuntime */

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')

/**
 * The path of a runtime's binary: this process's, from npm, or from PATH. Throws if there is none.
 *
 * @param {OtherRuntime} name
 */
export function runtimeBinary(name) {
  if (process.versions[name]) return process.execPath
  const arch = { deno: process.arch, bun: process.arch === 'arm64' ? 'aarch64' : process.arch }[name]
  const fromNpm = {
    deno: [`@deno/${process.platform}-${arch}-glibc/deno`, `@deno/${process.platform}-${arch}/deno`, 'deno/deno'],
    bun: [`@oven/bun-${process.platform}-${arch}/bin/bun`, 'bun/bin/bun.exe'],
  }[name].map((path) => join(modules, path))
  const onPath = (process.env.PATH ?? '').split(delimiter)
    .filter((folder) => folder !== '' && !folder.includes('node_modules'))
    .map((folder) => join(folder, name))

  const found = [...fromNpm, ...onPath].find(isBinary)
  if (!found) throw new Error(`${name} was not found. Run npm ci, or install it and put it on PATH.`)
  return found
}

/**
 * Returns the command that runs a program on Deno or Bun with this `DATABASE_URL`. The caller appends the program's
 * path and arguments.
 *
 * @param {OtherRuntime} name
 * @param {string} [databaseUrl] If absent or empty, the default database.
 * @param {string} [backupDir] The folder of scheduled backups.
 * @param {string[]} [words] The arguments, which may name other files.
 */
export function otherRuntimeCommand(name, databaseUrl, backupDir, words) {
  const binary = runtimeBinary(name)
  return name === 'bun' ? [binary] : [binary, 'run', '--no-prompt', ...denoPermissions(databaseUrl, backupDir, words)]
}

/**
 * The minimum permissions. Deno checks a permission when a path or a name is used. The grid therefore needs permissions
 * for its database and its own files, and for `/usr/bin/ldd`, which shows the database driver which C library exists.
 *
 * @param {string | undefined} databaseUrl
 * @param {string | undefined} backupDir
 * @param {string[]} [words]
 */
function denoPermissions(databaseUrl, backupDir, words = []) {
  const folder = databaseFolder(databaseUrl || 'file:./data/grid.db')
  const local = folder === undefined ? [] : [folder]
  const given = filesAmong(words)
  const backups = [...backupDir ? [resolve(backupDir)] : [], ...given.backups.map((path) => dirname(path))]
  // The temporary folder is where backups are unpacked and backups of remote databases are created.
  if (given.backups.length > 0 || (backups.length > 0 && folder === undefined)) backups.push(tmpdir())
  const paths = (/** @type {string[]} */ ...list) => list.map((path) => path.replaceAll(',', ',,')).join()
  return [
    '--allow-net',
    '--allow-env',
    `--allow-read=${paths(root, '/usr/bin/ldd', ...local, ...backups, ...given.texts)}`,
    `--allow-ffi=${paths(modules)}`,
    `--allow-sys=${['cpus', 'networkInterfaces', 'hostname', ...local.map(() => 'statfs')]}`,
    ...(local.length + backups.length > 0 ? [`--allow-write=${paths(...local, ...backups)}`] : []),
  ]
}

/** Commands whose operand is a backup or an archive. */
const fileCommands = ['backup', 'restore', 'export-account', 'import-account']
/** Options of `fileCommands` that take a value. */
const valueOption = /^--(key|key-file|account|fingerprint|rename)$/

/**
 * The files named on a command line: backups, archives, and texts for options such as `--key-file`.
 *
 * @param {string[]} words
 */
function filesAmong([command, ...words]) {
  const texts = words.flatMap((word, i) => {
    const [isOption, joined = words[i + 1]] = word.match(/^--(?:[\w-]+-)?file(?:=(.*))?$/s) ?? []
    return isOption && joined ? [resolve(joined)] : []
  })
  const isOperand = (/** @type {string} */ word, /** @type {number} */ i) =>
    !word.startsWith('--') && !valueOption.test(words[i - 1] ?? '')
  const isKnown = command !== undefined && fileCommands.includes(command)
  return { backups: isKnown ? words.filter(isOperand).map((word) => resolve(word)) : [], texts }
}

/**
 * A local database's folder; undefined for a remote database. The program itself rejects an invalid URL.
 *
 * @param {string} databaseUrl
 */
export function databaseFolder(databaseUrl) {
  const path = databaseUrl.match(/^file:(?:\/\/(?=\/))?(.+)$/)?.[1]
  if (path === undefined) return undefined
  try {
    return resolve(dirname(decodeURIComponent(path)))
  } catch {
    return undefined
  }
}

/**
 * Whether a file is a real binary. npm may install small placeholder scripts instead.
 *
 * @param {string} path
 */
function isBinary(path) {
  return existsSync(path) && statSync(path).size > 1_000_000
}

/**
 * Runs a program with this process's streams. Forwards signals and the exit code.
 *
 * @param {OtherRuntime} name
 * @param {string[]} args
 */
function run(name, args) {
  const [binary, ...words] = otherRuntimeCommand(
    name,
    process.env.DATABASE_URL,
    process.env.BACKUP_DIR,
    args.slice(1),
  )
  const child = spawn(binary, [...words, ...args], { stdio: 'inherit' })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal))
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[/** @type {'SIGTERM'} */ (signal)]))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2)
  if (name !== 'deno' && name !== 'bun') {
    console.error('Usage: node scripts/other-runtime.js deno|bun PROGRAM ARGUMENTS')
    process.exit(2)
  }
  try {
    run(name, args)
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(1)
  }
}
