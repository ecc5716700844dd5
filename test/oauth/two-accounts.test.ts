/**
 * A client with access to one of the user's two accounts has no access to the other. The cases are those of the
 * isolation matrix, with the objects of the other account. See docs/security.md, "Isolation matrix".
 */
import { expect, test } from 'vitest'
import { dump } from '../support/database.ts'
import { mcp } from '../support/mcp.ts'
import { oauthGrid, obtainTokens, refresh } from '../support/oauth.ts'

test('choosing another entry creates another token and leaves the first unchanged', async () => {
  const grid = await oauthGrid()
  const { users } = grid.store.global
  await grid.store.write([users.addMembership(grid.evil.id, grid.ann.visitor.user.id, 'owner', grid.clock.now)])
  const aliases = async (token: string, tool: string) =>
    (await mcp(grid, token, 'tools/call', { name: tool, arguments: {} })).body.result.content[0].text

  const acme = await obtainTokens(grid, `admin:${grid.acme.id}`)
  const untouched = await dump(grid, grid.acme, ['oauth_grants', 'oauth_tokens', 'activity'])
  const evil = await obtainTokens(grid, `admin:${grid.evil.id}`)
  const { body: again } = await refresh(grid, acme.refresh_token)

  for (const token of [acme.access_token, again.access_token]) {
    expect(await aliases(token, 'admin_list_agents')).toMatch(/alice.*bob/)
    expect(await aliases(token, 'admin_list_agents')).not.toContain('eve')
  }
  expect(await aliases(evil.access_token, 'admin_list_agents')).toMatch(/eve/)
  expect(await aliases(evil.access_token, 'admin_list_agents')).not.toMatch(/alice|bob/)
  const made = await mcp(grid, evil.access_token, 'tools/call', {
    name: 'admin_create_agent',
    arguments: { alias: 'of-evil' },
  })
  expect(made.body.result.isError).toBeUndefined()
  expect(await dump(grid, grid.acme, ['oauth_grants', 'oauth_tokens', 'activity'])).toBe(untouched)
  const [row] = await grid.evil.store.read.activity.list()
  expect(row).toMatchObject({ tool: 'admin_create_agent', credentialKind: 'oauth', userId: grid.ann.visitor.user.id })

  const alice = await obtainTokens(grid, `agent:${grid.alice.id}`)
  expect(await aliases(alice.access_token, 'list_agents')).toContain('bob')
  expect(await aliases(alice.access_token, 'list_agents')).not.toContain('eve')
  await grid.close()
})
