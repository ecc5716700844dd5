/** Passwords of users. See docs/security.md, "Signing in". */
import { Argon2id } from 'oslo/password'
import { isCommonPassword } from '../../src/auth/common-passwords.ts'
import { hashPassword, nativeArgon2, verifyPassword, wasmArgon2 } from '../../src/auth/passwords.ts'
import { expect, test } from 'vitest'

test('a password is stored as Argon2id with 19 MiB, two passes and one lane', async () => {
  const hash = await hashPassword('correct horse')

  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await new Argon2id().verify(hash, 'correct horse')).toBe(true)
  expect(await verifyPassword(hash, 'correct horse')).toBe(true)
  expect(await verifyPassword(hash, 'correct house')).toBe(false)
  expect(await hashPassword('correct horse')).not.toBe(hash)
})

test.each([[9, false], [10, true], [200, true], [201, false]])(
  'a password of %i characters is accepted: %s',
  async (length, ok) => {
    const result = await hashPassword(textOfLength(length)).then(() => true, (error) => error.code)

    expect(result).toBe(ok ? true : 'invalid_input')
  },
)

test('another Unicode form of the same characters is the same password', async () => {
  const hash = await hashPassword('Gr\u00fc\u00dfe aus Ｋöln')

  expect(await verifyPassword(hash, 'Gru\u0308\u00dfe aus K\u00f6ln')).toBe(true)
})

test('without a hash every password is wrong, and so is one that is far too long', async () => {
  for (const hash of [null, undefined]) expect(await verifyPassword(hash, 'correct horse')).toBe(false)
  expect(await verifyPassword(await new Argon2id().hash(''), 'x'.repeat(1_000_000))).toBe(false)
})

test.each([
  'password123',
  'P@ssw0rd!!',
  'qwertyuiop',
  'Qwertyuiop1',
  '123456789012345',
  'aaaaaaaaaaaa',
  'abcabcabcabc',
  'Welcome2026!',
  '1q2w3e4r5t6y',
  'football football',
  'correcthorsebatterystaple',
])('%s is refused', async (password) => {
  expect(await codeOf(hashPassword(password))).toBe('invalid_input')
})

test.each(['correct horse', 'vjQ8-mm2x-Kp', 'violet stapler hums', 'tiger rose autumn london', 'passwort für Ümläute'])(
  '%s is not a common password',
  (password) => {
    expect(isCommonPassword(password)).toBe(false)
  },
)

test('two hashes run at once, sixteen wait, and others are refused immediately', async () => {
  const attempts = Array.from({ length: 25 }, () => codeOf(verifyPassword(null, 'correct horse')))

  const results = await Promise.all(attempts)

  expect(results.filter((result) => result === 'ok')).toHaveLength(18)
  expect(results.slice(18)).toEqual(Array(7).fill('rate_limit_exceeded'))
  expect(await codeOf(verifyPassword(null, 'correct horse'))).toBe('ok')
})

test('passwords with priority wait in a queue of their own', async () => {
  const order: string[] = []
  const verify = (hasPriority: boolean) =>
    codeOf(verifyPassword(null, 'correct horse', { hasPriority }).then(() => order.push(hasPriority ? 'p' : 'o')))
  const strangers = Array.from({ length: 25 }, () => verify(false))
  const others = Array.from({ length: 6 }, () => verify(true))

  expect(await Promise.all(others)).toEqual(Array(6).fill('ok'))
  expect((await Promise.all(strangers)).filter((result) => result === 'ok')).toHaveLength(18)
  // In one queue they would be the last six. Threads may finish a little out of order.
  expect(order.slice(-6)).toContain('o')
  expect(order.indexOf('p')).toBeLessThan(12)
})

test('the native and the WebAssembly implementation verify each other', async () => {
  const [native, wasm] = await Promise.all([nativeArgon2(), wasmArgon2()])
  const hashes = [await native.hash('correct hörse'), await wasm.hash('correct hörse')]

  for (const hash of hashes) {
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    for (const { verify } of [native, wasm]) {
      expect([await verify(hash, 'correct hörse'), await verify(hash, 'correct horse')]).toEqual([true, false])
      expect(await verify('nonsense', 'correct horse')).toBe(false)
    }
  }
})

/** A text of `length` varied characters. */
function textOfLength(length: number): string {
  return Array.from({ length }, (_, i) => String.fromCharCode(97 + (i * i * 7 + i * 3) % 26)).join('')
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'ok', (error) => error.code)
}
