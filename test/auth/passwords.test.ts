/** Users' passwords. See docs/people.md, "Signing in". */
import { isCommonPassword } from '../../src/auth/common-passwords.ts'
import { hashPassword, verifyPassword } from '../../src/auth/passwords.ts'
import { expect, test } from 'vitest'

/** Hashes that earlier versions stored, two native and two in WebAssembly. */
const storedHashes = {
  'correct hörse': [
    '$argon2id$v=19$m=19456,t=2,p=1$XB+5Y8yN0mKK/5sc/562Hg$/4q9lzLeZFKT2du2+NkokIYlkUmuSA1RlzOHO2qstno',
    '$argon2id$v=19$m=19456,t=2,p=1$5Ak/fs6wOZCMWeWKmI25cQ$U+o6BKvYrlcodedgfP3fvjack/v7YMecPrb1QBBwbns',
  ],
  'Grüße aus Köln 🦊': [
    '$argon2id$v=19$m=19456,t=2,p=1$JurCxErabnd4Y/DWTGt7dg$dmgT/BP5z37FNz4DIo2BETYY3047FYrOUHMsgphmo4o',
    '$argon2id$v=19$m=19456,t=2,p=1$0QxaGi6FOa7kZjDpuyDYaw$Wuim2/irtdNcFxRGiCKCMwX+49bbCP3N11esLx9cXj4',
  ],
}
/** The hash of the empty password. */
const hashOfNothing =
  '$argon2id$v=19$m=19456,t=2,p=1$dmEho6hHaMF3Nz4k65cohw$tHf3KW4sXeW7iTra5tJCL0QaSTC/FPFxLkN/RLCAnYU'

test('a password is stored as Argon2id with 19 MiB, two passes and one lane', async () => {
  const hash = await hashPassword('correct horse')

  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
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

test('another Unicode form of the same password is accepted', async () => {
  const hash = await hashPassword('Gr\u00fc\u00dfe aus Ｋöln')

  expect(await verifyPassword(hash, 'Gru\u0308\u00dfe aus K\u00f6ln')).toBe(true)
})

test('without a stored hash every password is wrong, and a far too long password is always wrong', async () => {
  for (const hash of [null, undefined]) expect(await verifyPassword(hash, 'correct horse')).toBe(false)
  expect(await verifyPassword(hashOfNothing, 'x'.repeat(1_000_000))).toBe(false)
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
])('the common password %s is refused', async (password) => {
  expect(await codeOf(hashPassword(password))).toBe('invalid_input')
})

test.each(['correct horse', 'vjQ8-mm2x-Kp', 'violet stapler hums', 'tiger rose autumn london', 'passwort für Ümläute'])(
  'the password %s does not count as common',
  (password) => {
    expect(isCommonPassword(password)).toBe(false)
  },
)

test('two password hashes run at the same time, sixteen wait, and more are refused immediately', async () => {
  const attempts = Array.from({ length: 25 }, () => codeOf(verifyPassword(null, 'correct horse')))

  const results = await Promise.all(attempts)

  expect(results.filter((result) => result === 'ok')).toHaveLength(18)
  expect(results.slice(18)).toEqual(Array(7).fill('rate_limit_exceeded'))
  expect(await codeOf(verifyPassword(null, 'correct horse'))).toBe('ok')
})

test('password checks with priority wait in a separate queue', async () => {
  const order: string[] = []
  const verify = (hasPriority: boolean) =>
    codeOf(verifyPassword(null, 'correct horse', { hasPriority }).then(() => order.push(hasPriority ? 'p' : 'o')))
  const strangers = Array.from({ length: 25 }, () => verify(false))
  const others = Array.from({ length: 6 }, () => verify(true))

  expect(await Promise.all(others)).toEqual(Array(6).fill('ok'))
  expect((await Promise.all(strangers)).filter((result) => result === 'ok')).toHaveLength(18)
  // In a shared queue, the checks with priority would be the last six. Allow for threads that finish out of order.
  expect(order.slice(-6)).toContain('o')
  expect(order.indexOf('p')).toBeLessThan(12)
})

test.each(Object.entries(storedHashes))(
  'hashes that earlier versions stored for "%s" accept this password and no other',
  async (password, hashes) => {
    for (const hash of hashes) {
      expect(await verifyPassword(hash, password)).toBe(true)
      expect(await verifyPassword(hash, `${password}.`)).toBe(false)
      expect(await verifyPassword(hash.slice(0, -1), password)).toBe(false)
    }
  },
)

test('hashing a password does not block the event loop, and a stored hash is verified with its own cost', async () => {
  const costly = storedHashes['correct hörse'][0].replace('t=2', 't=60')
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const isRight = await verifyPassword(costly, 'correct hörse')
  clearInterval(timer)

  expect(isRight).toBe(false)
  expect(turns).toBeGreaterThan(10)
})

/** Returns a text of `length` varied characters. */
function textOfLength(length: number): string {
  return Array.from({ length }, (_, i) => String.fromCharCode(97 + (i * i * 7 + i * 3) % 26)).join('')
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'ok', (error) => error.code)
}
