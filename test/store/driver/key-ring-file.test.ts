/** The key ring file next to a local database, on a disk that fills up. */
import { mkdtempSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isKeyRing } from '../../../src/lib/key-ring.ts'
import { makeKeyRing, readStoredKeyRing } from '../../../src/store/driver/local-file.ts'

test('leaves no key ring if there is no space, and writes the next one completely', () => {
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
