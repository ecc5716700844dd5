/** Whoever had the password of a person has no program in after the reset of it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askForLink, resetPassword } from '../../src/grid/people/email-links.ts'
import { changePassword } from '../../src/grid/people/own-profile.ts'
import { rows } from '../support/database.ts'
import { mailedPath, password } from '../support/people.ts'
import {
  answer,
  apiKey,
  codeFor,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openPage,
  opens,
  refresh,
  signedIn,
  signIn,
} from '../support/oauth.ts'

const next = 'a new horse battery'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid({ env: { DURABILITY: 'relaxed' } })
})
afterEach(() => grid.close())

async function reset() {
  const { email } = grid.ann.visitor.user
  await askForLink(grid.store, 'reset', { email }, '203.0.113.9')
  await resetPassword(grid.store, mailedPath(grid).split('/').at(-1)!, next, null)
}

test('a reset ends what the person let in, in every account, and nobody else’s', async () => {
  const { user } = grid.ann.visitor
  await grid.store.write([grid.store.global.users.addMembership(grid.evil.id, user.id, 'admin', grid.clock.now)])
  Object.assign(grid.ann, await signedIn(grid, user))
  const [here, there] = [await signIn(grid), await signIn(grid, `admin:${grid.evil.id}`)]
  const agent = await signIn(grid, `agent:${grid.alice.id}`)
  const { apiKey: key } = (await apiKey(grid, agent.access_token)).body
  const eds = await signIn(grid, `admin:${grid.evil.id}`, { browser: grid.ed })

  await reset()

  for (const { access_token, refresh_token } of [here, there, agent]) {
    expect(await opens(grid, access_token)).toBe('401')
    expect((await refresh(grid, refresh_token)).body).toMatchObject({ error: 'invalid_grant' })
  }
  expect(await opens(grid, key)).toBe('401')
  expect(await opens(grid, grid.bob.key)).toBe('agent tools')
  expect(await opens(grid, eds.access_token)).toBe('admin tools')
})

test('after a reset neither a code that nobody collected nor a page that waits brings a program in', async () => {
  const code = await codeFor(grid)
  const { handle, picks } = await openPage(grid, grid.ann)

  const [, late] = await Promise.all([reset(), answer(grid, grid.ann, { handle, pick: picks[0], decision: 'allow' })])

  const lateCode = new URL(late.headers.get('location') ?? issuer).searchParams.get('code') ?? undefined
  for (const one of [code, lateCode]) {
    if (one) expect((await exchange(grid, one)).body).toMatchObject({ error: 'invalid_grant' })
  }
  // An answer that passed the look at its session finds no page any more.
  expect(await rows(grid, 'SELECT * FROM oauth_requests WHERE user_id = ?', [grid.ann.visitor.user.id])).toEqual([])
})

test('whoever changes their own password keeps the programs they let in', async () => {
  const { user } = grid.ann.visitor
  await grid.setPassword(user.email, password)
  const tokens = await signIn(grid)

  await changePassword(grid.store, user.id, { current: password, password: next }, '203.0.113.9')

  expect(await opens(grid, tokens.access_token)).toBe('admin tools')
  expect((await refresh(grid, tokens.refresh_token)).status).toBe(200)
})
