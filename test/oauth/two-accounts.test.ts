/**
 * A client with access to one of the user's two accounts has no access to the other. The cases are those of the
 * isolation matrix, with the objects of the other account. See docs/security.md, "Isolation matrix".
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { dump } from '../support/database.ts'
import { isolatedAccounts } from '../support/isolated-accounts.ts'
import { expectIsolated } from '../support/isolation-matrix.ts'
import { mcp } from '../support/mcp.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import { oauthGrid, obtainTokens, refresh } from '../support/oauth.ts'
import { person } from '../support/people.ts'
import { adminRows, casesOf, type Form, type NamingParameter, type State } from '../support/tool-parameters.ts'

/** A sample: the accepted forms and one that is not accepted. The matrix itself covers all. */
const isSampled = ({ takes }: NamingParameter) => ({ state, form }: { state: State; form: Form }) =>
  state.endsWith('foreign') && [...takes, 'account id'].includes(form)

describe.each([{ isSwapped: false }, { isSwapped: true }])('an admin token (swapped: $isSwapped)', async (options) => {
  const world = await isolatedAccounts(options)
  const { grid, owner, caller } = world
  const olga = await person(grid, { role: 'owner', account: owner })
  await grid.store.write([grid.store.global.users.addMembership(caller.id, olga.id, 'owner', grid.clock.now)])
  const { token } = await accessTokenFor(grid, olga.id, caller.id)
  // The first use writes `last_used_at`.
  await world.callMcp(token, 'none', {})
  const call = (tool: string, args: Record<string, unknown>) => world.callMcp(token, tool, args)
  afterAll(() => grid.close())
  afterEach(() => world.reset())

  const cases = Object.entries(adminRows).flatMap(([tool, row]) =>
    Object.entries(row.parameters).flatMap(([path, parameter]) =>
      parameter === 'text' ? [] : casesOf(parameter).filter(isSampled(parameter))
        .map((of) => [`${tool} ${path}: ${of.state}, ${of.form}`, { tool, row, path, parameter, call, ...of }] as const)
    )
  )
  test.each(cases)('%s', (_, at) => expectIsolated(world, at))
})

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
