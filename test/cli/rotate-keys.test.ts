/** `agent-grid rotate-keys`: beside a running server, killed, and resumed. */
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createKeyRing, newKeyRing } from '../../src/lib/key-ring.ts'
import { emptyGrid, testGrid } from '../support/grid.ts'
import { runCommand, startServe, type TemporaryDatabase, temporaryDatabase } from '../support/process.ts'
import { waitFor } from '../support/wait-for.ts'

const count = 6_000
const [old, recent] = [newKeyRing(), newKeyRing()]
const [oldId, recentId] = [old, recent].map((ring) => ring.split(':')[0])

let database: TemporaryDatabase
beforeEach(() => {
  database = temporaryDatabase()
})
afterEach(() => database.remove())

test('a server that is killed with SIGKILL in the middle loses nothing, and the next run does the rest', async () => {
  await addTokens()
  const env = { DATABASE_URL: database.url, GRID_KEYS: `${recent},${old}`, LOG_LEVEL: 'info' }
  const server = await startServe('node', env)

  const command = runCommand('bun', ['rotate-keys', '--json'], env)
  await waitFor('the first batch', () => server.stderr().includes('Tokens were encrypted anew'))
  server.signal('SIGKILL')
  expect((await command).code).toBe(1)
  await server.ended

  const [before, after] = [await tokensByKey(`${recent},${old}`), await rotate(env)]
  expect(before[oldId]).toBeGreaterThan(0)
  expect(before[recentId]).toBeGreaterThan(0)
  expect(before[oldId] + before[recentId]).toBe(count)
  expect(after).toEqual({
    key: recentId,
    rotated: { guardrails: before[oldId], agents: 0, totps: 0, push_keys: 0, signing_keys: 0 },
    finished: true,
    unreadable: 0,
    keys: [{ key_id: recentId, tokens: count, in_ring: true }, { key_id: oldId, tokens: 0, in_ring: true }],
  })
  expect(await tokensByKey(recent)).toEqual({ [recentId]: count })
})

test('on a local file, the ring beside it is changed by putting a key in front', async () => {
  writeFileSync(`${database.url.slice('file:'.length)}.keys`, `${recent},${old}`)
  const grid = await emptyGrid({ url: database.url })
  await grid.close()

  const { code, stdout } = await runCommand('bun', ['rotate-keys'], { DATABASE_URL: database.url })

  expect(code).toBe(0)
  expect(stdout).toContain(`Newest key             ${recentId}\n`)
  expect(stdout).toContain(`Key ${recentId}: 0 tokens. New tokens get it.\n`)
  expect(stdout).toContain(`Key ${oldId}: 0 tokens. It can be removed from the ring`)
})

/** Make a database with many tokens under the old key. */
async function addTokens(): Promise<void> {
  const grid = await testGrid({ url: database.url, env: { GRID_KEYS: old } })
  const { store } = grid.acme
  for (let from = 0; from < count; from += 1_000) {
    const statements = await Promise.all(Array.from({ length: 1_000 }, async (_, n) => {
      const id = `guardrail-${from + n}`
      return store.change.guardrails.add({
        ...{ id, name: id, provider: 'webhook', config: '{}', action: 'block', onFailure: 'open', enabled: true },
        ...await store.seal('guardrails', id, `token ${id}`),
        createdAt: 1,
      })
    }))
    await store.write(statements)
  }
  await grid.close()
}

/** How many tokens each key has. Fails unless each opens with a ring to what was sealed. */
async function tokensByKey(ring: string): Promise<Record<string, number>> {
  const grid = await emptyGrid({ url: database.url, env: { GRID_KEYS: ring } })
  try {
    const counts: Record<string, number> = {}
    for (const table of grid.store.global.sealedTokens) {
      for (const token of await table.underOtherKeys('', { owner: '', id: '' }, 2 * count)) {
        expect(await createKeyRing(ring).open(token, table.context(token))).toBe(`token ${token.id}`)
        counts[token.tokenKeyId] = (counts[token.tokenKeyId] ?? 0) + 1
      }
    }
    return counts
  } finally {
    await grid.close()
  }
}

async function rotate(env: Record<string, string>) {
  const { code, stdout } = await runCommand('bun', ['rotate-keys', '--json'], env)
  expect(code).toBe(0)
  return JSON.parse(stdout)
}
