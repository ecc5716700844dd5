/** Kills during a migration. See docs/operations.md, "Migrations". */
import { createClient } from '@libsql/client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { fill } from '../../scripts/bench/fill.ts'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { migrate } from '../../src/store/migrate.ts'
import { runCommand, type TemporaryDatabase, temporaryDatabase } from '../support/process.ts'

const step = migrations.findIndex(({ name }) => name === '0022_message_log')
const messages = 8_000
let database: TemporaryDatabase
let path: string
beforeEach(() => {
  database = temporaryDatabase()
  path = join(database.folder, 'grid.db')
})
afterEach(() => database.remove())

test('a start that is killed while it migrates has done whole steps, and the next one does the others', async () => {
  const client = createClient({ url: database.url, concurrency: 1 })
  await migrate(client, migrations.slice(0, step))
  await client.execute("INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 1)")
  await fill(client, 'a', { agents: 10, messages, isLocal: true })
  client.close()
  const whole = { messages, dangling: 0, integrity: 'ok' }

  for (let kill = 1; kill <= 2; kill++) {
    await killIn(migrations[step].name)
    const { version, ...state } = await stateOf(path)
    expect(state).toEqual(whole)
    // On a loaded machine the kill may come late.
    expect(version).toBeGreaterThanOrEqual(step)
    expect(await stateOf(`${path}.schema-${step}`)).toEqual({ version: step, ...whole })
  }

  expect((await runCommand('bun', ['migrate'], { DATABASE_URL: database.url })).code).toBe(0)
  expect(await stateOf(path)).toEqual({ version: migrations.length, ...whole })
})

/** Kill a start as soon as its log says that the step begins. */
async function killIn(name: string): Promise<void> {
  const [program, ...args] = runtimeCommand('bun', database.url)
  const child = spawn(program, [...args, 'src/main.ts', 'migrate'], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, BALLAST_MB: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
    if (log.includes(name)) child.kill('SIGKILL')
  })
  await once(child, 'close')
}

/** Of a copy with its log: a client that was closed here would hold the file until its statements are collected. */
async function stateOf(path: string) {
  const copy = join(mkdtempSync(join(database.folder, 'copy-')), 'grid.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) cpSync(path + end, copy + end)
  const client = createClient({ url: `file:${copy}`, concurrency: 1 })
  const value = async (sql: string) => (await client.execute(sql)).rows[0][0]
  const state = {
    version: await value('PRAGMA user_version'),
    messages: await value('SELECT count(*) FROM messages'),
    dangling: (await client.execute('PRAGMA foreign_key_check')).rows.length,
    integrity: await value('PRAGMA integrity_check'),
  }
  client.close()
  return state
}
