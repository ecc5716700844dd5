/** Keys and tokens. See docs/security.md, "Keys and tokens". */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashForLookup, isSameSecret, type KeyKind, keyKind, keyPrefixes, mintKey } from '../../src/lib/secrets.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const kinds = Object.keys(keyPrefixes) as KeyKind[]

/** The pattern that docs/security.md publishes for secret scanners. */
const credentialPattern = /\bgrid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{49}\b/g

test('10,000 new keys are distinct, match the published pattern and have a valid checksum', () => {
  const keys = Array.from({ length: 10_000 }, (_, n) => mintKey(kinds[n % kinds.length]))

  expect(new Set(keys.map(({ key }) => key)).size).toBe(10_000)
  expect(keys.filter(({ key }) => key.match(credentialPattern)?.[0] !== key)).toEqual([])
  expect(keys.filter(({ key }, n) => keyKind(key) !== kinds[n % kinds.length])).toEqual([])
})

test('a new key is stored as its SHA-256 and last four characters', () => {
  const { key, hash, last4 } = mintKey('admin_key')

  expect(hash).toBe(createHash('sha256').update(key).digest('hex'))
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(last4).toBe(key.slice(-4))
})

test('a key that an earlier version hashed is still found', () => {
  const key = 'grid_agt_jIbd0s5QXWHKmUmCAz0hk2z8NmfwnhCcUSqTKSSwa0j3koBNY'

  expect(keyKind(key)).toBe('agent_key')
  expect(hashForLookup(key)).toBe('22233c6e67830cd96a61f6bcc2f6b606dbcd10c7d3ba53e17742c7e3c4d5fcbe')
})

test('texts of all lengths around a SHA-256 block, and of any script, are hashed correctly', () => {
  for (const text of [...Array.from({ length: 200 }, (_, n) => 'x'.repeat(n)), 'Grüße 🦊', '\ud800']) {
    expect(hashForLookup(text)).toBe(createHash('sha256').update(text).digest('hex'))
  }
})

test('every character of a key is equally probable', () => {
  const counts = new Map(Array.from(base62, (char) => [char, 0]))
  const keys = Array.from({ length: 10_000 }, () => mintKey('agent_key').key.slice('grid_agt_'.length, -6))
  for (const char of keys.join('')) counts.set(char, counts.get(char)! + 1)

  const expected = keys.join('').length / base62.length
  const chiSquare = Array.from(counts.values(), (count) => (count - expected) ** 2 / expected)
    .reduce((sum, part) => sum + part)

  // The value is 61 on average, and above 140 once in 10 million runs. Taking a byte modulo 62 gives about 3,000.
  expect(counts.size).toBe(62)
  expect(chiSquare).toBeLessThan(140)
})

test('a thousand new keys need only a few requests for random bytes, because each request is slow', () => {
  const { getRandomValues } = crypto
  let requests = 0
  crypto.getRandomValues = (array) => (requests++, getRandomValues.call(crypto, array) as typeof array)
  try {
    for (let n = 0; n < 1_000; n++) mintKey('agent_key')
  } finally {
    crypto.getRandomValues = getRandomValues
  }

  expect(requests).toBeGreaterThan(5)
  expect(requests).toBeLessThan(20)
})

test.each([['abc', 'abc', true], ['abc', 'abd', false], ['abc', 'ab', false], ['', '', true], ['é', 'e\u0301', false]])(
  'whether %j and %j are the same secret: %s',
  (a, b, isSame) => {
    expect(isSameSecret(a, b)).toBe(isSame)
  },
)

test('a key with any single changed character is rejected', () => {
  for (const kind of kinds) {
    const { key } = mintKey(kind)
    const accepted = Array.from(key, (_, at) =>
      [...`${base62}_- .`].filter((char) => char !== key[at]).map((char) => {
        return key.slice(0, at) + char + key.slice(at + 1)
      })).flat().filter((mutant) => keyKind(mutant) !== undefined)

    expect(accepted).toEqual([])
  }
})

test.each([
  ['a prefix alone', () => 'grid_agt_'],
  ['too long', (key: string) => `${key}0`],
  ['of another kind', (key: string) => key.replace('agt', 'adm')],
  ['of an unknown kind', (key: string) => key.replace('agt', 'xxx')],
  ['with a digit of another script', (key: string) => key.slice(0, -1) + '٣'],
  ['with its checksum rotated', (key: string) => key.slice(0, 50) + key.slice(51) + key[50]],
])('a key that is %s is rejected', (_, change) => {
  const { key } = mintKey('agent_key')

  expect(keyKind(change(key))).toBeUndefined()
})
