import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { wellFormed } from '../../src/lib/text.ts'
import { hasPassed } from '../../src/lib/time.ts'
import { version } from '../../src/lib/version.ts'

test.each([
  ['plain', 'plain'],
  ['', ''],
  ['🙂 漢字', '🙂 漢字'],
  ['a\ud800b', 'a\ufffdb'],
  ['\udc00', '\ufffd'],
  ['a\0b', undefined],
])('the well-formed text of %j is %j', (text, expected) => {
  expect(wellFormed(text)).toBe(expected)
})

test('new ids are distinct UUIDv7 ids that sort by creation time', () => {
  const ids = Array.from({ length: 1_000 }, () => newId())

  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(1_000)
  expect([...ids].sort()).toEqual(ids)
})

test('the version is that of package.json', () => {
  expect(version).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
})

test.each([[1_000, true], [999, false], [0, false], [-1, true]])(
  'whether 1,000 ms have passed after %i ms, or the clock was set back: %s',
  (ms, expected) => {
    expect(hasPassed(5_000, 1_000, 5_000 + ms)).toBe(expected)
  },
)
