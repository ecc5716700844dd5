import { Argon2id } from 'oslo/password'
import { expect, test } from 'vitest'
import { hashPassword } from '../../src/auth/passwords.ts'

test('a password is stored as Argon2id with 19 MiB, two passes and one lane', async () => {
  const hash = await hashPassword('correct horse')

  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await new Argon2id().verify(hash, 'correct horse')).toBe(true)
  expect(await new Argon2id().verify(hash, 'correct house')).toBe(false)
  expect(await hashPassword('correct horse')).not.toBe(hash)
})

test.each([[9, false], [10, true], [200, true], [201, false]])(
  'a password of %i characters is accepted: %s',
  async (length, ok) => {
    const result = await hashPassword('x'.repeat(length)).then(() => true, (error) => error.code)

    expect(result).toBe(ok ? true : 'invalid_input')
  },
)
