import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { type ClientName, programs } from './programs.ts'

/** Whether a client seems to be installed on this machine, judged by its command or folder. */
export function isInstalled(name: ClientName): boolean {
  const { commands, folder } = programs[name]
  return existsSync(folder()) || commands.some((command) => findProgram(command) !== undefined)
}

/** The path of a program in `PATH`; undefined if it is not found. */
export function findProgram(name: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : ['']
  const folders = /[\\/]/.test(name) ? [''] : (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending))).find(canRun)
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
