import { existsSync } from 'node:fs'
import process from 'node:process'
import type { Config } from '../config.ts'
import { localPath } from '../store/driver/local-file.ts'
import { inspectDatabase } from '../store/health.ts'
import { type MigrationPlan, planAfter } from '../store/migrate.ts'
import {
  attentionExitCode,
  type CommandArguments,
  type CommandOptions,
  type ProcessCommand,
  type StoreCommand,
  storeCommand,
} from './command.ts'
import { print } from './output.ts'
import { askHolder, isInUse } from './database-holder.ts'
import { runStoreCommand } from './store-command.ts'
import { table } from './tables.ts'
import { readConfig } from './settings.ts'

/** Opening the database migrates it. */
export const applyMigrations = storeCommand({
  name: 'migrate',
  summary: 'Migrate the database to the newest schema.',
  beginsGrid: () => true,
  options: {},
  run: ({ migrated, schemaVersion, keptFile }) =>
    Promise.resolve({ applied: migrated, schema_version: schemaVersion, copy: keptFile ?? null }),
  print: ({ schema_version, applied, copy }) =>
    table([
      ['Schema', schema_version],
      ['Applied', applied.join(' ') || 'nothing, because it was up to date'],
      ...(copy === null ? [] : [['Copy from before', copy] as const]),
    ]),
})

/** In a running server there is nothing to apply, because it migrated the database at its start. */
export const migrateServed: StoreCommand = {
  ...applyMigrations,
  run: (store) => Promise.resolve({ applied: [], schema_version: store.schemaVersion, copy: null }),
}

/** Options of the commands that migrate. */
export const backupOptions = {
  'no-backup': {
    placeholder: '',
    description: 'migrate a local file without keeping a copy of it',
    flag: true,
  },
  'backed-up': {
    placeholder: '',
    description: 'migrate a remote database without an "agent-grid backup" from the last 24 hours',
    flag: true,
  },
} as const satisfies CommandOptions

export function isWithoutBackup(args: CommandArguments): boolean {
  return args['no-backup'] !== undefined || args['backed-up'] !== undefined
}

/** With `--check` nothing changes, and the exit code is 3 if a start would migrate the database. */
export const migrate: ProcessCommand = {
  name: 'migrate',
  summary: 'Migrate the database to the newest schema. Every start does this too.',
  options: {
    check: {
      placeholder: '',
      description: 'only print what would be done; exit code 0 if nothing, 3 if steps are missing',
      flag: true,
    },
    ...backupOptions,
  },
  async start(json, { check, ...args }) {
    if (check === undefined) {
      const result = await runStoreCommand(applyMigrations, {}, process.env, { withoutBackup: isWithoutBackup(args) })
      print(json ? JSON.stringify(result) : applyMigrations.print(result))
      return 0
    }
    const config = readConfig(process.env)
    const plan = await findPlan(config)
    print(json ? JSON.stringify(report(plan)) : describe(plan, config))
    return plan.missing.length === 0 ? 0 : attentionExitCode
  },
}

/** The migrations that a start of this program would run. A server that holds the local file reports the schema. */
async function findPlan(config: Config): Promise<MigrationPlan> {
  const path = localPath(config.databaseUrl)
  if (path && !existsSync(path)) return planAfter(0)
  try {
    return await inspectDatabase(config, Date.now, ({ plan }) => plan())
  } catch (error) {
    if (!isInUse(error)) throw error
    const { schema_version } = await askHolder(config, error, applyMigrations, {})
    return planAfter(Number(schema_version))
  }
}

function report({ version, newest, missing }: MigrationPlan) {
  return { schema_version: version, newest_version: newest, missing }
}

function describe({ version, newest, missing }: MigrationPlan, { databaseUrl }: Config): string {
  const schema = table([['Schema', version], ['Newest', newest]])
  if (version > newest) {
    return `${schema}\nA newer agent-grid has migrated the database. This version would migrate nothing.`
  }
  if (missing.length === 0) return `${schema}\nThe database is up to date.`
  if (version === 0) return `${schema}\nThe database is empty. The first start creates its tables.`
  return [
    schema,
    '',
    'The next start, or "agent-grid migrate", applies:',
    ...missing.map((name) => `  ${name}`),
    '',
    localPath(databaseUrl)
      ? 'A copy of the file is kept next to it until a server has run for a day.'
      : 'Run "agent-grid backup FILE" first: without a backup from the last 24 hours the database is not migrated.',
  ].join('\n')
}
