/** Keys and tokens. See docs/security.md, "Keys and tokens". */
import { sha256 } from 'oslo/crypto'
import { encodeHex } from 'oslo/encoding'
import { expect, test } from 'vitest'
import { type KeyKind, keyKind, keyPrefixes, mintKey } from '../../src/lib/secrets.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const kinds = Object.keys(keyPrefixes) as KeyKind[]

/** As docs/security.md publishes it for secret scanners. */
const credentialPattern = /\bgrid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{49}\b/g

test('10,000 keys are distinct, match the published pattern and have a valid checksum', async () => {
  const keys = await Promise.all(Array.from({ length: 10_000 }, (_, n) => mintKey(kinds[n % kinds.length])))

  expect(new Set(keys.map(({ key }) => key)).size).toBe(10_000)
  expect(keys.filter(({ key }) => key.match(credentialPattern)?.[0] !== key)).toEqual([])
  expect(keys.filter(({ key }, n) => keyKind(key) !== kinds[n % kinds.length])).toEqual([])
})

test('a key is stored as its SHA-256 and its last four characters', async () => {
  const { key, hash, last4 } = mintKey('admin_key')

  expect(hash).toBe(encodeHex(await sha256(new TextEncoder().encode(key))))
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(last4).toBe(key.slice(-4))
})

test('every change of one character is refused, at every position', () => {
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
])('a text that is %s is no key', (_, change) => {
  const { key } = mintKey('agent_key')

  expect(keyKind(change(key))).toBeUndefined()
})
