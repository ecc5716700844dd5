/** The message of a refused start states the file or address, the reason, and the next step. */
import { createClient } from '@libsql/client'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { newerSchema } from '../support/later-step.ts'
import { isLong } from '../support/long.ts'
import { runCommand, runtimes } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'
import { runJson } from '../support/seed-agents.ts'

const database = useDatabase()
const isRoot = process.getuid?.() === 0
const nobody = 65_534
const uid = isRoot ? nobody : process.getuid?.()

test.each(isLong ? runtimes : ['node'] as const)(
  'on %s, a refused start names the file or address, the reason and the next step',
  async (runtime) => {
    await runJson(database.url, 'migrate')
    const copy = (name: string) => {
      const folder = join(database.folder, name)
      mkdirSync(folder)
      for (const file of ['grid.db', 'grid.db.keys']) cpSync(join(database.folder, file), join(folder, file))
      return join(folder, 'grid.db')
    }
    const [text, empty, damaged, ring, ringFolder, newer, edited, foreign, folder, file] = [
      'text',
      'empty',
      'damaged',
      'ring',
      'ring-folder',
      'newer',
      'edited',
      'foreign',
      'folder',
      'file',
    ].map(copy)
    writeFileSync(text, 'This is a letter, and not a database. '.repeat(10))
    writeFileSync(empty, '')
    writeSync(openSync(damaged, 'r+'), new Uint8Array(3_000).fill(255), 0, 3_000, 100)
    writeFileSync(`${ring}.keys`, 'no ring')
    rmSync(`${ringFolder}.keys`)
    mkdirSync(`${ringFolder}.keys`)
    await change(newer, ...newerSchema)
    await change(edited, "UPDATE __drizzle_migrations SET hash = 'x'")
    rmSync(foreign)
    await change(foreign, 'CREATE TABLE songs (id INTEGER PRIMARY KEY AUTOINCREMENT)')
    const closed = await freePort()

    const starts = {
      [`file:${text}`]: ['not_a_database', `${text} is not an SQLite database. Set DATABASE_URL`],
      [`file:${empty}`]: ['database_empty', `The database ${empty} is empty, but the key ring ${empty}.keys`],
      [`file:${damaged}`]: [
        'database_damaged',
        `The database ${damaged} is damaged. Keep a copy of it and of ${damaged}-wal, and restore`,
      ],
      [`file:${ring}`]: ['invalid_key_ring', `${ring}.keys is not a key ring. Restore it from a backup`],
      [`file:${ringFolder}`]: ['key_ring_not_accessible', `The key ring ${ringFolder}.keys cannot be opened (EISDIR)`],
      [`file:${newer}`]: ['schema_newer', `The database ${newer} has schema`],
      [`file:${edited}`]: [
        'migration_changed',
        `The database ${edited} was migrated with another version of step 0000_grid than this program has. ` +
        'A database of a version before 1.0.0, or of a development version, is not migrated: carry its accounts over.',
      ],
      [`file:${foreign}`]: [
        'database_not_empty',
        `The database ${foreign} belongs to another program: it has the table songs`,
      ],
      [`file:${join(folder, '..')}`]: ['database_not_writable', 'it is a folder). Set DATABASE_URL to a file'],
      [`file:${file}/grid.db`]: ['database_not_writable', `${file} is not a folder). Set DATABASE_URL to a file`],
      [`http://127.0.0.1:${closed}`]: [
        'database_unreachable',
        'is its address, and start again. Use a host name and not an IP address: libsql-server reads the namespace',
      ],
      [`http://localhost:${closed}`]: [
        'database_unreachable',
        `The database at localhost:${closed} cannot be reached (`,
      ],
    }
    for (const [url, [code, message]] of Object.entries(starts)) {
      const env = { DATABASE_URL: url, PORT: '0' }
      const result = await runCommand(runtime, ['serve', '--json'], env)
      expect({ url, exit: result.code, error: JSON.parse(result.stdout).error }).toEqual({
        url,
        exit: 1,
        error: { code, message: expect.stringContaining(message) },
      })
    }
    expect(statSync(join(folder, '..')).isDirectory()).toBe(true)
    expect(readFileSync(text, 'utf8')).toContain('a letter')
  },
)

test.each([
  ['', 'EACCES'],
  [' and contains a database', 'SQLITE_READONLY'],
])('a refused start names a folder that is not writable%s, with the reason', async (content, reason) => {
  if (content) await runJson(database.url, 'migrate')
  if (isRoot) {
    for (const name of readdirSync(database.folder)) chownSync(join(database.folder, name), nobody, nobody)
  }
  const files = readdirSync(database.folder)
  chmodSync(database.folder, 0o555)
  const { status, stderr } = migrateAsNobody()

  expect([status, stderr.split('\n').at(-2)]).toEqual([
    1,
    `The database ${database.folder}/grid.db cannot be opened for writing (${reason}). Let the user of this process, uid ${uid}, write: run "sudo chown ${uid} ${
      [database.folder, ...content ? files.map((name) => join(database.folder, name)) : []].join(' ')
    }". Or set DATABASE_URL to another file.`,
  ])
})

test('a refused start names a key ring that belongs to another user, not the database', async () => {
  await runJson(database.url, 'migrate')
  if (isRoot) {
    for (const name of ['', ...readdirSync(database.folder)]) chownSync(join(database.folder, name), nobody, nobody)
    chownSync(join(database.folder, 'grid.db.keys'), 0, 0)
  }
  chmodSync(join(database.folder, 'grid.db.keys'), isRoot ? 0o600 : 0)
  const { status, stderr } = migrateAsNobody()

  expect([status, stderr]).toEqual([
    1,
    `The key ring ${database.folder}/grid.db.keys cannot be opened (EACCES). Let the user of this process, uid ${uid}, write: run "sudo chown ${uid} ${database.folder}/grid.db.keys". Do not remove it. Without it the stored tokens of other services cannot be decrypted.\n`,
  ])
})

test('a refused start names a remote database that requires a token', async () => {
  const server = createServer((_, response) => response.writeHead(401).end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, stderr } = await runCommand('bun', ['serve'], { DATABASE_URL: `http://${address}`, PORT: '0' })
  server.close()

  expect(code).toBe(1)
  expect(stderr).toContain(`The database at ${address} refuses this grid (HTTP 401). Set DATABASE_AUTH_TOKEN`)
})

/** Runs the program as a user other than root. */
function migrateAsNobody() {
  return spawnSync(process.execPath, ['scripts/node.js', 'src/main.ts', 'migrate'], {
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
    env: { DATABASE_URL: database.url },
    encoding: 'utf8',
  })
}

async function change(path: string, ...statements: string[]): Promise<void> {
  const client = createClient({ url: `file:${path}` })
  await client.batch(statements)
  client.close()
}
