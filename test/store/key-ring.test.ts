/** A process's key ring, and processes without a ring or with a ring other than the grid's. */
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { restoreFile } from '../../src/store/backup/restore.ts'
import { backUpStopped } from '../../src/store/backup/stopped.ts'
import { rotateKeys } from '../../src/store/rotate-keys.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { useDatabase } from '../support/use-database.ts'
import { startSqld } from '../support/sqld.ts'

const database = useDatabase()
let file: string
beforeEach(() => {
  file = `${database.folder}/grid.db.keys`
})

const sameId = (ring: string) => newKeyRing().replace(/^[^:]+/, ring.split(':')[0])
const addToken = ({ acme }: TestGrid, name: string) =>
  createGuardrail(acme.store, { name, provider: 'openai-moderation', token: `token of ${name}` })
const levels = ({ logs }: TestGrid, text: string) =>
  logs.filter((line) => line.includes(text)).map((line) => JSON.parse(line).level)
async function ready(grid: TestGrid) {
  const answer = await grid.request('/readyz')
  return { code: answer.status, ...await answer.json() }
}

test('the first start creates a key ring, and warns that the ring needs a copy', async () => {
  const grid = await testGrid({ url: database.url })

  expect(levels(grid, 'A new key ring was created')).toEqual(['warn'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await grid.close()
})

test('a lost ring is not replaced while tokens are stored: the start continues, logs it, and encrypts nothing', async () => {
  const first = await testGrid({ url: database.url })
  await addToken(first, 'mod')
  await first.close()
  const ring = readFileSync(file, 'utf8')
  const [id] = ring.split(':')
  rmSync(file)

  const without = await testGrid({ url: database.url, cast: first })
  expect(levels(without, 'There is no key ring, so nothing is encrypted')).toEqual(['error'])
  expect(await ready(without)).toMatchObject({ code: 200, status: 'ready', missingKeys: [id] })
  await expect(addToken(without, 'other')).rejects.toThrow('cannot store tokens')
  expect(existsSync(file)).toBe(false)
  await without.close()

  writeFileSync(file, ring)
  const again = await testGrid({ url: database.url, cast: first })
  expect(await ready(again)).not.toHaveProperty('missingKeys')
  await addToken(again, 'other')
  await again.close()
})

test('a start makes a ring file private if others could read it', async () => {
  writeFileSync(file, newKeyRing())
  chmodSync(file, 0o644)

  await (await testGrid({ url: database.url })).close()

  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('of two processes with different keys, only the one with the keys of stored tokens is ready', async () => {
  const server = await startSqld({ isRelaxed: true })
  const right = await testGrid({ url: server.url, env: { GRID_KEYS: newKeyRing() } })
  const wrong = await testGrid({ url: server.url, env: { GRID_KEYS: newKeyRing() }, cast: right })
  const [ofRight, ofWrong] = [new LeaseRecovery(right.store), new LeaseRecovery(wrong.store)]
  const heartbeats = async () => {
    for (const recovery of [ofRight, ofWrong, ofRight]) await recovery.heartbeat()
  }
  await heartbeats()
  expect([await ready(right), await ready(wrong)]).toMatchObject([{ code: 200 }, { code: 200 }])

  await addToken(right, 'mod')
  await heartbeats()
  expect([await ready(right), await ready(wrong)]).toMatchObject([{ code: 200 }, { code: 503, status: 'keys differ' }])
  expect(levels(wrong, 'keys of stored tokens that this one lacks')).toEqual(['error'])
  await expect(addToken(wrong, 'other')).rejects.toMatchObject({ code: 'unavailable' })
  await addToken(right, 'another')

  // The key counts as lost only after the process that has it stops.
  await ofRight.stop()
  await ofWrong.heartbeat()
  expect(await ready(wrong)).toMatchObject({ code: 200 })
  await addToken(wrong, 'other')
  await Promise.all([right.close(), wrong.close()])
  await server.stop()
})

test('a start refuses a different key under the id of a key that has encrypted a token', async () => {
  const first = await testGrid({ url: database.url })
  await addToken(first, 'mod')
  await first.close()
  const ring = readFileSync(file, 'utf8')
  const [id] = ring.split(':')

  writeFileSync(file, sameId(ring))
  await expect(testGrid({ url: database.url, cast: first })).rejects.toMatchObject({
    code: 'key_ring_wrong',
    message: expect.stringContaining(
      `${file} has another key ${id} than the one that encrypted stored tokens. Restore`,
    ),
  })
  const inSettings = testGrid({ url: database.url, cast: first, env: { GRID_KEYS: `${newKeyRing()},${sameId(ring)}` } })
  await expect(inSettings).rejects.toThrow(`GRID_KEYS has another key ${id} than`)

  writeFileSync(file, `${newKeyRing()},${ring}`)
  const again = await testGrid({ url: database.url, cast: first })
  expect((await rotateKeys(again.store)).unreadable).toBe(0)
  await again.close()
})

test('a backup is not restored next to a different key under the id of a key that has encrypted a token', async () => {
  const first = await testGrid({ url: database.url })
  await addToken(first, 'mod')
  await first.close()
  const backup = `${database.folder}/a.backup`
  await backUpStopped({ url: database.url }, { path: backup, key: 'plain', madeAt: 1, minFreeBytes: 0 })
  const path = `${database.folder}/restored.db`
  const restore = () => restoreFile({ backup, path, key: undefined, now: 1, gridKeys: undefined, withoutKeys: false })

  writeFileSync(`${path}.keys`, sameId(readFileSync(file, 'utf8')))
  await expect(restore()).rejects.toMatchObject({ code: 'key_ring_wrong' })
  expect(existsSync(path)).toBe(false)

  writeFileSync(`${path}.keys`, readFileSync(file))
  await restore()
})

test('an unused key can be replaced under its id', async () => {
  const ring = newKeyRing()
  const first = await testGrid({ url: database.url, env: { GRID_KEYS: ring } })
  await first.close()

  const again = await testGrid({ url: database.url, cast: first, env: { GRID_KEYS: sameId(ring) } })
  await addToken(again, 'mod')
  await again.close()

  await expect(testGrid({ url: database.url, cast: first, env: { GRID_KEYS: ring } }))
    .rejects.toMatchObject({ code: 'key_ring_wrong' })
})

test('of two processes with different keys under one id, the second cannot encrypt and is not ready', async () => {
  const server = await startSqld({ isRelaxed: true })
  const ring = newKeyRing()
  const first = await testGrid({ url: server.url, env: { GRID_KEYS: ring } })
  const second = await testGrid({ url: server.url, env: { GRID_KEYS: sameId(ring) }, cast: first })

  await addToken(first, 'mod')

  await expect(addToken(second, 'other')).rejects.toMatchObject({ code: 'unavailable' })
  expect([await ready(first), await ready(second)]).toMatchObject([{ code: 200 }, { code: 503, status: 'keys differ' }])
  await addToken(first, 'another')
  await Promise.all([first.close(), second.close()])
  await server.stop()
})
