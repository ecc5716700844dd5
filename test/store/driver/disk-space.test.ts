/** The low-water mark and the ballast file (docs/delivery.md, "Full disk"), on a disk whose space the test decides. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
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

/** A disk of 10 GB with a mark of 200 MB and a ballast of 6 MB. */
function open({ free = 9_000, total = 10_000, reusable = 0, isRemote = false, canBegin = true } = {}) {
  const disk = { free, total, reusable, canBegin, folded: false }
  const path = join(folder, 'grid.db')
  const space = new DiskSpace({
    path: isRemote ? undefined : path,
    minFreeBytes: 200 * mb,
    ballastBytes: 6 * mb,
    log: createLog('info', (line) => logs.push(JSON.parse(line).message)),
    reusable: () => Promise.resolve(disk.reusable * mb),
    fold: () => Promise.resolve(disk.folded),
    onSpace: () => disk.canBegin ? Promise.resolve() : Promise.reject(new Error('full')),
    readSpace: () => Promise.resolve({ free: disk.free * mb, total: disk.total * mb }),
  })
  const ballast = () => existsSync(`${path}.ballast`) ? statSync(`${path}.ballast`).size / mb : 0
  return { disk, space, ballast }
}

test('nothing new is accepted below the mark, and again a tenth above it; each is logged once', async () => {
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

test('the mark is at most a tenth of the disk', async () => {
  const { disk, space } = open({ free: 100, total: 1_000 })
  await space.check()
  expect(space.isFull).toBe(false)
  disk.free = 99
  await space.check()
  expect(space.isFull).toBe(true)
})

test('unused pages of the file count as space, if there is room for the log', async () => {
  const { disk, space } = open({ free: 60, reusable: 150 })
  await space.check()
  expect(space.isFull).toBe(false)
  disk.free = 49
  await space.check()
  expect(space.isFull).toBe(true)
})

test('the ballast is written in pieces, only where it leaves enough space, and removed when a write fails', async () => {
  const { disk, space, ballast } = open({ free: 225 })
  await space.check()
  await space.keepBallast()
  expect(ballast()).toBe(0)
  disk.free = 1_000
  await space.check()
  await space.keepBallast()
  expect(ballast()).toBe(4)
  await space.keepBallast()
  await space.keepBallast()
  expect(ballast()).toBe(6)

  expect(await space.full()).toBe(true)
  expect(await space.full()).toBe(false)
  expect(ballast()).toBe(0)
  expect(space.isFull).toBe(true)
})

test('after a write that failed, a write must succeed before anything is accepted', async () => {
  const { disk, space } = open({ canBegin: false })
  await space.check()
  await space.full()
  await space.check()
  expect(space.isFull).toBe(true)
  disk.canBegin = true
  await space.check()
  expect(space.isFull).toBe(false)
  expect(logs).toHaveLength(2)
})

test('a log that is copied into the file makes room without ballast', async () => {
  const { disk, space } = open()
  disk.folded = true
  expect(await space.full()).toBe(true)
})

test('a remote database stays full until it has written', async () => {
  const { space } = open({ isRemote: true })
  expect(await space.full()).toBe(false)
  await space.check()
  expect(space.problem).toContain('disk is full')
  space.recover()
  expect(space.problem).toBeUndefined()
})
