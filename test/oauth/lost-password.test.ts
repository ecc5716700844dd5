/** A password reset revokes the access of all programs, which an attacker with the old password may have authorized. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { requestEmailLink, resetPassword } from '../../src/grid/people/email-links.ts'
import { changePassword } from '../../src/grid/people/profile.ts'
import { rows } from '../support/database.ts'
import {
  codeFor,
  exchange,
  fetchApiKey,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  refresh,
  signedIn,
  submitConsent,
} from '../support/oauth.ts'
import { emailedPath, password } from '../support/people.ts'

const newPassword = 'a new horse battery'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid({ env: { DURABILITY: 'relaxed' } })
})
afterEach(() => grid.close())

async function reset() {
  const { email } = grid.ann.visitor.user
  await requestEmailLink(grid.store, 'reset', { email }, '203.0.113.9')
  await resetPassword(grid.store, emailedPath(grid).split('/').at(-1)!, newPassword, null)
}

test('a reset revokes the grants of the user in every account, and no grants of others', async () => {
  const { user } = grid.ann.visitor
  await grid.store.write([grid.store.global.users.addMembership(grid.evil.id, user.id, 'admin', grid.clock.now)])
  Object.assign(grid.ann, await signedIn(grid, user))
  const [here, there] = [await obtainTokens(grid), await obtainTokens(grid, `admin:${grid.evil.id}`)]
  const agent = await obtainTokens(grid, `agent:${grid.alice.id}`)
  const { apiKey: key } = (await fetchApiKey(grid, agent.access_token)).body
  const eds = await obtainTokens(grid, `admin:${grid.evil.id}`, { browser: grid.ed })

  await reset()

  for (const { access_token, refresh_token } of [here, there, agent]) {
    expect(await mcpAccess(grid, access_token)).toBe('401')
    expect((await refresh(grid, refresh_token)).body).toMatchObject({ error: 'invalid_grant' })
  }
  expect(await mcpAccess(grid, key)).toBe('401')
  expect(await mcpAccess(grid, grid.bob.key)).toBe('agent tools')
  expect(await mcpAccess(grid, eds.access_token)).toBe('admin tools')
})

test('after a reset neither an unused code nor an open consent page gives access', async () => {
  const code = await codeFor(grid)
  const { handle, picks } = await openConsentPage(grid, grid.ann)

  const [, late] = await Promise.all([
    reset(),
    submitConsent(grid, grid.ann, { handle, pick: picks[0], decision: 'allow' }),
  ])

  const lateCode = new URL(late.headers.get('location') ?? issuer).searchParams.get('code') ?? undefined
  for (const one of [code, lateCode]) {
    if (one) expect((await exchange(grid, one)).body).toMatchObject({ error: 'invalid_grant' })
  }
  // An answer that passed the session check finds no pending request.
  expect(await rows(grid, 'SELECT * FROM oauth_requests WHERE user_id = ?', [grid.ann.visitor.user.id])).toEqual([])
})

test('changing the password keeps the grants', async () => {
  const { user } = grid.ann.visitor
  await grid.setPassword(user.email, password)
  const tokens = await obtainTokens(grid)

  await changePassword(grid.store, user.id, { current: password, password: newPassword }, '203.0.113.9')

  expect(await mcpAccess(grid, tokens.access_token)).toBe('admin tools')
  expect((await refresh(grid, tokens.refresh_token)).status).toBe(200)
})
