/** A password reset ends the access of all programs, and is logged in each account in which a program loses access. */
import { beforeEach, expect, test } from 'vitest'
import { maxAccountsAtOnce } from '../../src/grid/oauth/grants.ts'
import { requestEmailLink, resetPassword } from '../../src/grid/people/email-links.ts'
import { changePassword } from '../../src/grid/people/profile.ts'
import { newId } from '../../src/lib/id.ts'
import { rows } from '../support/database.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import {
  codeFor,
  exchange,
  fetchApiKey,
  issuer,
  joinEvil,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  postForm,
  refresh,
  sentences,
  signedIn,
  submitConsent,
} from '../support/oauth.ts'
import { emailedPath, membership, password } from '../support/people.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid({ env: { DURABILITY: 'relaxed' } })
})

const ann = () => grid.ann.visitor.user.id
const agent = () => `agent:${grid.alice.id}`
const revoke = (token: string, client_id = grid.clientId) => postForm(grid, '/oauth/revoke', { token, client_id })

test("a password reset ends all of the user's programs, and is logged only in accounts where a program lost access", async () => {
  await joinEvil(grid)
  const tokens = [await obtainTokens(grid), await obtainTokens(grid, agent())]
  const { apiKey } = (await fetchApiKey(grid, tokens[1].access_token)).body
  await codeFor(grid)
  await revoke((await obtainTokens(grid)).refresh_token)
  const theirs = await accessTokenFor(grid, ann(), grid.evil.id)
  const eds = await accessTokenFor(grid, grid.ed.visitor.user.id, grid.evil.id)
  const [before, beforeEvil] = [(await log()).length, (await log(grid.evil)).length]
  const alone = await newAccount()

  await reset()

  const [[here, ...older], [there, ...olderEvil]] = [await log(), await log(grid.evil)]
  expect([older.length, olderEvil.length]).toEqual([before, beforeEvil])
  for (const row of [here, there]) {
    expect(row).toMatchObject({ tool: 'reset_password', outcome: 'ok', actorType: 'user', userId: ann() })
  }
  const named = ({ arguments: json }: typeof here) =>
    JSON.parse(json).programs.map(({ name, as }: { name: string; as: string }) => `${name} ${as}`).sort()
  expect(named(here)).toEqual(['Demo @admin', 'Demo @admin', 'Demo @alice'])
  expect(named(there)).toEqual(['Client @admin'])
  expect(await sentences(grid, grid.evil, await signedIn(grid, grid.ed.visitor.user))).toContain(
    'Disconnected Client by resetting the password',
  )
  for (const { access_token, refresh_token } of tokens) {
    expect(await mcpAccess(grid, access_token)).toBe('401')
    expect((await refresh(grid, refresh_token)).body).toMatchObject({ error: 'invalid_grant' })
  }
  expect([await mcpAccess(grid, apiKey), await mcpAccess(grid, theirs.token)]).toEqual(['401', '401'])
  expect([await mcpAccess(grid, grid.bob.key), await mcpAccess(grid, eds.token)]).toEqual([
    'agent tools',
    'admin tools',
  ])
  expect(await logOf(alone)).toEqual([])
})

test('a password reset is logged once in each account, even if there are very many', async () => {
  const ids = []
  for (let n = 0; n <= 2 * maxAccountsAtOnce; n++) ids.push(await newAccount())
  const tokens = []
  for (const id of ids) tokens.push((await accessTokenFor(grid, ann(), id)).token)

  await reset()

  for (const [n, id] of ids.entries()) {
    expect((await logOf(id)).map(({ tool }) => tool)).toEqual(['reset_password'])
    expect(await mcpAccess(grid, tokens[n])).toBe('401')
  }
})

test('if a password reset cannot be logged in one account, no program is revoked in any account', async () => {
  await joinEvil(grid)
  const [here, there] = [
    await accessTokenFor(grid, ann(), grid.acme.id),
    await accessTokenFor(grid, ann(), grid.evil.id),
  ]
  await rows(
    grid,
    `CREATE TRIGGER no_log BEFORE INSERT ON activity WHEN NEW.account_id = '${grid.evil.id}'
      BEGIN SELECT RAISE(ABORT, 'no log today'); END`,
  )

  await expect(reset()).rejects.toMatchObject({ code: 'write_conflict' })

  expect([await log(), await log(grid.evil)]).toEqual([[], []])
  expect([await mcpAccess(grid, here.token), await mcpAccess(grid, there.token)]).toEqual([
    'admin tools',
    'admin tools',
  ])
})

test('a password reset also revokes a program that is authorized in another account while it runs', async () => {
  await joinEvil(grid)
  await accessTokenFor(grid, ann(), grid.acme.id)
  let late: { token: string } | undefined
  const store: typeof grid.store = {
    ...grid.store,
    async record(found, statements) {
      late ??= await accessTokenFor(grid, ann(), grid.evil.id)
      return await grid.store.record(found, statements)
    },
  }

  await reset(store)

  expect(await mcpAccess(grid, late!.token)).toBe('401')
  for (const account of [grid.acme, grid.evil]) {
    expect((await log(account)).map(({ tool }) => tool)).toEqual(['reset_password'])
  }
})

test('after a password reset, neither an unused code nor an open consent page gives access', async () => {
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
  // The late consent may have passed the session check, but finds no pending request.
  expect(await rows(grid, 'SELECT * FROM oauth_requests WHERE user_id = ?', [grid.ann.visitor.user.id])).toEqual([])
})

test('a password change keeps the grants', async () => {
  const { user } = grid.ann.visitor
  await grid.setPassword(user.email, password)
  const tokens = await obtainTokens(grid)

  await changePassword(grid.store, user.id, { current: password, password: 'a new horse battery' }, '203.0.113.9')

  expect(await mcpAccess(grid, tokens.access_token)).toBe('admin tools')
  expect((await refresh(grid, tokens.refresh_token)).status).toBe(200)
})

/** Returns the rows of an account's activity log, newest first. */
function log(account = grid.acme) {
  return account.store.read.activity.list()
}

async function logOf(id: string) {
  const { activity } = grid.store.account(id, { type: 'system', job: 'test' }).read
  return await activity.list()
}

/** Creates an account owned by Ann. Returns its id. */
async function newAccount(): Promise<string> {
  const { accounts } = grid.store.global
  const id = newId()
  await grid.store.write([
    accounts.add({ id, name: 'One more', state: 'claimed', joinEmail: null }, grid.clock.now),
    membership(grid.store, id, ann(), 'owner', grid.clock.now),
  ])
  return id
}

async function reset(store = grid.store): Promise<void> {
  await requestEmailLink(grid.store, 'reset', { email: 'ann@acme.example' }, '203.0.113.9')
  await resetPassword(store, emailedPath(grid).split('/').at(-1)!, 'a new horse battery', null)
}
