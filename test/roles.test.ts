/**
 * The roles matrix: every kind of credential calls every tool, in both MCP protocol eras, REST for admins, and A2A. `holdersOf` has the
 * credentials and the toolset that each opens; the tools are the rows of `support/tool-parameters.ts`.
 *
 * See docs/security.md, "Roles".
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { minute, second } from '../src/lib/time.ts'
import { createAdminKey, deleteAdminKey } from '../src/grid/accounts/accounts.ts'
import { deleteAgent } from '../src/grid/agents/agents.ts'
import { newId } from '../src/lib/id.ts'
import { mintKey } from '../src/lib/secrets.ts'
import { postA2a, send03, send10 } from './support/a2a.ts'
import { rows, updateTrial } from './support/database.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { eras, mcp, sendWire, wireRequest } from './support/mcp.ts'
import { accessTokenFor } from './support/oauth-token.ts'
import { callRest } from './support/rest.ts'
import { adminRows, agentRestRows, agentRows, restRows } from './support/tool-parameters.ts'

/** The toolset that a credential opens. */
type Opens = 'admin tools' | 'agent tools' | 'nothing'

/** A row of the matrix: a credential and what it opens. */
interface Holder {
  holder: string
  opens: Opens
  key: string | undefined
  /** OAuth access tokens are not valid for A2A. */
  isOAuth?: true
}

const toolsets = { 'admin tools': adminRows, 'agent tools': agentRows }
const unknownTool = -32602

describe('the matrix of credentials and tools', async () => {
  const grid = await testGrid()
  // One address tries more refused keys here than a minute allows.
  beforeEach(() => void (grid.clock.now += second))
  afterAll(() => grid.close())
  const holders = await holdersOf(grid)
  const tools = Object.entries(toolsets).flatMap(([toolset, rows]) =>
    Object.entries(rows).map(([tool, { args }]) => ({ toolset, tool, args }))
  )
  const cases = holders.flatMap((holder) =>
    eras.flatMap((era) =>
      tools.map((tool) => [`${holder.holder}: ${tool.tool} (${era})`, { ...holder, ...tool, era }] as const)
    )
  )
  let ran = 0
  afterAll(() => console.log(`roles matrix: ${holders.length} credentials, ${tools.length} tools, ${ran} cases`))

  test.each(cases)('%s', async (_, { opens, key, toolset, tool, args, era }) => {
    const response = await sendWire(grid, key, wireRequest(era, 'tools/call', { name: tool, arguments: args }))

    if (opens === 'nothing') {
      expect(response.status).toBe(401)
      expect(response.headers.get('WWW-Authenticate')).toMatch(/^Bearer /)
    } else if (opens === toolset) {
      expect(response.status).toBe(200)
      expect(response.body.result.content[0].text).not.toContain('wrong_credential')
    } else {
      expect(response.body.error).toMatchObject({ code: unknownTool, message: expect.stringContaining('Unknown tool') })
    }
    ran++
  })

  test.each(holders.map((holder) => [holder.holder, holder] as const))(
    '%s: the list of tools, REST and A2A',
    async (_, { opens, key, isOAuth }) => {
      grid.clock.now += minute
      for (const era of eras) {
        const { status, body } = await sendWire(grid, key, wireRequest(era, 'tools/list'))
        const listed = opens === 'nothing' ? undefined : Object.keys(toolsets[opens])
        expect(status).toBe(opens === 'nothing' ? 401 : 200)
        expect(body.result?.tools.map((tool: { name: string }) => tool.name)).toEqual(listed)
        ran++
      }
      for (const [route, { args }] of Object.entries(restRows)) {
        const { status, body } = await callRest(grid, key, route, args)
        if (opens === 'nothing') expect([status, body.error.code]).toEqual([401, 'unauthenticated'])
        else if (opens === 'agent tools') expect([status, body.error.code]).toEqual([403, 'wrong_credential'])
        else expect([200, 201, 404, 409]).toContain(status)
        ran++
      }
      for (const [route, { args }] of Object.entries(agentRestRows)) {
        const { status, body } = await callRest(grid, key, route, args)
        if (opens === 'nothing' || isOAuth) expect([status, body.error.code]).toEqual([401, 'unauthenticated'])
        else if (opens === 'admin tools') expect([status, body.error.code]).toEqual([403, 'wrong_credential'])
        else expect([200, 201, 403, 404, 409]).toContain(status)
        ran++
      }
      for (const body of [send03(), send10()]) {
        expect((await postA2a(grid, key, body)).status).toBe(opens === 'agent tools' && !isOAuth ? 200 : 401)
        ran++
      }
    },
  )
})

describe('a key that worked', () => {
  let grid: TestGrid
  beforeEach(async () => {
    grid = await testGrid()
  })
  afterEach(() => grid.close())

  test('is refused on the next call after its user lost the role, and works again when the role comes back', async () => {
    const { key, userId } = await keyOfUser(grid, 'owner')
    const setRole = (role: string) =>
      rows(grid, 'UPDATE memberships SET role = ? WHERE account_id = ? AND user_id = ?', [role, grid.acme.id, userId])

    expect(await statusOf(key)).toBe(200)
    for (const [role, status] of [['member', 401], ['admin', 200], ['viewer', 401], ['owner', 200]] as const) {
      await setRole(role)
      expect(await statusOf(key)).toBe(status)
    }
    await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id = ?', [grid.acme.id, userId])
    expect(await statusOf(key)).toBe(401)
  })

  test('is refused on the next call after it was deleted', async () => {
    const { id, adminKey } = await createAdminKey(grid.acme.store, 'CI')

    expect(await statusOf(adminKey)).toBe(200)
    await deleteAdminKey(grid.acme.store, id)
    expect(await statusOf(adminKey)).toBe(401)
  })

  test('is refused on the next call after its agent was deleted', async () => {
    expect(await statusOf(grid.bob.key)).toBe(200)
    await deleteAgent(grid.acme.store, 'bob')
    expect(await statusOf(grid.bob.key)).toBe(401)
  })

  test('writes no row to the activity log when it is refused, because the caller is unknown', async () => {
    const { key } = await keyOfUser(grid, 'viewer')

    await mcp(grid, key, 'tools/call', { name: 'admin_list_agents', arguments: {} })

    expect(await grid.acme.store.read.activity.list()).toEqual([])
  })

  async function statusOf(key: string): Promise<number> {
    return (await mcp(grid, key, 'tools/list')).status
  }
})

async function holdersOf(grid: TestGrid): Promise<Holder[]> {
  const { acme, evil } = grid
  const [onTrial, afterTrial, deleted, revoked] = await Promise.all(
    ['on-trial', 'after-trial', 'deleted', 'revoked'].map((alias) => acme.agent(alias)),
  )
  const expiresAt = grid.clock.now + 1_000
  await updateTrial(grid, onTrial, { used: 0, max: 10, expiresAt })
  await updateTrial(grid, afterTrial, { used: 10, max: 10, expiresAt })
  await deleteAgent(acme.store, deleted.id)
  await rows(grid, 'UPDATE credentials SET revoked_at = 1 WHERE account_id = ? AND agent_id = ?', [acme.id, revoked.id])
  const ended = await createAdminKey(acme.store, 'ended')
  await deleteAdminKey(acme.store, ended.id)
  const elsewhere = await keyOfUser(grid, undefined)
  await grid.store.write([grid.store.global.users.addMembership(evil.id, elsewhere.userId, 'owner', 0)])

  return [
    ...await Promise.all((['owner', 'admin', 'member', 'viewer'] as const).map(async (role) => ({
      holder: `key of ${role === 'owner' || role === 'admin' ? 'an' : 'a'} ${role}`,
      opens: role === 'owner' || role === 'admin' ? 'admin tools' as const : 'nothing' as const,
      key: (await keyOfUser(grid, role)).key,
    }))),
    { holder: 'key of a former member', opens: 'nothing', key: (await keyOfUser(grid, undefined)).key },
    { holder: 'key of an owner of another account', opens: 'nothing', key: elsewhere.key },
    { holder: 'command-line key', opens: 'admin tools', key: acme.adminKey },
    { holder: 'deleted admin key', opens: 'nothing', key: ended.adminKey },
    { holder: 'agent key', opens: 'agent tools', key: grid.alice.key },
    { holder: 'agent key on trial', opens: 'agent tools', key: onTrial.key },
    { holder: 'agent key after its trial', opens: 'agent tools', key: afterTrial.key },
    { holder: 'revoked agent key', opens: 'nothing', key: revoked.key },
    { holder: 'key of a deleted agent', opens: 'nothing', key: deleted.key },
    ...await oauthHolders(grid),
    { holder: 'unknown key', opens: 'nothing', key: (await mintKey('admin_key')).key },
    { holder: 'malformed key', opens: 'nothing', key: grid.acme.adminKey.slice(0, -1) },
    { holder: 'no key', opens: 'nothing', key: undefined },
  ]
}

/** Access tokens of users in every role: for the admin of the account, and for one of its agents. */
async function oauthHolders(grid: TestGrid): Promise<Holder[]> {
  const { acme, evil, alice, store, clock } = grid
  const gone = await acme.agent('gone')
  const holders = await Promise.all(
    (['owner', 'admin', 'member', 'viewer', undefined] as const).flatMap((role) =>
      [null, alice.id].map(async (agentId): Promise<Holder> => {
        // The grant is given as an owner. What counts is the current role, which changes here.
        const { userId } = await keyOfUser(grid, 'owner')
        const { token } = await accessTokenFor(grid, userId, acme.id, agentId)
        if (role) await setRole(grid, userId, role)
        else await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id = ?', [acme.id, userId])
        const mayAdminister = role === 'owner' || role === 'admin'
        const opens = agentId === null
          ? mayAdminister ? 'admin tools' : 'nothing'
          : mayAdminister || role === 'member'
          ? 'agent tools'
          : 'nothing'
        return {
          holder: `OAuth token for ${agentId ? 'an agent' : 'the admin'}, ${role ?? 'left'}`,
          opens,
          key: token,
          isOAuth: true,
        }
      })
    ),
  )
  const { userId } = await keyOfUser(grid, 'owner')
  const [forGone, revoked, live] = [
    await accessTokenFor(grid, userId, acme.id, gone.id),
    await accessTokenFor(grid, userId, acme.id),
    await accessTokenFor(grid, userId, acme.id),
  ]
  await deleteAgent(acme.store, gone.id)
  await store.write([store.global.oauth.grants.revoke(acme.id, revoked.grantId, clock.now)])
  const other = await keyOfUser(grid, 'owner')
  const moved = await accessTokenFor(grid, other.userId, acme.id)
  await store.write([store.global.users.addMembership(evil.id, other.userId, 'owner', 0)])
  await setRole(grid, other.userId, 'viewer')
  return [
    ...holders,
    { holder: 'OAuth token for a deleted agent', opens: 'nothing', key: forGone.token, isOAuth: true },
    { holder: 'OAuth token of a revoked grant', opens: 'nothing', key: revoked.token, isOAuth: true },
    { holder: 'OAuth token beside a revoked one', opens: 'admin tools', key: live.token, isOAuth: true },
    { holder: 'OAuth token of an owner of another account', opens: 'nothing', key: moved.token, isOAuth: true },
    { holder: 'OAuth refresh token', opens: 'nothing', key: (await mintKey('refresh_token')).key, isOAuth: true },
  ]
}

function setRole(grid: TestGrid, userId: string, role: string) {
  return rows(grid, 'UPDATE memberships SET role = ? WHERE account_id = ? AND user_id = ?', [
    role,
    grid.acme.id,
    userId,
  ])
}

/** An admin key created by a user with this role in Acme, or with none. */
async function keyOfUser(
  { store, acme }: TestGrid,
  role: 'owner' | 'admin' | 'member' | 'viewer' | undefined,
): Promise<{ key: string; userId: string }> {
  const { key, hash, last4 } = await mintKey('admin_key')
  const userId = newId()
  await store.write([
    store.global.users.add({ id: userId, email: `${userId}@acme.example`, passwordHash: null }, 0),
    ...(role ? [store.global.users.addMembership(acme.id, userId, role, 0)] : []),
    acme.store.change.keys.add(
      { id: newId(), kind: 'admin_key', agentId: null, userId, name: role ?? 'none', hash, last4 },
      0,
    ),
  ])
  return { key, userId }
}
