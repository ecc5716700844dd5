/** The real service under test: `agent-grid serve` on a database with agents in it. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { startSqld } from '../../test/support/sqld.ts'
import type { BenchAgents } from './agents.ts'
import { atEnd, type Runtime, type Server, startScript, temporaryFolder } from './server.ts'

export const databases = ['file', 'libsql'] as const
export type Database = (typeof databases)[number]

/** How many mailboxes are filled and read in turn. */
export const readerCount = 512

export interface BenchGrid extends BenchAgents {
  server: Server
}

/** A fresh database with its agents, and the service on it under `runtime`. */
export async function startGrid(runtime: Runtime, database: Database, senderCount: number): Promise<BenchGrid> {
  const env = { DATABASE_URL: await newDatabase(database), DURABILITY: 'full', LOG_LEVEL: 'warn' }
  const agents = addAgents(env, senderCount)
  return { ...agents, server: await startScript(runtime, ['src/main.ts', 'serve'], env) }
}

async function newDatabase(database: Database): Promise<string> {
  if (database === 'file') return `file:${join(temporaryFolder(), 'grid.db')}`
  const sqld = await startSqld()
  atEnd(() => sqld.stop())
  return sqld.url
}

/** A local file takes one process, and its lock ends with that process: so this one never opens it. */
function addAgents(env: Record<string, string>, senderCount: number): BenchAgents {
  const script = ['--import', 'tsx', 'scripts/bench/agents.ts', String(senderCount), String(readerCount)]
  return JSON.parse(execFileSync(process.execPath, script, { env: { ...process.env, ...env }, encoding: 'utf8' }))
}
