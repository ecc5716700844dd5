/** Consents and revocations in the account's activity log. */
import { beforeEach, describe, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { revokeOwnGrant } from '../../src/grid/oauth/grants.ts'
import { requestEmailLink, resetPassword } from '../../src/grid/people/email-links.ts'
import { dump, rows } from '../support/database.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import {
  activityPage,
  browse,
  callback,
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
  redirectParameters,
  refresh,
  sentences,
  setRole,
  signedInPerson,
  submitConsent,
} from '../support/oauth.ts'
import { emailedPath } from '../support/people.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid({ env: { DURABILITY: 'relaxed' } })
})

const ann = () => grid.ann.visitor.user.id
const admin = () => `admin:${grid.acme.id}`
const agent = () => `agent:${grid.alice.id}`
const revoke = (token: string, client_id = grid.clientId) => postForm(grid, '/oauth/revoke', { token, client_id })

describe('consents in the activity log', () => {
  test.each([
    ['@admin', admin, 'Authorized program Demo as @admin'],
    ['@alice', agent, 'Authorized program Demo as @alice'],
  ])('a consent as %s adds one activity row, and using its grant adds none', async (as, pick, sentence) => {
    const { handle } = await openConsentPage(grid, grid.ann)
    const { code } = redirectParameters(
      await submitConsent(grid, grid.ann, { handle, pick: pick(), decision: 'allow' }),
    )

    const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
    const [row] = await log()
    expect(row).toMatchObject({ tool: 'give_grant', outcome: 'ok', actorType: 'user', userId: ann() })
    expect(row).toMatchObject({ credentialId: grid.ann.visitor.sessionId, credentialKind: 'session' })
    expect(JSON.parse(row.arguments)).toEqual({ id, program: 'Demo', client: grid.clientId, as })
    expect(await sentences(grid)).toEqual([sentence])
    await refresh(grid, (await exchange(grid, code)).body.refresh_token)
    expect(await log()).toHaveLength(1)
    expect(await log(grid.evil)).toEqual([])
  })

  test('a consent after the role or the agent was lost is logged as failed', async () => {
    const [one, two] = [await openConsentPage(grid, grid.ann), await openConsentPage(grid, grid.ann)]
    await deleteAgent(grid.acme.store, 'alice')
    await submitConsent(grid, grid.ann, { handle: one.handle, pick: agent(), decision: 'allow' })
    await setRole(grid, grid.ann, 'member')
    const lost = await submitConsent(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'allow' })

    expect(redirectParameters(lost)).toMatchObject({ error: 'access_denied', state: 'x7', iss: issuer })
    expect((await log()).map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['give_grant', 'access_denied'],
      ['give_grant', 'access_denied'],
    ])
    await setRole(grid, grid.ann, 'owner')
    expect(await sentences(grid)).toEqual([
      'Could not authorize program Demo as @admin access denied',
      'Could not authorize program Demo as @alice (deleted) access denied',
    ])
  })

  test('a consent by a former member and a denial are not logged', async () => {
    const bea = await signedInPerson(grid, 'admin')
    const [one, two] = [await openConsentPage(grid, bea), await openConsentPage(grid, grid.ann)]
    await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id = ?', [
      grid.acme.id,
      bea.visitor.user.id,
    ])

    const left = await submitConsent(grid, bea, { handle: one.handle, pick: admin(), decision: 'allow' })
    await submitConsent(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'deny' })
    const again = await submitConsent(grid, grid.ann, { handle: two.handle, pick: admin(), decision: 'allow' })

    expect(redirectParameters(left)).toMatchObject({ error: 'access_denied' })
    expect(again.status).toBe(400)
    expect(await log()).toEqual([])
  })
})

test("revoking one's own grant is logged in the grant's account, even if the user is viewing another account", async () => {
  await joinEvil(grid)
  const { grantId } = await accessTokenFor(grid, ann(), grid.evil.id, grid.eve.id)
  const { grantId: eds } = await accessTokenFor(grid, grid.ed.visitor.user.id, grid.evil.id)
  const end = (id: string) =>
    browse(grid, grid.ann, `/accounts/${grid.acme.id}/settings/sessions/programs/${id}/end`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: issuer },
      body: new URLSearchParams({ csrf: grid.ann.visitor.csrf }).toString(),
    })

  expect([await end(grantId), await end(grantId), await end(eds)].map(({ status }) => status)).toEqual([303, 404, 404])

  const [row, ...more] = await log(grid.evil)
  expect(more).toEqual([])
  expect(row).toMatchObject({ tool: 'revoke_own_grant', outcome: 'ok', userId: ann(), credentialKind: 'session' })
  expect(JSON.parse(row.arguments)).toEqual({ id: grantId, program: 'Client', client: 'client', as: '@eve' })
  expect(await sentences(grid, grid.evil)).toEqual(['Disconnected program Client, which they had authorized as @eve'])
  expect(await log()).toEqual([])
})

describe("a client's own revocation", () => {
  test.each([
    ['admin', admin, { name: 'ann@acme.example', as: '@admin' }],
    ['agent', agent, { name: '@alice', as: '@alice' }],
  ])(
    'a client that revokes its refresh token is logged once, with the actor of an %s grant',
    async (actorType, pick, { name, as }) => {
      const { access_token, refresh_token } = await obtainTokens(grid, pick())
      const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
      const other = await (await grid.post(`${issuer}/oauth/register`, { redirect_uris: [callback] })).json()

      await revoke(refresh_token, other.client_id)
      await revoke(access_token)
      expect(await log()).toHaveLength(1)
      const answers = [await revoke(refresh_token), await revoke(refresh_token)]

      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const [row, ...before] = await log()
      expect(before.map(({ tool }) => tool)).toEqual(['give_grant'])
      expect(row).toMatchObject({ tool: 'return_grant', outcome: 'ok', actorType, userId: ann() })
      expect(row).toMatchObject({ credentialId: id, credentialKind: 'oauth' })
      expect((await sentences(grid))[0]).toBe(
        `Disconnected program Demo at its own request, which was authorized as ${as}`,
      )
      const page = (await activityPage(grid)).replaceAll(/<\/?bdi[^>]*>/g, '')
      expect(page).toMatch(new RegExp(`${name} <span[^>]*>program “Demo”, OAuth`))
      expect(await log(grid.evil)).toEqual([])
    },
  )
})

test('if the activity log cannot be written, no grant is created, revoked or changed', async () => {
  const tokens = await obtainTokens(grid, agent())
  const [{ id }] = await rows(grid, 'SELECT id FROM oauth_grants WHERE account_id = ?', [grid.acme.id])
  const { handle } = await openConsentPage(grid, grid.ann)
  await requestEmailLink(grid.store, 'reset', { email: 'ann@acme.example' }, '203.0.113.9')
  const token = emailedPath(grid).split('/').at(-1)!
  // Use the token once, so that `last_used_at` is already set.
  await mcpAccess(grid, tokens.access_token)
  await grid.store.write([])
  await rows(grid, "CREATE TRIGGER no_log BEFORE INSERT ON activity BEGIN SELECT RAISE(ABORT, 'no log today'); END")
  const before = await dump(grid, grid.acme)
  const actions = {
    consent: () => submitConsent(grid, grid.ann, { handle, pick: admin(), decision: 'allow' }),
    own: () => revokeOwnGrant(grid.store, grid.ann.visitor, String(id), null),
    client: () => revoke(tokens.refresh_token),
    key: () => fetchApiKey(grid, tokens.access_token),
    reset: () => resetPassword(grid.store, token, 'a new horse battery', null),
  }

  for (const action of Object.values(actions)) {
    const answered = await action().catch((error) => error)
    expect(answered?.code === 'write_conflict' || answered?.status >= 400).toBe(true)
    expect(await dump(grid, grid.acme)).toBe(before)
  }
  await rows(grid, 'DROP TRIGGER no_log')
  expect(await mcpAccess(grid, tokens.access_token)).toBe('agent tools')
  await actions.reset()
  expect(await mcpAccess(grid, tokens.access_token)).toBe('401')
})

/** Returns the rows of an account's activity log, newest first. */
function log(account = grid.acme) {
  return account.store.read.activity.list()
}
