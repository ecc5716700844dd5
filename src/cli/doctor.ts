import { existsSync } from 'node:fs'
import process from 'node:process'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { checkEmailServer } from '../email.ts'
import { second } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import { backupsIn } from '../store/backup/schedule.ts'
import { localPath } from '../store/driver/local-file.ts'
import { inspectDatabase } from '../store/inspect.ts'
import { type MigrationPlan, planAfter } from '../store/migrate.ts'
import { StartError } from '../store/start-error.ts'
import { clientOption, runClientDoctor } from './client-doctor.ts'
import { CommandError, type ProcessCommand } from './command.ts'
import { type InsideFacts, insideFacts, lookInside, type ServerFacts } from './doctor/inside.ts'
import { judgeDatabase } from './doctor/judge-database.ts'
import { judgeMachine } from './doctor/judge-machine.ts'
import { judgeServer } from './doctor/judge-server.ts'
import { judgeAddresses, judgeBackups, judgeEmail, judgeKeyRing, judgeRuntime } from './doctor/judge-settings.ts'
import { readMachine } from './doctor/machine.ts'
import {
  broken,
  describeReport,
  type DoctorReport,
  exitCodeOf,
  type Finding,
  megabytes,
  ok,
  reportOf,
  skipped,
  warning,
} from './doctor/report.ts'
import { askReady, ownServer } from './health.ts'
import { applyMigrations } from './migrate.ts'
import { askHolder, isInUse } from './run-store-command.ts'

const emailTimeoutMs = 2 * second

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
    console.log(json ? JSON.stringify(report) : describeReport(report))
    return exitCodeOf(report)
  },
}

/** Look at the grid of this environment. */
export async function examine(env: Record<string, string | undefined>, isFull: boolean): Promise<DoctorReport> {
  const startedAt = performance.now()
  const milliseconds = () => Math.round(performance.now() - startedAt)
  let config: Config
  try {
    config = readConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const checks = [
      broken('settings', error.message.replaceAll('\n', ' '), '"agent-grid help settings" lists all settings.'),
      judgeRuntime(),
    ]
    return reportOf({ version, database: null, milliseconds: milliseconds(), checks, accounts: [] })
  }

  const path = localPath(config.databaseUrl)
  // The email server may take its time.
  const emailed = config.smtpUrl === undefined
    ? undefined
    : checkEmailServer(config.smtpUrl, emailTimeoutMs).then(() => undefined, (error: unknown) => error ?? 'no answer')
  const readiness = await askReady(ownServer(config))
  // Before the database is opened, which makes files beside it.
  const machine = path !== undefined && existsSync(path) ? readMachine(path) : undefined
  const seen = await look(config, path, isFull)
  const backups = config.backupDir === undefined ? [] : await backupsIn(config.backupDir)
  const checks = [
    ok('settings', 'The settings are valid.'),
    judgeAddresses(config),
    judgeRuntime(),
    ...judgeServer(config, readiness, seen.server),
    ...seen.findings,
    ...judgePlan(seen.plan, machine?.copies),
    ...(machine ? judgeMachine(machine, config) : []),
    ...(seen.database ? judgeDatabase(seen.database, config.durability) : []),
    judgeKeyRing(config, { file: machine?.keyRing, keys: seen.database?.keys, known: seen.server?.keyIds }),
    judgeEmail(config, await emailed),
    judgeBackups(config, backups[0], Date.now()),
  ]
  const accounts = (seen.database?.accounts ?? []).map(({ id, name, agents, messages, activityRows, bytesOfWeek }) => ({
    ...{ account_id: id, name, agents, messages, activity_rows: activityRows, bytes_of_week: bytesOfWeek },
  }))
  const database = path ?? new URL(config.databaseUrl).host
  return reportOf({ version, database, milliseconds: milliseconds(), checks: merged(checks), accounts })
}

/** What could be learned of the database, and of the server that has it. */
interface Seen {
  findings: Finding[]
  plan?: MigrationPlan
  database?: InsideFacts['database']
  server?: ServerFacts
}

async function look(config: Config, path: string | undefined, isFull: boolean): Promise<Seen> {
  if (path !== undefined && !existsSync(path)) {
    return {
      findings: [warning(
        'database',
        `There is no database at ${path} yet.`,
        'Start the grid, which makes it; or restore a backup; or set DATABASE_URL to the one that you mean.',
      )],
    }
  }
  try {
    return await inspectDatabase(config, Date.now, async ({ plan, health }): Promise<Seen> => {
      const planned = await plan()
      const findings = [ok('database', 'The database can be opened.')]
      // The queries are those of the newest schema.
      return { findings, plan: planned, database: planned.missing.length > 0 ? undefined : await health(isFull) }
    })
  } catch (error) {
    if (isInUse(error)) return await askServer(config, error)
    if (!(error instanceof StartError)) throw error
    // The first sentence says what is wrong, the others what to do.
    const [, found, action] = error.message.match(/^(.+?\.) ([A-Z].*)$/s) ?? [, error.message, 'See the log.']
    return { findings: [broken(checkOf(error), found, action)] }
  }
}

function checkOf({ code }: StartError): Finding['check'] {
  if (code === 'schema_newer' || code === 'migration_changed') return 'migrations'
  return code === 'database_damaged' ? 'integrity' : 'database'
}

/** A server holds the local file. */
async function askServer(config: Config, inUse: unknown): Promise<Seen> {
  try {
    const { database, ...server } = insideFacts.parse(await askHolder(config, inUse, lookInside, {}))
    const { schema_version } = await askHolder(config, inUse, applyMigrations, {})
    const plan = planAfter(Number(schema_version), 'The database of the running server')
    return { findings: [ok('database', 'A running grid has the database.')], plan, database, server }
  } catch (error) {
    const closed = 'Stop the grid and run the doctor again to see the database itself.'
    if (isInUse(error)) {
      return {
        findings: [broken(
          'database',
          `${(error as Error).message.split('. ')[0]}. It answers no commands.`,
          `If it is no server of this grid, end it. ${closed}`,
        )],
      }
    }
    if (error instanceof CommandError || (error as Error).name === 'ZodError') {
      return {
        findings: [warning(
          'version',
          'The running server is of another version, and does not know what the doctor asks.',
          `Restart the grid, so that it runs version ${version}.`,
        )],
      }
    }
    throw error
  }
}

function judgePlan(plan: MigrationPlan | undefined, copies: { files: string[]; bytes: number } | undefined): Finding[] {
  if (!plan) return []
  const { version: schema, newest, missing } = plan
  if (missing.length > 0) {
    return [
      warning(
        'migrations',
        `The database has schema ${schema}, and this program ${newest}.`,
        'The next start migrates it. Make a backup; "agent-grid migrate --check" names the steps.',
      ),
      skipped('integrity', 'The database is looked into when it is migrated.'),
    ]
  }
  const kept = copies && copies.files.length > 0
    ? ` A copy from before the upgrade is kept until a server has run for an hour: ${megabytes(copies.bytes)} MB.`
    : ''
  return [ok('migrations', `The database has the schema of this program, ${newest}.${kept}`)]
}

/** Of several findings of a check the bad ones, or else one. */
function merged(checks: Finding[]): Finding[] {
  const isBad = ({ status }: Finding) => status === 'broken' || status === 'warning'
  return checks.filter((found, i) => {
    if (isBad(found)) return true
    const others = checks.filter(({ check }) => check === found.check)
    return !others.some(isBad) && checks.findIndex(({ check }) => check === found.check) === i
  })
}
