/** Copies of the local file while it is written. */
import { createClient } from '@libsql/client'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nextIteration } from '../../../src/lib/next-iteration.ts'
import type { Statement } from '../../../src/store/driver/binding.ts'
import { LogLostError } from '../../../src/store/driver/log-reader.ts'
import type { Store } from '../../../src/store/store.ts'
import { type LocalFile, localFile, pragmas } from '../../support/local-file.ts'

let file: LocalFile
beforeEach(() => file = localFile())
afterEach(() => file.close())

/** Large rows, so that the log is folded several times during a copy. */
const insert = (n: number): Statement => ({
  sql: 'INSERT INTO store_facts (key, value) VALUES (?, ?)',
  args: [`row-${n}`, 'x'.repeat(20_000)],
})

async function filled(rows: number) {
  const { store, client } = await file.open({ DURABILITY: 'relaxed', MIN_FREE_MB: '0' })
  for (let n = 0; n < rows; n += 100) await store.write(Array.from({ length: 100 }, (_, i) => insert(n + i)))
  return { store, client }
}

/** Writes rows, at most `max`, until it is stopped. */
function writer(store: Store, from: number, max: number) {
  const state = { written: from, isStopped: false, ended: Promise.resolve() }
  state.ended = (async () => {
    for (; !state.isStopped && state.written < from + max; state.written++) {
      await store.write([
        insert(state.written),
        { sql: 'UPDATE store_facts SET value = ? WHERE key = ?', args: [`${state.written}`, 'row-0'] },
      ])
      await new Promise<void>(nextIteration)
    }
  })()
  return state
}

async function inspect(path: string) {
  const client = createClient({ url: `file:${path}` })
  const one = async (sql: string) => Object.values((await client.execute(sql)).rows[0])[0]
  const found = {
    check: await one('PRAGMA integrity_check'),
    rows: Number(await one("SELECT count(*) FROM store_facts WHERE key LIKE 'row-%'")),
    last: Number(await one("SELECT max(CAST(substr(key, 5) AS integer)) FROM store_facts WHERE key LIKE 'row-%'")),
    updated: Number(await one("SELECT value FROM store_facts WHERE key = 'row-0'")),
  }
  client.close()
  return found
}

test('a copy that is made under load is the state of one commit, and has all that was acknowledged before it', async () => {
  const { store, client } = await filled(500)
  const load = writer(store, 500, 700)
  for (let n = 0; n < 2; n++) {
    const before = load.written
    const target = join(file.folder, `copy-${n}.db`)

    await store.copyTo(target)

    const found = await inspect(target)
    expect(found).toEqual({ check: 'ok', rows: found.last + 1, last: found.updated, updated: found.last })
    expect(found.rows).toBeGreaterThanOrEqual(before)
  }
  load.isStopped = true
  await load.ended
  expect(load.written).toBeGreaterThan(550)
  expect(readdirSync(file.folder).filter((name) => name.endsWith('.pages'))).toEqual([])
  expect(await pragmas(client)).toMatchObject({ locking_mode: 'exclusive', wal_autocheckpoint: 4_000 })
})

test('a copy does not end the lock of the file', async () => {
  const { store } = await filled(100)
  await store.copyTo(join(file.folder, 'copy.db'))

  const other = createClient({ url: `file:${file.path}` })
  await expect(other.execute('SELECT 1 FROM store_facts')).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
  other.close()
})

test('copies that are asked for at the same time are made one after the other', async () => {
  const { store } = await filled(200)
  const targets = [1, 2, 3].map((n) => join(file.folder, `copy-${n}.db`))

  await Promise.all(targets.map((target) => store.copyTo(target)))

  for (const target of targets) expect(await inspect(target)).toMatchObject({ check: 'ok', rows: 200 })
})

test('closing the store ends a copy, which leaves no file', async () => {
  const { store } = await filled(1_000)
  const target = join(file.folder, 'copy.db')
  const copied = store.copyTo(target)
  const closed = store.close()

  await expect(copied).rejects.toMatchObject({ code: 'unavailable' })
  await closed
  expect(existsSync(target)).toBe(false)
})

test('a copy fails if somebody else folds the log, and the log is folded as before', async () => {
  const { store, client } = await filled(300)
  const copied = store.copyTo(join(file.folder, 'copy.db'))
  let isSettled = false
  const settled = copied.catch((error) => error).finally(() => isSettled = true)
  for (let n = 300; !isSettled; n++) {
    await store.write([insert(n)])
    await client.execute('PRAGMA wal_checkpoint(PASSIVE)')
  }

  expect(await settled).toBeInstanceOf(LogLostError)
  expect(await pragmas(client)).toMatchObject({ wal_autocheckpoint: 4_000 })
  await store.copyTo(join(file.folder, 'copy.db'))
  expect(await inspect(join(file.folder, 'copy.db'))).toMatchObject({ check: 'ok' })
})
