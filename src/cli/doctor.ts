import process from 'node:process'
import { existsSync } from 'node:fs'
import { jsonLine } from '../lib/redact.ts'
import { fullVersion, version } from '../lib/version.ts'
import { localPath } from '../store/driver/local-file.ts'
import { clientOption, runClientDoctor } from './client-doctor.ts'
import type { ProcessCommand } from './command.ts'
import { repairs } from './doctor/repairs.ts'
import { checkClock, checkServer } from './doctor/server.ts'
import { checkSettings } from './doctor/settings.ts'
import { checkConversations, checkDatabase, judgeSettings } from './doctor/database.ts'
import { checkDisk, checkDurability, checkFiles } from './doctor/files.ts'
import { conclusions, exitCodes, type Finding, findingLines, inOrder, statusOf } from './doctor/finding.ts'
import { print } from './output.ts'
import { runStoreCommand } from './store-command.ts'

/**
 * Exit code 0 if the grid is healthy, 3 if there are warnings, 1 if a check found a fault. Only repairs change the
 * grid.
 */
export const doctor: ProcessCommand = {
  name: 'doctor',
  summary: 'Check this grid, or with --client the coding clients here, and explain how to fix each fault.',
  options: {
    full: {
      placeholder: '',
      description: 'if no server runs, read the complete database, even if it is large',
      flag: true,
    },
    repair: {
      placeholder: 'NAME',
      description:
        'run a repair that the doctor suggests, or rotate-signing-key if the key that signs agent cards may have leaked',
      oneOf: repairs.map(({ name }) => name),
    },
    client: clientOption,
  },
  async start(json, { full, repair, client }) {
    if (client) return await runClientDoctor(json)
    if (repair) {
      const command = repairs.find(({ name }) => name === repair)!
      const result = await runStoreCommand(command, {})
      print(json ? jsonLine(result) : command.print(result))
      return 0
    }
    const report = await examine(process.env, full === 'yes')
    print(json ? jsonLine(report) : describe(report))
    return exitCodes[report.status]
  },
}

export interface DoctorReport {
  status: 'well' | 'warning' | 'broken'
  version: string
  checks: Finding[]
}

export async function examine(env: Record<string, string | undefined>, isFull: boolean): Promise<DoctorReport> {
  const checks = await check(env, isFull)
  return { status: statusOf(checks), version, checks }
}

async function check(env: Record<string, string | undefined>, isFull: boolean): Promise<Finding[]> {
  const { config: own, findings: invalid } = checkSettings(env)
  if (!own) return invalid
  const path = localPath(own.databaseUrl)
  const isLocal = path !== undefined && existsSync(path)
  // Runs before the database is opened. See `checkFiles`.
  const files = isLocal ? checkFiles(path) : []
  const { findings, health, server } = await checkDatabase(own, path, isFull)
  const config = { ...own, ...server?.settings }
  return inOrder([
    ...files,
    ...(isLocal ? checkDisk(path, config) : []),
    ...findings,
    ...(health ? [checkDurability(config, path, health), checkClock(health), checkConversations(health)] : []),
    await checkServer(config, server),
    // A running server has checked its own settings. They may differ from the settings of this shell.
    ...(server ? server.findings ?? [] : await judgeSettings(own, env, health)),
  ])
}

function describe({ checks, status }: DoctorReport): string {
  const end = { well: 'The grid is healthy.', ...conclusions }[status]
  return [`agent-grid ${fullVersion}`, '', ...findingLines(checks), '', end].join('\n')
}
