/** `agent-grid backup` of running servers under load, and `agent-grid restore`. */
import { createClient } from '@libsql/client'
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { buildBinary, removeBinary } from '../support/binary.ts'
import { isLong } from '../support/long.ts'
import {
  runCommand,
  type Runner,
  runtimes,
  startServe,
  type TemporaryDatabase,
  temporaryDatabase,
} from '../support/process.ts'
import { keepFigures } from '../support/proof-log.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'
import { Ledger, readAll, sendUntilGone } from './load.ts'

// `npm run lab -- backup` sets these variables.
const rounds = Number(process.env.BACKUP_ROUNDS ?? 1)
const megabytes = Number(process.env.BACKUP_MEGABYTES ?? 0)
const key = { BACKUP_KEY: 'correct horse battery' }
/** The backup's copies are made on threads, which work differently on each runtime. */
const runners: readonly Runner[] = isLong ? [...runtimes, 'binary'] : ['node']

let database: TemporaryDatabase
let other: TemporaryDatabase
beforeAll(async () => {
  if (isLong) await buildBinary()
})
afterAll(removeBinary)
beforeEach(() => {
  database = temporaryDatabase()
  other = temporaryDatabase()
})
afterEach(() => {
  database.remove()
  other.remove()
})

const pathOf = ({ folder }: TemporaryDatabase) => join(folder, 'grid.db')

async function run(url: string, words: string[], env: Record<string, string> = key, runner: Runner = 'node') {
  const { code, stdout, stderr } = await runCommand(runner, [...words, '--json'], { DATABASE_URL: url, ...env })
  if (code !== 0 && !stdout.startsWith('{')) throw new Error(stderr)
  return { code, ...JSON.parse(stdout) }
}

/** Returns the message texts in the database of a stopped server. */
async function textsIn({ url }: TemporaryDatabase): Promise<Set<string>> {
  const client = createClient({ url })
  const { rows } = await client.execute('SELECT body FROM messages')
  client.close()
  return new Set(rows.map(({ body }) => String(body)))
}

/** Adds a message with many parts of 1 MB that hardly compress. Resolves to its text. */
async function enlarge({ url }: TemporaryDatabase): Promise<string> {
  const client = createClient({ url })
  await client.execute({
    sql: `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
      SELECT account_id, 'large', id, alias, 'agent', '@reader', 'large', ? FROM agents LIMIT 1`,
    args: [Date.now()],
  })
  for (let n = 0; n < megabytes; n++) {
    await client.execute({
      sql:
        `INSERT INTO parts SELECT account_id, 'large.' || ?, 'large', 'text/plain', 'utf8', hex(randomblob(524288)), 1048576
        FROM messages WHERE id = 'large'`,
      args: [String(n)],
    })
  }
  client.close()
  return 'large'
}

test.each(runners)(
  'on %s, a backup under load can be restored, and contains every message acknowledged before it began',
  async (runner) => {
    const { agents: [reader, ...senders] } = await seedAgents(database.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
    const ledger = new Ledger()
    if (megabytes > 0) ledger.attempted.add(await enlarge(database))
    const server = await startServe(runner, { DATABASE_URL: database.url })
    const load = sendUntilGone(server.url, Array.from({ length: 32 }, (_, i) => senders[i % 4]), reader.alias, ledger)
    await load.firstAnswer
    const copies = []
    for (let round = 0; round < rounds; round++) {
      const begin = ledger.acknowledged.size + 100
      await waitFor('some messages', () => ledger.acknowledged.size > begin)
      const before = [...ledger.acknowledged]
      // The backup is in the folder of the database to restore, because on Deno a restore can read only that folder.
      const file = join(other.folder, `${round}.backup`)
      const startedAt = performance.now()
      expect(await run(database.url, ['backup', file])).toMatchObject({ code: 0, file, encrypted: true })
      copies.push({ file, before })
      const [seconds, during] = [(performance.now() - startedAt) / 1_000, ledger.acknowledged.size - before.length]
      if (megabytes > 0) keepFigures('backup', runner, 0, { megabytes, seconds: Math.round(seconds), during })
    }
    // The running server still holds the database's lock.
    expect(await run(database.url, ['restore', copies[0].file])).toMatchObject({ error: { code: 'database_in_use' } })
    server.signal('SIGKILL')
    await Promise.all([load.done, server.ended])
    expect(readdirSync(database.folder).filter((name) => name.includes('.copy-'))).toEqual([])

    for (const { file, before } of copies) {
      expect(await run(other.url, ['restore', file], key, runner)).toMatchObject({ code: 0 })
      const texts = await textsIn(other)
      expect(before.filter((text) => !texts.has(text))).toEqual([])
      expect([...texts].filter((text) => !ledger.attempted.has(text))).toEqual([])
    }
  },
  600_000,
)

test('a restored grid refuses older cursors, and continues with sequence numbers that were never used', async () => {
  const { agents: [reader, ada] } = await seedAgents(database.url, ['reader', 'ada'])
  let server = await startServe('node', { DATABASE_URL: database.url })
  await callTool(server.url, ada.key, 'send_message', { to: reader.alias, message: 'one' })
  const file = join(database.folder, 'b')
  expect(await run(database.url, ['backup', file])).toMatchObject({ code: 0, messages: 1 })
  await callTool(server.url, ada.key, 'send_message', { to: reader.alias, message: 'two' })
  const { cursor } = await callTool(server.url, reader.key, 'read_messages')
  expect(cursor).toBeDefined()
  await server.stop()

  const restored = await run(database.url, ['restore', file])
  expect(restored).toMatchObject({ code: 0, messages: 1, kept: [expect.stringContaining('grid.db.before-')] })
  expect(readFileSync(restored.kept[0]).length).toBeGreaterThan(0)

  server = await startServe('node', { DATABASE_URL: database.url })
  const refused = await callTool(server.url, reader.key, 'read_messages', { since: cursor })
  expect(refused).toMatchObject({ error: { code: 'cursor_expired' } })
  await callTool(server.url, ada.key, 'send_message', { to: reader.alias, message: 'three' })
  expect([...(await readAll(server.url, reader)).keys()]).toEqual(['one', 'three'])
  await server.stop()
  const client = createClient({ url: database.url })
  const { rows } = await client.execute('SELECT seq FROM messages ORDER BY seq')
  client.close()
  expect(rows[1].seq).toBeGreaterThan(1_000_000)
})

test.each(runners)('on %s, kill -9 during a backup and during a restore leaves the grid unchanged', async (runner) => {
  const { agents: [reader, ada] } = await seedAgents(database.url, ['reader', 'ada'])
  let server = await startServe(runner, { DATABASE_URL: database.url })
  for (let n = 0; n < 20; n++) {
    await callTool(server.url, ada.key, 'send_message', { to: reader.alias, message: `${n} ${'x'.repeat(9_000)}` })
  }
  const file = join(database.folder, 'b')
  const names = () => readdirSync(database.folder)
  const begun = run(database.url, ['backup', file], key, runner).catch(() => {})
  await waitFor('the copy', () => names().some((name) => name.includes('.copy-')))
  server.signal('SIGKILL')
  await Promise.all([begun, server.ended])
  rmSync(file, { force: true })

  server = await startServe(runner, { DATABASE_URL: database.url })
  expect(names().filter((name) => name.includes('.copy-'))).toEqual([])
  expect(await run(database.url, ['backup', file], key, runner)).toMatchObject({ code: 0, messages: 20 })
  await server.stop()
  // Stands for the partial file that a killed restore leaves.
  copyFileSync(file, `${pathOf(database)}.restoring`)
  expect(await run(database.url, ['restore', file], key, runner)).toMatchObject({ code: 0, messages: 20 })
  server = await startServe(runner, { DATABASE_URL: database.url })
  expect((await readAll(server.url, reader)).size).toBe(20)
  expect((await server.stop()).code).toBe(0)
})
