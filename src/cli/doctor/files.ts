import { closeSync, openSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { broken, type Finding, ok, warning } from './finding.ts'

/** Whether only this user can use an existing database file and the files beside it. */
export function checkFiles(path: string): Finding[] {
  const folder = dirname(path)
  const files = readdirSync(folder).filter((name) => name.startsWith(basename(path))).map((name) => join(folder, name))
  const closed = files.find((file) => !canOpen(file))
  if (closed !== undefined) {
    return [broken(
      'files',
      `This user cannot read and write ${closed}.`,
      'Run every command as the user of the grid, or give the folder and its files to that user.',
    )]
  }
  const findings: Finding[] = []
  const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0)
  if (open.length > 0) {
    const names = open.map((file) => basename(file)).join(', ')
    findings.push(warning('files', `Other users of this machine can read ${names}.`, `chmod 600 ${open.join(' ')}`))
  }
  if ((statSync(folder).mode & 0o022) !== 0) {
    findings.push(warning('files', `Other users can replace files in ${folder}.`, `chmod 700 ${folder}`))
  }
  return findings.length > 0 ? findings : [ok('files', 'Only the user of the grid can read its files.')]
}

/** This process must have no connection to the file: closing it would drop the locks of that connection. */
function canOpen(path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'))
    return true
  } catch {
    return false
  }
}
