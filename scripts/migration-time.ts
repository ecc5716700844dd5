/**
 * `npm run migration-time -- [--messages 1000000] [--from STEP]`: fills a database of an older schema, opens it as a
 * start does, and prints the log of the migration, what it took, and how long the messages then take to be placed in
 * conversations. Files are in `TMPDIR`.
 */
import { createClient } from '@libsql/client'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { migrations } from '../db/migrations.ts'
import { processDeps } from '../src/cli/process.ts'
import { readConfig } from '../src/config.ts'
import { migrate } from '../src/store/migrate.ts'
import { openStore } from '../src/store/store.ts'
import { followLog } from '../src/worker/threads.ts'
import { fill } from './bench/fill.ts'

const account = 'migrated'
const agents = 1_000
const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000000' },
    from: { type: 'string', default: '0021_guardrail_counts_of_account' },
  },
})
const messages = Number(values.messages)
const steps = migrations.findIndex(({ name }) => name === values.from) + 1
if (steps === 0) throw new Error(`There is no step ${values.from}.`)

const folder = mkdtempSync(join(tmpdir(), 'agent-grid-migration-'))
const path = join(folder, 'grid.db')
const url = `file:${path}`
try {
  const client = createClient({ url, concurrency: 1 })
  await migrate(client, migrations.slice(0, steps))
  await client.execute({
    sql: "INSERT INTO accounts (id, name, state, created_at, claimed_at) VALUES (?, 'Migrated', 'claimed', 1, 1)",
    args: [account],
  })
  await fill(client, account, { agents, messages, isLocal: true })
  client.close()
  console.log(`${messages} messages, schema ${steps}: ${megabytes(path)} MB`)

  const store = await measured(
    `Start, which migrates to schema ${migrations.length}`,
    () => openStore(processDeps(readConfig({ DATABASE_URL: url, LOG_LEVEL: 'info' }))),
  )
  await measured('Placing all messages in conversations, without other work', () => followLog(store))
  console.log(`Afterwards the file has ${megabytes(path)} MB, its copy ${megabytes(`${path}.schema-${steps}`)} MB.`)
  await store.close()
} finally {
  rmSync(folder, { recursive: true })
}

async function measured<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  const seconds = (ms: number) => (ms / 1_000).toFixed(1)
  console.log(
    `${what}: ${seconds(performance.now() - startedAt)} s, ${seconds((user + system) / 1_000)} s of processor`,
  )
  return result
}

function megabytes(file: string): number {
  return Math.round(statSync(file).size / 2 ** 20)
}
