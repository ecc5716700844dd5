import { expect, test } from 'vitest'
import { createKeyRing, isKeyRing, newKeyRing } from '../../src/lib/key-ring.ts'

const context = 'guardrails:acme:g1:token'

test('sealing the same token twice gives different results', async () => {
  const ring = createKeyRing(newKeyRing())

  expect((await ring.seal('a', context)).tokenIv).not.toBe((await ring.seal('a', context)).tokenIv)
})

test('every flipped bit of a sealed token is detected', async () => {
  const ring = createKeyRing(newKeyRing())
  const sealed = await ring.seal('sk-secret', context)

  for (const part of ['encryptedToken', 'tokenIv', 'tokenAuthTag'] as const) {
    const bytes = Uint8Array.from(atob(sealed[part]), (char) => char.charCodeAt(0))
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >> 3] ^= 1 << (bit & 7)
      const changed = { ...sealed, [part]: btoa(String.fromCharCode(...flipped)) }
      await expect(ring.open(changed, context)).rejects.toMatchObject({ code: 'internal' })
    }
  }
})

test('a key ring seals with its first key, and still opens with older ones', async () => {
  const old = newKeyRing()
  const sealed = await createKeyRing(old).seal('kept', context)
  const rotated = createKeyRing(`${named('2')},${old}`)

  expect(await rotated.open(sealed, context)).toBe('kept')
  expect((await rotated.seal('new', context)).tokenKeyId).toBe('2')
  await expect(createKeyRing(named('2')).open(sealed, context)).rejects.toMatchObject({
    code: 'internal',
  })
})

test('sealing without keys is refused, and the error names the setting', async () => {
  await expect(createKeyRing(undefined).seal('x', context)).rejects.toThrow('GRID_KEYS')
})

test.each([
  ['', false],
  ['1:', false],
  ['1:c2hvcnQ=', false],
  ['not base64', false],
  [`${named('1')},${named('1')}`, false],
  [newKeyRing(), true],
  [`${newKeyRing()},${newKeyRing()}`, true],
])('whether %j is a key ring: %j', (text, expected) => {
  expect(isKeyRing(text)).toBe(expected)
})

function named(id: string): string {
  return newKeyRing().replace(/^[^:]+/, id)
}
