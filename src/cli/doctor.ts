import process from 'node:process'
import { existsSync } from 'node:fs'
import { version } from '../lib/version.ts'
import { localPath } from '../store/driver/local-file.ts'
import { clientOption, runClientDoctor } from './client-doctor.ts'
import { attentionExitCode, type ProcessCommand } from './command.ts'
import { checkAddresses, checkEmail, checkSettings } from './doctor/settings.ts'
import { checkBackups, checkDatabase, checkKeyRing } from './doctor/database.ts'
import { checkClock, checkServer } from './doctor/server.ts'
import { checkDisk, checkDurability, checkFiles } from './doctor/files.ts'
import type { Finding } from './doctor/finding.ts'

/** Exit code 0 if the grid is well, 3 if there are warnings, 1 if something is broken. Changes nothing. */
export const doctor: ProcessCommand = {
  name: 'doctor',
  summary: 'Say whether this grid is well, and what to do if it is not.',
  options: {
    full: {
      placeholder: '',
      description: 'read the whole database, however large it is, if no server runs',
      flag: true,
    },
    client: clientOption,
  },
  async start(json, { full, client }) {
    if (client) return await runClientDoctor(json)
    const report = await examine(process.env, full === 'yes')
    console.log(json ? JSON.stringify(report) : describe(report))
    return { well: 0, warning: attentionExitCode, broken: 1 }[report.status]
  },
}

/** What the doctor says. See docs/operations.md, "Doctor". */
export interface DoctorReport {
  /** The worst of the checks. */
  status: 'well' | 'warning' | 'broken'
  version: string
  checks: Finding[]
}

/** Look at the grid of this environment. */
export async function examine(env: Record<string, string | undefined>, isFull: boolean): Promise<DoctorReport> {
  const checks = await check(env, isFull)
  const has = (status: Finding['status']) => checks.some((found) => found.status === status)
  return { status: has('broken') ? 'broken' : has('warning') ? 'warning' : 'well', version, checks }
}

async function check(env: Record<string, string | undefined>, isFull: boolean): Promise<Finding[]> {
  const { config, findings } = checkSettings(env)
  if (!config) return findings
  const path = localPath(config.databaseUrl)
  findings.push(checkAddresses(config))
  // Before the database is opened: see `checkFiles`.
  if (path !== undefined && existsSync(path)) findings.push(...checkFiles(path), ...checkDisk(path, config))
  const { findings: found, health, server } = await checkDatabase(config, path, isFull)
  findings.push(...found)
  if (health) {
    findings.push(
      checkDurability(config, path, health),
      checkKeyRing(config, path, health, server),
      checkClock(health),
    )
  }
  return [...findings, await checkServer(config, server), await checkEmail(config), await checkBackups(config)]
}

/** The report for people. */
function describe({ version, checks, status }: DoctorReport): string {
  const width = Math.max(...checks.map(({ check }) => check.length))
  const lines = checks.flatMap(({ check, status, found, action }) => {
    const line = `${status.padEnd(8)} ${check.replace('_', ' ').padEnd(width)} ${found}`
    return action === null ? [line] : [line, `${' '.repeat(width + 10)}→ ${action}`]
  })
  const end = {
    well: 'The grid is well.',
    warning: 'Nothing is broken, but see the warnings.',
    broken: 'Something is broken.',
  }[status]
  return [`agent-grid ${version}`, '', ...lines, '', end].join('\n')
}
