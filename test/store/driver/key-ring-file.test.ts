/** The key ring next to a local file, on a disk that becomes full. */
import { mkdtempSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isKeyRing } from '../../../src/lib/key-ring.ts'
import { makeKeyRing, readStoredKeyRing } from '../../../src/store/driver/local-file.ts'

test('a key ring that does not fit on the disk leaves no file behind, and the next one is complete', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-keys-'))
  const path = join(folder, 'grid.db')
  const write = (file: number, text: string) => {
    writeSync(file, text.slice(0, 10))
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  expect(() => makeKeyRing(path, write)).toThrow('no space')
  expect(readdirSync(folder)).toEqual([])

  const ring = makeKeyRing(path)

  expect(isKeyRing(ring)).toBe(true)
  expect(readStoredKeyRing(path)).toBe(ring)
  expect(readdirSync(folder)).toEqual(['grid.db.keys'])
  rmSync(folder, { recursive: true })
})
