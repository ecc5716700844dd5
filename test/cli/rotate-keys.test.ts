/** `agent-grid rotate-keys`. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { emptyGrid } from '../support/grid.ts'
import { runCommand, startServe } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

const [old, recent] = [newKeyRing(), newKeyRing()]
const [oldId, recentId] = [old, recent].map((ring) => ring.split(':')[0])

const database = useDatabase()

test('rotate-keys accepts a key that was put first in the key ring of a local database', async () => {
  writeFileSync(`${database.url.slice('file:'.length)}.keys`, `${recent},${old}`)
  const grid = await emptyGrid({ url: database.url })
  await grid.close()

  const { code, stdout } = await runCommand('bun', ['rotate-keys'], { DATABASE_URL: database.url })

  expect(code).toBe(0)
  expect(stdout).toMatch(new RegExp(`^Newest key +${recentId}$`, 'm'))
  expect(stdout).toContain(`Key ${recentId}: 0 tokens. New tokens get it.\n`)
  expect(stdout).toContain(`Key ${oldId}: 0 tokens. It can be removed from the ring`)
})

test('rotate-keys refuses a newest key that the running server does not use yet', async () => {
  const ring = `${database.url.slice('file:'.length)}.keys`
  writeFileSync(ring, old)
  const server = await startServe('bun', { DATABASE_URL: database.url })
  writeFileSync(ring, `${recent},${old}`)

  const refused = await runCommand('bun', ['rotate-keys'], { DATABASE_URL: database.url })
  const rotated = await runCommand('bun', ['rotate-keys'], { DATABASE_URL: database.url, GRID_KEYS: old })
  await server.stop()

  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`encrypts with ${oldId}. Restart it first.`),
  })
  expect(rotated.code).toBe(0)
})
