/**
 * The installed client program, which remains after `npx` has removed its own copy. It is in `program/` of the data
 * folder, with one folder per version. The path that clients run never changes, because some clients ask their user
 * again when it does.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { day } from '../lib/time.ts'
import { isBinary } from '../lib/version.ts'
import { shellLine } from './client-program.ts'
import { ClientError } from './grid-call.ts'
import { removeFolders } from './files/disk.ts'
import { configFolder, dataFolder, stateRoot } from './state/paths.ts'

/** The plugin's text in the single binary, which has no other files. The build replaces this constant. */
declare const AGENT_GRID_OPENCODE_PLUGIN: string | undefined

const pluginFile = 'opencode-plugin.js'
const launcherFile = process.platform === 'win32' ? 'agent-grid.cmd' : 'agent-grid'

interface InstalledProgram {
  /** The arguments that start the program: a runtime and a file, or the single binary. Constant on one machine. */
  command: string[]
  /** The path of a single file that starts the program. */
  launcher: string
  /** The path of the opencode plugin. Constant on one machine. */
  openCodePlugin: string
}

export function installedProgram(): InstalledProgram {
  const command = isBinary
    ? [join(folder(), basename(process.execPath))]
    : [process.execPath, join(folder(), 'agent-grid.mjs')]
  return { command, launcher: join(folder(), launcherFile), openCodePlugin: join(folder(), pluginFile) }
}

/**
 * Installs the running program next to earlier versions, and makes it the current one. Does nothing if it is already
 * installed. Fails with `ClientError` if the program was not built.
 */
export function installProgram(): InstalledProgram {
  mkdirSync(folder(), { recursive: true, mode: 0o700 })
  if (isBinary) installBinary()
  else installFiles()
  const { command, launcher } = installedProgram()
  const line = shellLine(command)
  const isLauncher = command[0] === launcher
  if (!isLauncher) {
    replace(launcherFile, process.platform === 'win32' ? `@${line} %*\r\n` : `#!/bin/sh\nexec ${line} "$@"\n`, 0o755)
  }
  return installedProgram()
}

function folder(): string {
  return join(dataFolder(), 'program')
}

/** The folders in `PATH`, without those that npx adds temporarily. */
function pathFolders(): string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((path) => path !== '' && !/[\\/]node_modules[\\/]/.test(path))
}

export function isOnPath(): boolean {
  return pathFolders().some((path) => existsSync(join(path, launcherFile)))
}

/** The path for a link to the program; undefined on Windows, and if there is no suitable folder. */
export function linkFolder(): string | undefined {
  const folders = [join(homedir(), '.local', 'bin'), join(homedir(), 'bin')]
  return process.platform === 'win32'
    ? undefined
    : folders.find((path) => existsSync(path) && pathFolders().includes(path))
}

export function linkProgram(path: string): void {
  symlinkSync(installedProgram().launcher, join(path, launcherFile))
}

/** Removes the program, its link, and stored data about agents. Called when no connection is left. */
export function removeInstallation(): void {
  const path = linkFolder()
  const link = path && join(path, launcherFile)
  if (link && lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) {
    if (readlinkSync(link) === installedProgram().launcher) rmSync(link)
  }
  for (const path of [folder(), stateRoot(), join(configFolder(), 'connections.json')]) {
    try {
      rmSync(path, { recursive: true, force: true })
    } catch {
      // Windows cannot remove a running program.
    }
  }
  removeFolders([join(configFolder(), 'keys'), configFolder(), dataFolder()].toReversed())
}

function installBinary(): void {
  if (typeof AGENT_GRID_OPENCODE_PLUGIN === 'string') replace(pluginFile, AGENT_GRID_OPENCODE_PLUGIN)
  const [target] = installedProgram().command
  if (process.execPath === target) return
  const temporary = join(folder(), `.${process.pid}`)
  try {
    copyFileSync(process.execPath, temporary)
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Copies the entry file, and all files that it names by hash, into the version's folder. */
function installFiles(): void {
  const files = programFiles()
  const hash = createHash('sha256')
  for (const file of files) hash.update(basename(file)).update(readFileSync(file))
  const version = hash.digest('hex').slice(0, 16)
  const target = join(folder(), version)
  if (!existsSync(target)) copyAll(files, target)
  replace('agent-grid.mjs', `import './${version}/client.js'\n`)
  removeOlder(version)
  replace(pluginFile, `export * from './${version}/${pluginFile}'\n`)
}

function copyAll(files: string[], target: string): void {
  const temporary = mkdtempSync(join(folder(), '.new-'))
  try {
    for (const file of files) copyFileSync(file, join(temporary, basename(file)))
    // This file makes Node treat the program's files as modules.
    writeFileSync(join(temporary, 'package.json'), '{"type":"module"}\n')
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    // Another process has installed this version first.
    if (!existsSync(target)) throw error
  }
}

function replace(name: string, text: string, mode = 0o644): void {
  const path = join(folder(), name)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, text, { mode })
  renameSync(temporary, path)
}

/** Removes unused versions. Versions used within a day stay, because a session may still load them. */
function removeOlder(current: string): void {
  for (const name of readdirSync(folder())) {
    const path = join(folder(), name)
    if (!/^[0-9a-f]{16}$/.test(name) || name === current || Date.now() - statSync(path).mtimeMs < day) continue
    rmSync(path, { recursive: true, force: true })
  }
}

/** The files of the built program next to the running one, or in `dist/` when run from source. */
function programFiles(): string[] {
  const isSource = import.meta.url.endsWith('.ts')
  const built = dirname(
    fileURLToPath(isSource ? new URL('../../dist/src/client.js', import.meta.url) : import.meta.url),
  )
  const start = join(built, 'client.js')
  requireFile(start)
  const { program } = JSON.parse(readFileSync(start, 'utf8').match(/\n\/\/ (\{.*\})\n?$/)![1]) as { program: string }
  const files = [start, join(built, program), join(built, pluginFile), join(built, 'client.third-party.txt')]
  files.forEach(requireFile)
  return files
}

function requireFile(path: string): void {
  if (existsSync(path)) return
  throw new ClientError('program_missing', `${path} is missing: build the program with "npm run build" first.`)
}
