/** Revocation (RFC 7009), and the removal of expired rows. See docs/protocol/oauth.md, "Tokens". */
import { beforeEach, expect, test } from 'vitest'
import { day, minute } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import {
  callback,
  codeFor,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  postForm,
  refresh,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})

const agent = () => `agent:${grid.alice.id}`
const revoke = (token: string | undefined, client_id: string | undefined = grid.clientId) =>
  postForm(grid, '/oauth/revoke', { token, client_id })

test('revoking an access token ends only this token, and revoking a refresh token ends its grant', async () => {
  const tokens = await obtainTokens(grid)
  const next = (await refresh(grid, tokens.refresh_token)).body

  expect((await revoke(tokens.access_token)).status).toBe(200)
  expect([await mcpAccess(grid, tokens.access_token), await mcpAccess(grid, next.access_token)]).toEqual([
    '401',
    'admin tools',
  ])
  expect((await revoke(next.refresh_token)).status).toBe(200)
  expect(await mcpAccess(grid, next.access_token)).toBe('401')
  expect((await refresh(grid, next.refresh_token)).body.error).toBe('invalid_grant')
})

test("a client cannot revoke another client's tokens", async () => {
  const tokens = await obtainTokens(grid)
  const other = await (await grid.post(`${issuer}/oauth/register`, { redirect_uris: [callback] })).json()

  expect((await revoke(tokens.refresh_token, other.client_id)).status).toBe(200)
  expect((await revoke(tokens.access_token, other.client_id)).status).toBe(200)

  expect(await mcpAccess(grid, tokens.access_token)).toBe('admin tools')
})

test('revoking an unknown, ended or malformed token gets 200', async () => {
  const tokens = await obtainTokens(grid)
  await revoke(tokens.refresh_token)

  for (const token of ['x', tokens.refresh_token, tokens.access_token, grid.alice.key, `grid_oat_${'0'.repeat(49)}`]) {
    expect((await revoke(token)).status).toBe(200)
  }
  expect(await mcpAccess(grid, grid.alice.key)).toBe('agent tools')
  expect(await revoke('x', 'unknown')).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  expect(await revoke(undefined)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})

test('refresh tokens and codes are not accepted as bearer tokens', async () => {
  const { refresh_token } = await obtainTokens(grid)

  for (const secret of [refresh_token, await codeFor(grid)]) expect(await mcpAccess(grid, secret)).toBe('401')
})

test('the sweep removes expired OAuth rows in batches, and keeps valid ones', async () => {
  const live = await obtainTokens(grid)
  const ended = await obtainTokens(grid, agent())
  await revoke(ended.refresh_token)
  await codeFor(grid)
  await openConsentPage(grid, grid.ann)
  const counts = async () => {
    const count = async (table: string, args: string[] = []) =>
      (await rows(grid, `SELECT count(*) AS n FROM ${table}${args.length ? ' WHERE account_id = ?' : ''}`, args))[0].n
    return {
      clients: await count('oauth_clients'),
      requests: await count('oauth_requests'),
      grants: await count('oauth_grants', [grid.acme.id]),
      tokens: await count('oauth_tokens', [grid.acme.id]),
    }
  }
  const sweep = async (limit: number) => {
    await grid.store.write(grid.store.global.oauth.removeExpired(grid.clock.now, limit))
    return await counts()
  }

  expect(await counts()).toEqual({ clients: 1, requests: 4, grants: 3, tokens: 4 })
  grid.clock.now += 10 * minute
  expect(await sweep(1)).toEqual({ clients: 1, requests: 3, grants: 2, tokens: 3 })
  expect(await sweep(100)).toEqual({ clients: 1, requests: 0, grants: 1, tokens: 2 })
  expect(await mcpAccess(grid, live.access_token)).toBe('admin tools')
  const { status } = await refresh(grid, live.refresh_token)
  expect(status).toBe(200)
  grid.clock.now += 100 * day
  expect(await sweep(100)).toEqual({ clients: 0, requests: 0, grants: 0, tokens: 0 })
})
