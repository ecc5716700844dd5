/** Export downloads that clients do not read, and their limits. See docs/security.md, "Overload". */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placesOf } from '../../../src/features/archives/download.ts'
import { writeArchiveRows } from '../../../src/features/archives/store/write-rows.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { csrfTokenOf, person, signedIn } from '../../support/people.ts'
import { postWithToken } from '../../support/roles.ts'
import { waitFor } from '../../support/wait-for.ts'

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

/** Starts an export. Resolves to the response, whose body is not read yet. */
async function exportAccount(): Promise<Response> {
  const body = new URLSearchParams({ csrf: await csrfTokenOf(owner, `/accounts/${grid.acme.id}`) })
  return await owner.request(exportPath(), { method: 'POST', body, headers: { Origin: grid.deps.config.appUrl } })
}

const filesOfCopies = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /copy-.*\//.test(name))

test('an unread export uses no file, and blocks a second export of the same account', async () => {
  const unread = await exportAccount()
  const reader = unread.body!.getReader()
  expect((await reader.read()).value!.length).toBeGreaterThan(10)

  expect(filesOfCopies()).toEqual([])
  const second = await postWithToken(owner, exportPath())
  expect(second.text).toContain('This account may have one archive at a time')
  const sent = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'still' })
  expect(sent.code).toBeUndefined()

  await reader.cancel()
  await waitFor('the place', () => placesOf(grid.store).count === 0)
  const third = await exportAccount()
  expect(await third.text()).toContain('"format":"agent-grid-archive"')
  expect(placesOf(grid.store).count).toBe(0)
})

test('a failed export releases its slot, and the error that the owner sees contains no path', async () => {
  await grid.close()
  const readSpace = () => Promise.resolve({ free: 1_000, total: 1e12 })
  grid = await testGrid({ url: `file:${join(folder, 'full.db')}`, env: { MIN_FREE_MB: '0' }, readSpace })
  owner = await signedIn(grid, await person(grid, { role: 'owner' }))

  const { text: page } = await postWithToken(owner, exportPath())

  expect(page).toContain('too little space for an export')
  expect(page).not.toContain(folder)
  expect(placesOf(grid.store).count).toBe(0)
  expect(filesOfCopies()).toEqual([])
})

test('an export stops before it fills the disk', async () => {
  const copy = join(folder, 'copied.db')
  await grid.store.copyTo(copy)
  const input = { copy, target: join(folder, 'archive'), account: grid.acme.id, reader: undefined, madeAt: 0 }
  const readSpace = () => Promise.resolve({ free: 2 ** 20, total: 2 ** 40 })

  await expect(writeArchiveRows({ ...input, minFreeBytes: 0, readSpace })).rejects.toMatchObject({
    code: 'storage_full',
  })
})
