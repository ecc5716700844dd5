/** Finds the process of the client that runs a hook. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import process from 'node:process'
import { linuxStat, markOf, type ProcessMark } from '../state/process-mark.ts'

/** Clients start hooks through these. */
const shells = /^(?:-?(?:ba|da|z|fi|k)?sh|env|cmd(?:\.exe)?|pwsh|powershell(?:\.exe)?)$/

/**
 * The process of the client: the one that Claude Code names, or else the nearest ancestor that is no shell. Undefined if
 * it has ended.
 */
export function clientProcess(env: Record<string, string | undefined>): ProcessMark | undefined {
  const named = Number(env.CLAUDE_PID)
  if (named > 0) return markOf(named)
  let pid = process.ppid
  for (let i = 0; i < 5 && pid > 1; i++) {
    const { name, parent } = look(pid) ?? {}
    if (name === undefined || parent === undefined || !shells.test(name)) break
    pid = parent
  }
  return pid > 1 ? markOf(pid) : undefined
}

/** The words of the command line of a process; empty where the system does not tell. */
export function commandLineOf(pid: number): string[] {
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    } catch {
      return []
    }
  }
  if (process.platform === 'win32') return []
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim().split(/\s+/) ?? []
}

function look(pid: number): { name: string; parent: number } | undefined {
  if (process.platform === 'linux') {
    const parent = linuxStat(pid)?.parent
    const [program] = commandLineOf(pid)
    return parent === undefined || program === undefined ? undefined : { name: basename(program), parent }
  }
  if (process.platform === 'win32') return undefined
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,comm=', '-p', String(pid)], { encoding: 'utf8' })
  const [, parent, name] = stdout?.match(/^\s*(\d+)\s+(.*\S)/) ?? []
  return parent === undefined ? undefined : { name: basename(name), parent: Number(parent) }
}
