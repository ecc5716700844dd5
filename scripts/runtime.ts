/**
 * The three runtimes. Runs a program on Deno or Bun: `tsx scripts/runtime.ts bun src/main.ts serve`.
 *
 * Install scripts are off (`.npmrc`), so the binaries are only in the packages of the platform, and `.bin/bun` just
 * prints an error.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

export type OtherRuntime = 'deno' | 'bun'
export type Runtime = 'node' | OtherRuntime
export const runtimes: readonly Runtime[] = ['node', 'deno', 'bun']

/** The path of a runtime's binary, from npm or PATH. Throws if there is none. */
export function runtimeBinary(name: OtherRuntime): string {
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
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
 * The command that runs a TypeScript program of this repository, as `npm start`, `npm run start:deno` and `npm run
 * start:bun` run the grid. The caller appends its path and arguments. On Deno a database in a file may be in another
 * folder than the task in `deno.json` allows to write in: `databaseUrl` names it.
 */
export function runtimeCommand(runtime: Runtime, databaseUrl = ''): string[] {
  if (runtime === 'node') return [process.execPath, fileURLToPath(new URL('node.js', import.meta.url))]
  if (runtime === 'bun') return [runtimeBinary('bun')]
  const [, ...options] = denoTask().split(' src/main.ts ')[0].split(' ')
  const folder = databaseUrl.startsWith('file:') ? join(databaseUrl.slice('file:'.length), '..') : './data'
  return [
    runtimeBinary('deno'),
    ...options.map((option) => option.replace('--allow-write=./data', `--allow-write=${folder}`)),
  ]
}

/** What `npm run start:deno` runs. */
function denoTask(): string {
  const { tasks } = JSON.parse(readFileSync(new URL('../deno.json', import.meta.url), 'utf8'))
  return tasks.start
}

/** The placeholders that npm installs instead of a binary are small scripts. */
function isBinary(path: string): boolean {
  return existsSync(path) && statSync(path).size > 1_000_000
}

/** Run a program with our streams. Forwards signals and the exit code. */
function run(name: OtherRuntime, args: string[]): void {
  const child = spawn(runtimeBinary(name), args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal!]))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2)
  if (name === 'deno' || name === 'bun') run(name, args)
  else throw new Error('Usage: tsx scripts/runtime.ts deno|bun PROGRAM ARGUMENTS')
}
