/** The real service under test: `agent-grid serve` on a database with agents in it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startSqld } from '../../test/support/sqld.ts'
import type { BenchAgents, Population } from './agents.ts'
import { atEnd, bareEnv, endWithBench, type Runtime, type Server, startScript, temporaryFolder } from './server.ts'

export const databases = ['file', 'libsql'] as const
export type Database = (typeof databases)[number]

/** A database, and who is in it. */
export interface Place {
  env: Record<string, string>
  agents: BenchAgents
}

export interface BenchGrid {
  server: Server
  agents: BenchAgents
}

/** A fresh database with its agents and their history. */
export async function newPlace(database: Database, population: Population): Promise<Place> {
  const env = { DATABASE_URL: await newDatabase(database), DURABILITY: 'full', LOG_LEVEL: 'warn' }
  return { env, agents: await populate(env, population) }
}

const filled = new Map<string, Promise<Place>>()

/** `newPlace`, or the same one as before: filling takes long, and what is measured in it adds little. */
export async function filledPlace(database: Database, population: Population): Promise<Place> {
  const name = JSON.stringify([database, population])
  const place = filled.get(name) ?? newPlace(database, population)
  filled.set(name, place)
  return await place
}

/** The service under `runtime`; it answers when its database does. */
export async function startGrid(runtime: Runtime, { env, agents }: Place): Promise<BenchGrid> {
  return { agents, server: await startScript(runtime, ['src/main.ts', 'serve'], env, '/readyz') }
}

async function newDatabase(database: Database): Promise<string> {
  if (database === 'file') return `file:${join(temporaryFolder(), 'grid.db')}`
  const sqld = await startSqld()
  atEnd(() => sqld.stop())
  return sqld.url
}

/** A local file takes one process, and its lock ends with that process: so this one never opens it. */
async function populate(env: Record<string, string>, population: Population): Promise<BenchAgents> {
  const script = ['--import', 'tsx', 'scripts/bench/agents.ts', JSON.stringify(population)]
  const running = promisify(execFile)(process.execPath, script, {
    env: { ...bareEnv, ...env },
    maxBuffer: 64 * 2 ** 20,
  })
  endWithBench(running.child)
  return JSON.parse((await running).stdout)
}
