/** The local database file: one process, one connection. See docs/delivery.md, "Local file lock". */
import { type Client, createClient } from '@libsql/client'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runtimeCommand } from '../../../scripts/runtime.ts'
import { processDeps } from '../../../src/cli/process.ts'
import { readConfig } from '../../../src/config.ts'
import { createLog } from '../../../src/log.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { localPath } from '../../../src/store/driver/local-file.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { waitFor } from '../../support/wait-for.ts'

let folder: string
let path: string
let closing: (() => unknown)[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-file-'))
  path = join(folder, 'data', 'grid.db')
  closing = []
})
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  ['full', 2],
  ['relaxed', 1],
])('durability %s sets the pragmas, and the one connection holds the lock', async (durability, synchronous) => {
  const { store, client } = await open({ DURABILITY: durability })

  expect(await pragmas(client)).toEqual({
    locking_mode: 'exclusive',
    journal_mode: 'wal',
    synchronous,
    foreign_keys: 1,
    cache_size: -16_000,
    wal_autocheckpoint: 4_000,
    journal_size_limit: 33_554_432,
  })
  expect(store.durability).toBe(durability)
  expect(openFiles()).toEqual([path, `${path}-wal`])
  expect(existsSync(`${path}-shm`)).toBe(false)
})

test('a log that a large commit made long is truncated', async () => {
  const { store } = await open({ DURABILITY: 'relaxed' })
  const logSize = () => statSync(`${path}-wal`).size

  await store.write([{
    sql: "INSERT INTO store_facts (key, value) VALUES ('large', hex(zeroblob(20000000)))",
    args: [],
  }])
  expect(logSize()).toBeGreaterThan(2 ** 25)
  await putFact(store, 'next')

  expect(logSize()).toBeLessThanOrEqual(2 ** 25)
})

test('the folder, the file, its log and the owner file are readable by their owner alone', async () => {
  await open()

  const modes = ['', '/grid.db', '/grid.db-wal', '/grid.db.owner'].map((
    name,
  ) => [name, modeOf(join(folder, 'data') + name)])
  expect(modes).toEqual([['', '700'], ['/grid.db', '600'], ['/grid.db-wal', '600'], ['/grid.db.owner', '600']])
})

test('a file that other users may read is made private', async () => {
  const { store } = await open()
  await store.close()
  chmodSync(path, 0o644)

  await open()

  expect([modeOf(path), modeOf(`${path}-wal`)]).toEqual(['600', '600'])
})

test('a second process is refused with the owner of the file, and the first goes on writing', async () => {
  const { store, client } = await open()
  await putFact(store, 'before')

  const startedAt = Date.now()
  const second = await hold()
  await putFact(store, 'after')

  expect(second.answer).toEqual({
    code: 'database_in_use',
    refused: expect.stringMatching(
      new RegExp(
        `^The database ${path} is in use by another process \\(process ${process.pid} on .+ since .+\\)\\. ` +
          'A local file takes one process; for several use libsql-server or Turso\\.$',
      ),
    ),
  })
  expect(Date.now() - startedAt).toBeLessThan(60_000)
  expect((await client.execute('PRAGMA integrity_check')).rows).toMatchObject([{ integrity_check: 'ok' }])
  await store.close()
  expect(await facts()).toEqual(expect.arrayContaining(['before', 'after']))
})

test('a second connection of the same process is refused too, and does not drop the lock of the first', async () => {
  await open()

  await expect(open()).rejects.toMatchObject({ code: 'database_in_use' })

  expect((await hold()).answer).toMatchObject({ code: 'database_in_use' })
})

test('the lock is released by closing', async () => {
  const { store } = await open()
  await store.close()

  const second = await hold()

  expect(second.answer).toEqual({ opened: true })
  expect(existsSync(`${path}.owner`)).toBe(true)
  await second.stop()
  expect(existsSync(`${path}.owner`)).toBe(false)
})

test('the lock is released by kill -9, and acknowledged writes are there', async () => {
  const first = await hold()
  expect(first.answer).toEqual({ opened: true })
  await first.kill()

  await open()

  expect(existsSync(`${path}.owner`)).toBe(true)
  for (const close of closing.splice(0)) await close()
  expect(await facts()).toEqual(expect.arrayContaining([`held by ${first.pid}`]))
})

test('LOCK_WAIT waits for a process that is stopping', async () => {
  const first = await hold()
  let refusals = 0
  const opened = open({ LOCK_WAIT: '30' }, undefined, () => refusals++)
  await waitFor('two refusals', () => refusals >= 2)
  await first.stop()

  const { store, client } = await opened
  await putFact(store, 'mine')

  expect(await pragmas(client)).toMatchObject({ locking_mode: 'exclusive', journal_mode: 'wal', synchronous: 2 })
  expect((await hold()).answer).toMatchObject({ code: 'database_in_use' })
})

test('LOCK_WAIT times out', async () => {
  await hold()
  const startedAt = Date.now()

  await expect(open({ LOCK_WAIT: '1' })).rejects.toMatchObject({ code: 'database_in_use' })

  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1_000)
})

test.each([
  ['names a living process', JSON.stringify({ pid: 1, host: 'here', since: 'today' })],
  ['is not JSON', '{'],
  ['has another shape', '[1]'],
])('the owner file decides nothing: one that %s does not prevent opening', async (_, text) => {
  const { store } = await open()
  await store.close()
  writeFileSync(`${path}.owner`, text)

  await expect(open()).resolves.toBeDefined()
})

test('the owner file decides nothing: without one a second process is refused too', async () => {
  await open()
  rmSync(`${path}.owner`)

  expect((await hold()).answer).toMatchObject({
    refused: expect.stringContaining('is in use by another process. A local'),
  })
})

test('closing checkpoints the log into the file', async () => {
  const { store } = await open()
  await putFact(store, 'kept')

  await store.close()

  expect(readdirSync(join(folder, 'data'))).toEqual(['grid.db', 'grid.db.keys'])
  expect(await facts()).toContain('kept')
})

test('closing commits queued writes first', async () => {
  const { store } = await open()

  const writes = Array.from({ length: 300 }, (_, n) => putFact(store, `fact ${n}`))
  await store.close()

  await Promise.all(writes)
  expect((await facts()).filter((fact) => fact.startsWith('fact '))).toHaveLength(300)
})

test('a full disk is unavailable and stops nothing', async () => {
  const faults: unknown[] = []
  const { store, client } = await open({}, (error) => faults.push(error))
  await client.execute('PRAGMA max_page_count = 1')

  const big = { sql: "INSERT INTO store_facts (key, value) VALUES ('big', ?)", args: ['x'.repeat(1_000_000)] }
  await expect(store.write([big])).rejects.toMatchObject({ code: 'unavailable' })
  await client.execute('PRAGMA max_page_count = 1000000')
  await putFact(store, 'after')

  expect(faults).toEqual([])
})

test.each([
  ['file:./data/grid.db', './data/grid.db'],
  ['file:grid.db', 'grid.db'],
  ['file:/srv/grid.db', '/srv/grid.db'],
  ['file:///srv/grid.db', '/srv/grid.db'],
  ['file:/srv/my%20data/grid.db', '/srv/my data/grid.db'],
  ['http://localhost:8080', undefined],
  ['libsql://grid.example', undefined],
])('%s is the path %s', (url, expected) => {
  expect(localPath(url)).toBe(expected)
})

test('a path with spaces is the path the driver opens', async () => {
  path = join(folder, 'my data', 'grid 1.db')

  await open({ DATABASE_URL: `file://${encodeURI(path)}` })

  expect(openFiles()).toEqual([path, `${path}-wal`])
})

/** `onRefusal` is called when another process holds the file and it will be tried again. */
async function open(
  env: Record<string, string> = {},
  onStorageFault?: (error: unknown) => void,
  onRefusal = () => {},
) {
  let client!: Client
  const config = readConfig({ DATABASE_URL: `file:${path}`, ...env })
  const store = await openStore({ ...processDeps(config), log: createLog('error', () => {}) }, {
    connect(options) {
      client = connect(options)
      const reconnect = client.reconnect.bind(client)
      client.reconnect = () => {
        onRefusal()
        return reconnect()
      }
      return client
    },
    onStorageFault,
  })
  closing.push(() => client.closed || store.close())
  return { store, client }
}

/**
 * Another process that tries to open the file. It runs on Bun, which starts fastest; the lock is that of the system.
 */
async function hold(lockWait = '0') {
  const [program, ...args] = [...runtimeCommand('bun'), 'test/store/driver/hold-database.ts', `file:${path}`, lockWait]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  closing.push(() => child.kill('SIGKILL') && ended)
  const output = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))))
  return {
    pid: child.pid,
    answer: JSON.parse(output),
    stop: () => (child.stdin.end(), ended),
    kill: () => (child.kill('SIGKILL'), ended),
  }
}

function putFact(store: Store, key: string) {
  return store.write([{ sql: "INSERT INTO store_facts (key, value) VALUES (?, '')", args: [key] }])
}

/** The keys in the file, read by a new connection. */
async function facts(): Promise<string[]> {
  const client = createClient({ url: `file:${path}` })
  const { rows } = await client.execute('SELECT key FROM store_facts')
  client.close()
  return rows.map(({ key }) => String(key))
}

async function pragmas(client: Client) {
  const names = [
    ...['locking_mode', 'journal_mode', 'synchronous', 'foreign_keys'],
    ...['cache_size', 'wal_autocheckpoint', 'journal_size_limit'],
  ]
  const values = await Promise.all(names.map(async (name) => (await client.execute(`PRAGMA ${name}`)).rows[0][name]))
  return Object.fromEntries(names.map((name, i) => [name, values[i]]))
}

/** The files in the folder that this process has open. */
function openFiles(): string[] {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return links.filter((link) => link.startsWith(folder)).sort()
}

function modeOf(name: string): string {
  return (statSync(name).mode & 0o777).toString(8)
}
