/** The low-water mark on a disk whose free space the test controls. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { DiskSpace } from '../../../src/store/driver/disk-space.ts'

const mb = 2 ** 20
let folder: string
let logs: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-space-'))
  logs = []
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Opens a disk of 10 GB with a low-water mark of 200 MB. */
function open(
  { free = 9_000, total = 10_000, reusable = 0, isRemote = false, canBegin = true } = {},
) {
  const disk = { free, total, reusable, canBegin, isUnreadable: false, takesWrites: true }
  const path = join(folder, 'grid.db')
  const space = new DiskSpace({
    path: isRemote ? undefined : path,
    minFreeBytes: 200 * mb,
    log: createLog('info', (line) => logs.push(JSON.parse(line).message)),
    reusable: () => Promise.resolve(disk.reusable * mb),
    onSpace: () => disk.canBegin ? Promise.resolve() : Promise.reject(new Error('full')),
    readSpace: () =>
      disk.isUnreadable
        ? Promise.reject(new Error('not allowed'))
        : Promise.resolve({ free: disk.free * mb, total: disk.total * mb }),
    write: (file, bytes) => disk.takesWrites ? writeFile(file, bytes) : Promise.reject(new Error('EDQUOT')),
  })
  return { disk, space }
}

test('messages are refused below the mark, accepted again a tenth above it, and each change is logged once', async () => {
  const { disk, space } = open()
  const seen: [number, boolean, boolean][] = []
  for (const free of [200, 199, 150, 205, 221, 210, 199]) {
    disk.free = free
    const hasBecomeFull = await space.check()
    seen.push([free, !space.isFull, hasBecomeFull])
  }

  expect(seen).toEqual([
    ...[[200, true, false], [199, false, true], [150, false, false], [205, false, false]],
    ...[[221, true, false], [210, true, false], [199, false, true]],
  ])
  expect(logs).toHaveLength(3)
  expect(space.problem).toBe(
    'The disk of the database has 199 MB of 10000 MB free. Messages are accepted again at 220 MB.',
  )
})

test('unused pages of the file count as free space, if there is room for the log', async () => {
  const { disk, space } = open({ free: 60, reusable: 150 })
  await space.check()
  expect(space.isFull).toBe(false)
  disk.free = 49
  await space.check()
  expect(space.isFull).toBe(true)
})

test('while the file is copied, the rest of the copy and unused pages do not count as free space', async () => {
  const { disk, space } = open({ free: 300, reusable: 1_000 })
  let rest = 90
  space.copying = () => rest * mb
  await space.check()
  expect(space.isFull).toBe(false)
  ;[disk.free, rest] = [250, 60]
  await space.check()
  expect(space.isFull).toBe(true)
  space.copying = undefined
  await space.check()
  expect(space.isFull).toBe(false)
})

test('after a failed write, a write must succeed before messages are accepted', async () => {
  const { disk, space } = open({ canBegin: false })
  await space.check()
  space.full()
  await space.check()
  expect(space.isFull).toBe(true)
  disk.canBegin = true
  await space.check()
  expect(space.isFull).toBe(false)
  expect(logs).toHaveLength(2)
})

test.each([
  ['a disk with a quota', false],
  ['a disk whose free space cannot be read', true],
])('%s counts as full until a write succeeds, which leaves no file behind', async (_, isUnreadable) => {
  const { disk, space } = open()
  Object.assign(disk, { isUnreadable, takesWrites: false })
  await space.check()
  space.full()
  await space.check()
  expect(space.isFull).toBe(true)
  disk.takesWrites = true
  await space.check()
  expect(space.isFull).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

test('a remote database counts as full until a write succeeds', async () => {
  const { space } = open({ isRemote: true })
  space.full()
  await space.check()
  expect(space.problem).toContain('disk is full')
  space.recover()
  expect(space.problem).toBeUndefined()
})
