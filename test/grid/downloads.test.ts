/** Downloads that nobody reads: what they hold, and how many there can be. docs/security.md, "Overload". */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeArchiveRows } from '../../src/store/archive/write-rows.ts'
import { postA2a, send10 } from '../support/a2a.ts'
import type { Browser } from '../support/browse.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { csrfTokenOf, person, signedIn } from '../support/people.ts'
import { postWithToken } from '../support/roles.ts'
import { waitFor } from '../support/wait-for.ts'

let folder: string
let grid: TestGrid
let owner: Browser
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-downloads-'))
  grid = await testGrid({ url: `file:${join(folder, 'grid.db')}`, env: { MIN_FREE_MB: '0' } })
  owner = await signedIn(grid, await person(grid, { role: 'owner' }))
})
afterEach(async () => {
  await grid.close()
  rmSync(folder, { recursive: true })
})

const exportPath = () => `/accounts/${grid.acme.id}/settings/account/export`

/** The answer as it comes, and not read. */
async function exportAccount(): Promise<Response> {
  const body = new URLSearchParams({ csrf: await csrfTokenOf(owner, `/accounts/${grid.acme.id}`) })
  return await owner.request(exportPath(), { method: 'POST', body, headers: { Origin: grid.deps.config.appUrl } })
}

const filesOfCopies = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /copy-.*\//.test(name))

test('an export that is not read keeps no file, and is the only one of its account', async () => {
  const unread = await exportAccount()
  const reader = unread.body!.getReader()
  expect((await reader.read()).value!.length).toBeGreaterThan(10)

  expect(filesOfCopies()).toEqual([])
  const second = await postWithToken(owner, exportPath())
  expect(second.text).toContain('This account may have one archive at a time')
  const sent = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'still' })
  expect(sent.code).toBeUndefined()

  await reader.cancel()
  await waitFor('the place', () => grid.store.waiting.archives.count === 0)
  const third = await exportAccount()
  expect(await third.text()).toContain('"format":"agent-grid-archive"')
  expect(grid.store.waiting.archives.count).toBe(0)
})

test('an export that fails gives its place back, and tells the owner no folder', async () => {
  await grid.close()
  const readSpace = () => Promise.resolve({ free: 1_000, total: 1e12 })
  grid = await testGrid({ url: `file:${join(folder, 'full.db')}`, env: { MIN_FREE_MB: '0' }, readSpace })
  owner = await signedIn(grid, await person(grid, { role: 'owner' }))

  const { text: page } = await postWithToken(owner, exportPath())

  expect(page).toContain('too little space for an export')
  expect(page).not.toContain(folder)
  expect(grid.store.waiting.archives.count).toBe(0)
  expect(filesOfCopies()).toEqual([])
})

test('a key has twenty unread parts at most, and HEAD takes no place', async () => {
  const raw = { raw: Buffer.alloc(50_000, 1).toString('base64'), mediaType: 'image/png', filename: 'cat.png' }
  await postA2a(grid, grid.alice.key, send10({ parts: [{ text: 'x' }, raw] }))
  const [message] = (await callTool(grid, grid.bob.key, 'read_messages')).text
  const get = (method = 'GET') =>
    grid.request(`/api/v1/parts/${message.parts[0].part_id}`, {
      method,
      headers: { Authorization: `Bearer ${grid.bob.key}` },
    })

  for (let n = 0; n < 22; n++) expect((await get('HEAD')).status).toBe(200)
  expect(grid.store.waiting.downloads.count).toBe(0)
  const unread = []
  for (let n = 0; n < 20; n++) unread.push(await get())
  const refused = await get()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])

  await Promise.all(unread.map(({ body }) => body!.cancel()))
  expect((await (await get()).arrayBuffer()).byteLength).toBe(50_000)
  await waitFor('the places', () => grid.store.waiting.downloads.count === 0)
})

test.each([
  () => `/accounts/${grid.acme.id}/activity/export?as=csv`,
  () => `/accounts/${grid.acme.id}/held/decisions/export`,
])('%s of a page takes a place until it was read', async (path) => {
  const unread = await owner.request(path())
  expect(grid.store.waiting.downloads.count).toBe(1)

  await unread.text()
  await waitFor('the place', () => grid.store.waiting.downloads.count === 0)
})

test('an archive that would fill the disk is not gone on with', async () => {
  const copy = join(folder, 'copied.db')
  await grid.store.copyTo(copy)
  const input = { copy, target: join(folder, 'archive'), account: grid.acme.id, reader: undefined, madeAt: 0 }
  const readSpace = () => Promise.resolve({ free: 2 ** 20, total: 2 ** 40 })

  await expect(writeArchiveRows({ ...input, minFreeBytes: 0, readSpace })).rejects.toMatchObject({
    code: 'storage_full',
  })
})
