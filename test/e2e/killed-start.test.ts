/** Kills during a first start. See docs/operating/upgrades.md, "Upgrades". */
import { createClient } from '@libsql/client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { runCommand, temporaryDatabase } from '../support/process.ts'
import { waitFor } from '../support/wait-for.ts'

test.each<[string, (path: string) => boolean]>([
  ['its file', (path) => existsSync(path)],
  ['its log', (path) => existsSync(`${path}-wal`)],
  ['the first page of its log', (path) => sizeOf(`${path}-wal`) > 0],
  ['its tables', (path) => sizeOf(`${path}-wal`) > 100_000],
  ['its key ring', (path) => existsSync(`${path}.keys`)],
])('a first start that was killed after creating %s can be repeated', async (what, isMade) => {
  const database = temporaryDatabase()
  const [program, ...args] = runtimeCommand('bun', database.url)
  const env = { PATH: process.env.PATH, DATABASE_URL: database.url }
  const child = spawn(program, [...args, 'src/main.ts', 'migrate'], { env, stdio: 'ignore' })
  const closed = once(child, 'close')
  // The process may already have ended when the condition is checked.
  await waitFor(what, () => isMade(join(database.folder, 'grid.db')) || child.exitCode !== null)
  child.kill('SIGKILL')
  await closed

  expect(await runCommand('bun', ['migrate'], { DATABASE_URL: database.url })).toMatchObject({ code: 0 })

  const client = createClient({ url: database.url, concurrency: 1 })
  expect((await client.execute('PRAGMA user_version')).rows[0].user_version).toBe(migrations.length)
  expect((await client.execute('PRAGMA integrity_check')).rows[0].integrity_check).toBe('ok')
  client.close()
  database.remove()
})

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
