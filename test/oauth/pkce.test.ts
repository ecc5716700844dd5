import { codeChallengeOf, isCodeChallenge } from '../../src/oauth/authorize-request.ts'
import { expect, test } from 'vitest'

test('the challenge is that of the example in RFC 7636', async () => {
  const challenge = await codeChallengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')

  expect(challenge).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
  expect(isCodeChallenge(challenge!)).toBe(true)
})

test.each([[42, false], [43, true], [128, true], [129, false]])(
  'a verifier of %i characters: %j',
  async (length, isValid) => {
    expect(await codeChallengeOf('a'.repeat(length)) !== undefined).toBe(isValid)
  },
)

test.each(['+', '/', '=', ' ', 'é'])('a verifier with %j has no challenge', async (char) => {
  expect(await codeChallengeOf('a'.repeat(43) + char)).toBeUndefined()
})
