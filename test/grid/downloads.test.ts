/** Unread downloads: the memory they use, and their limits. docs/security.md, "Overload". */
import { beforeEach, expect, test } from 'vitest'
import { postA2a, send10 } from '../support/a2a.ts'
import type { Browser } from '../support/browse.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { person, signedIn } from '../support/people.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
let owner: Browser
beforeEach(async () => {
  grid = await testGrid()
  owner = await signedIn(grid, await person(grid, { role: 'owner' }))
})

test('a key can have at most twenty unread part downloads, and HEAD requests take no slot', async () => {
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
])('an export (%s) takes a download slot until it is read', async (path) => {
  const unread = await owner.request(path())
  expect(grid.store.waiting.downloads.count).toBe(1)

  await unread.text()
  await waitFor('the place', () => grid.store.waiting.downloads.count === 0)
})
