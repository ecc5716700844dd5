/** Starts the service under test: `agent-grid serve` on a database that contains agents. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { startSqld } from '../../test/support/sqld.ts'
import type { BenchAgents, Population } from './agents.ts'
import {
  killAtBenchEnd,
  minimalEnv,
  onBenchEnd,
  type Runtime,
  type ServerProcess,
  startScript,
  temporaryFolder,
} from './server.ts'

export const databases = ['file', 'libsql'] as const
export type Database = (typeof databases)[number]

/** The bench's clients exceed the default limits. High limits are set, so that checking them is still measured. */
const unreachableLimits = {
  CALLS_PER_SECOND: '100000',
  MESSAGES_PER_DAY: '1000000000',
  MEGABYTES_PER_DAY: '1000000000',
  EXTERNAL_MESSAGES_PER_DAY: '1000000000',
  UNREAD_PER_INBOX: '1000000000',
  AGENTS_PER_ACCOUNT: '0',
}

/** Settings whose cost can be measured by comparing a run with them to a run without them. */
const measured = ['METRICS_TOKEN', 'OTEL_EXPORTER_OTLP_ENDPOINT']

/** A database's settings and agents. */
export interface BenchDatabase {
  env: Record<string, string>
  agents: BenchAgents
  /** The URL of libsql-server's admin API, which provides counters. */
  adminUrl?: string
}

export interface BenchGrid {
  server: ServerProcess
  agents: BenchAgents
}

/** Creates a database with agents and their history. */
export async function createDatabase(database: Database, population: Population): Promise<BenchDatabase> {
  const { url, adminUrl } = await newDatabase(database)
  const env: Record<string, string> = {
    DATABASE_URL: url,
    DURABILITY: 'full',
    LOG_LEVEL: 'warn',
    ...unreachableLimits,
  }
  for (const name of measured) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return { env, agents: await populate(env, population), adminUrl }
}

const filled = new Map<string, Promise<BenchDatabase>>()

/** Like `createDatabase`, but reuses a database. Filling one takes a long time, and measurements barely change it. */
export async function filledDatabase(database: Database, population: Population): Promise<BenchDatabase> {
  const name = JSON.stringify([database, population])
  const result = filled.get(name) ?? createDatabase(database, population)
  filled.set(name, result)
  return await result
}

/** Starts the service. Resolves when it is ready. */
export async function startGrid(runtime: Runtime, { env, agents }: BenchDatabase): Promise<BenchGrid> {
  return { agents, server: await startScript(runtime, ['src/main.ts', 'serve'], env, '/readyz') }
}

async function newDatabase(database: Database): Promise<{ url: string; adminUrl?: string }> {
  if (database === 'file') return { url: `file:${join(temporaryFolder(), 'grid.db')}` }
  const sqld = await startSqld()
  onBenchEnd(() => sqld.stop())
  return sqld
}

/** Fills the database in a child process, because a process locks a local file until the process ends. */
async function populate(env: Record<string, string>, population: Population): Promise<BenchAgents> {
  const script = ['--import', 'tsx', 'scripts/bench/agents.ts', JSON.stringify(population)]
  const running = promisify(execFile)(process.execPath, script, {
    env: { ...minimalEnv, ...env },
    maxBuffer: 64 * 2 ** 20,
  })
  killAtBenchEnd(running.child)
  return JSON.parse((await running).stdout)
}
