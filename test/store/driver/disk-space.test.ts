/** The low-water mark and the ballast file (docs/delivery.md, "Full disk"), on a disk whose space the test decides. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
function open(
  { free = 9_000, total = 10_000, reusable = 0, isRemote = false, canBegin = true, minFree = 200, ballastMb = 6 } = {},
) {
  /** `quota`: how much more may be written. The free space does not show it. */
  const disk = { free, total, reusable, canBegin, folded: false, quota: Infinity, isUnreadable: false, tries: 0 }
  const path = join(folder, 'grid.db')
  const space = new DiskSpace({
    path: isRemote ? undefined : path,
    minFreeBytes: minFree * mb,
    ballastBytes: ballastMb * mb,
    log: createLog('info', (line) => logs.push(JSON.parse(line).message)),
    reusable: () => Promise.resolve(disk.reusable * mb),
    fold: () => Promise.resolve(disk.folded),
    onSpace: () => disk.canBegin ? Promise.resolve() : Promise.reject(new Error('full')),
    readSpace: () =>
      disk.isUnreadable
        ? Promise.reject(new Error('not allowed'))
        : Promise.resolve({ free: disk.free * mb, total: disk.total * mb }),
    append(file, piece) {
      if (ballast() === 0) disk.tries++
      if (ballast() + piece.length / mb > disk.quota) return Promise.reject(new Error('EDQUOT'))
      return appendFile(file, piece)
    },
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

test('while the file is copied, the rest of the copy is no space, and neither are unused pages', async () => {
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

describe('what the ballast has freed is not for new messages', () => {
  test.each([
    ['a quota', {}, false],
    ['no mark', { minFree: 0, free: 5 }, false],
    ['free space that cannot be read', {}, true],
  ])('%s', async (_, options, isUnreadable) => {
    const { disk, space, ballast } = open(options)
    disk.isUnreadable = isUnreadable
    disk.quota = 5
    await space.check()
    await space.full()

    for (let n = 0; n < 100; n++) {
      await space.check()
      expect(space.isFull).toBe(true)
      expect(ballast()).toBe(0)
    }
    // Each try writes what there is.
    expect(disk.tries).toBeLessThan(10)
    Object.assign(disk, { quota: 6, free: 9_000 })
    for (let n = 0; space.isFull && n < 40; n++) await space.check()

    expect(space.isFull).toBe(false)
    expect(ballast()).toBe(6)
  })

  test('the mark is free beside the ballast', async () => {
    const { disk, space } = open({ free: 225 })
    await space.check()
    await space.full()
    await space.check()
    expect(space.isFull).toBe(true)
    expect(space.problem).toContain('Messages are accepted again at 226 MB.')
    disk.free = 227
    await space.check()
    expect(space.isFull).toBe(false)
  })

  test('without a ballast a write must succeed, and leaves nothing', async () => {
    const { disk, space, ballast } = open({ ballastMb: 0 })
    disk.quota = 0
    await space.check()
    await space.full()
    await space.check()
    expect(space.isFull).toBe(true)
    disk.quota = 1
    await space.check()
    expect(space.isFull).toBe(false)
    expect(ballast()).toBe(0)
  })
})

test('a write that was refused in spite of free space is the reason that is given', async () => {
  const { disk, space } = open()
  disk.quota = 5
  await space.check()
  await space.full()
  await space.check()
  expect(space.problem).toBe(
    'The disk of the database refused a write, although 9000 MB of 10000 MB are free: perhaps it has a quota. ' +
      'Messages are accepted again when 6 MB can be written.',
  )
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
