/**
 * The roles matrix: each kind of credential makes each call of `support/calls.ts`, in both MCP eras and over REST, and
 * sends over A2A. A call that the credential may not make gets exactly its refusal. Any other call gets the same
 * response as with another permitted credential. See docs/people.md, "Roles".
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { minute, second } from '../src/lib/time.ts'
import { createAdminKey, deleteAdminKey } from '../src/grid/accounts/accounts.ts'
import { deleteAgent } from '../src/grid/agents/agents.ts'
import { newId } from '../src/lib/id.ts'
import { mintKey } from '../src/lib/secrets.ts'
import { type Call, calls, validArguments } from './support/calls.ts'
import { postA2a, send03, send10 } from './support/a2a.ts'
import { rows, updateTrial } from './support/database.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { type Era, eras, mcp, sendWire, wireRequest } from './support/mcp.ts'
import { accessTokenFor } from './support/oauth-token.ts'
import { callRest } from './support/rest.ts'
import { membership } from './support/people.ts'

/** The set of tools that a credential unlocks. */
type Opens = 'admin' | 'agent' | 'nothing'

/** A row of the matrix: a credential and its toolset. */
interface Holder {
  holder: string
  opens: Opens
  key: string | undefined
  /** An OAuth access token, which opens only MCP, event streams and fetching keys. */
  isOAuth?: true
}

/** A call's response: its HTTP status, and `ok` or the error code. */
type Outcome = [status: number, code: string | number]

const unknownTool = -32602
// The call ends the calling key, so it comes last.
const isEnding = ({ name }: Call) => name === 'DELETE /api/v1/key'
const matrix = calls.filter(({ door }) => door !== 'a2a').sort((a, b) => Number(isEnding(a)) - Number(isEnding(b)))

describe('each credential calls each tool and route', async () => {
  const grid = await testGrid()
  // Each row starts in a new minute, because the rows try more refused keys from one address than a minute allows.
  beforeEach(() => void (grid.clock.now += minute))
  const holders = await holdersOf(grid)
  let ran = 0
  afterAll(() => console.log(`roles matrix: ${holders.length} credentials, ${matrix.length} calls, ${ran} cases`))

  test.each(holders.map((holder) => [holder.holder, holder] as const))('%s', async (_, holder) => {
    const { opens, key, isOAuth } = holder
    for (const era of eras) {
      const { status, body } = await sendWire(grid, key, wireRequest(era, 'tools/list'))
      expect(status).toBe(opens === 'nothing' ? 401 : 200)
      const listed = body.result?.tools.map((tool: { name: string }) => tool.name)
      expect(listed).toEqual(opens === 'nothing' ? undefined : toolsOf(opens))
    }
    for (const body of [send03(), send10()]) {
      expect((await postA2a(grid, key, body)).status).toBe(opens === 'agent' && !isOAuth ? 200 : 401)
    }
    const reference = await referenceFor(grid)
    for (const call of matrix) {
      for (const era of call.door === 'mcp' ? eras : [undefined]) {
        const expected = refusalOf(holder, call) ?? await outcomeOf(grid, reference[call.caller], call, era)
        expect(await outcomeOf(grid, key, call, era), `${call.name} ${era ?? ''}`).toEqual(expected)
        // The reference credential must also have been accepted.
        if (!refusalOf(holder, call)) expect(refusals).not.toContain(expected[1])
        ran++
      }
      grid.clock.now += second
    }
  })
})

const refusals: unknown[] = ['unauthenticated', 'wrong_credential', 'not_allowed', 'agent_token_required', unknownTool]

/** Returns the refusal for a credential that may not make the call, or undefined if it may. */
function refusalOf({ opens, isOAuth }: Holder, { door, caller }: Call): Outcome | undefined {
  if (opens === 'nothing') return [401, 'unauthenticated']
  if (caller === 'agent access token') return opens === 'agent' && isOAuth ? undefined : [400, 'agent_token_required']
  if (caller === 'agent key' && isOAuth) return [401, 'unauthenticated']
  if (opens === (caller === 'admin' ? 'admin' : 'agent')) return undefined
  return door === 'mcp' ? [200, unknownTool] : [403, 'wrong_credential']
}

function toolsOf(caller: Opens): string[] {
  return calls.filter((call) => call.door === 'mcp' && call.caller === caller).map(({ name }) => name)
}

let made = 0

/** Makes a call with arguments that name no existing object. */
async function outcomeOf(grid: TestGrid, key: string | undefined, call: Call, era?: Era): Promise<Outcome> {
  const name = `nothing-${++made}`
  const names = { to: `@${name}`, alias: name, name, message: 'hi', provider: 'pii' }
  const args = validArguments(call, names)
  if (call.door === 'rest') {
    const { status, body } = await callRest(grid, key, call.name, args)
    return [status < 300 ? 200 : status, body.error?.code ?? 'ok']
  }
  const { status, body } = await sendWire(
    grid,
    key,
    wireRequest(era!, 'tools/call', { name: call.name, arguments: args }),
  )
  if (status === 401) return [401, 'unauthenticated']
  if (body.error) return [status, body.error.code]
  return [status, body.result.isError ? JSON.parse(body.result.content[0].text).error.code : 'ok']
}

type Reference = Record<Call['caller'], string>

/** Returns valid credentials of each kind, which no row of the matrix uses. */
async function referenceFor(grid: TestGrid): Promise<Reference> {
  const { acme } = grid
  const { id, key } = await acme.agent(`reference-${++made}`)
  const { userId } = await keyOfUser(grid, 'owner')
  const { token } = await accessTokenFor(grid, userId, acme.id, id)
  return { admin: acme.adminKey, agent: key, 'agent key': key, 'agent access token': token }
}

describe('a key that worked', () => {
  let grid: TestGrid
  beforeEach(async () => {
    grid = await testGrid()
  })

  test('an admin key is refused after its user lost the role, and works again when the role is restored', async () => {
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

  test('a refused call of an admin key is not logged, because the caller is unknown', async () => {
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
  await grid.store.write([membership(grid.store, evil.id, elsewhere.userId, 'owner', 0)])

  return [
    ...await Promise.all((['owner', 'admin', 'member', 'viewer'] as const).map(async (role) => ({
      holder: `key of ${role === 'owner' || role === 'admin' ? 'an' : 'a'} ${role}`,
      opens: role === 'owner' || role === 'admin' ? 'admin' as const : 'nothing' as const,
      key: (await keyOfUser(grid, role)).key,
    }))),
    { holder: 'key of a former member', opens: 'nothing', key: (await keyOfUser(grid, undefined)).key },
    { holder: 'key of an owner of another account', opens: 'nothing', key: elsewhere.key },
    { holder: 'command-line key', opens: 'admin', key: acme.adminKey },
    { holder: 'deleted admin key', opens: 'nothing', key: ended.adminKey },
    { holder: 'agent key', opens: 'agent', key: grid.alice.key },
    { holder: 'agent key on trial', opens: 'agent', key: onTrial.key },
    { holder: 'agent key after its trial', opens: 'agent', key: afterTrial.key },
    { holder: 'revoked agent key', opens: 'nothing', key: revoked.key },
    { holder: 'key of a deleted agent', opens: 'nothing', key: deleted.key },
    ...await oauthHolders(grid),
    { holder: 'unknown key', opens: 'nothing', key: mintKey('admin_key').key },
    { holder: 'malformed key', opens: 'nothing', key: grid.acme.adminKey.slice(0, -1) },
    { holder: 'no key', opens: 'nothing', key: undefined },
  ]
}

/** Returns access tokens of users in every role, for the account's admin and for one of its agents. */
async function oauthHolders(grid: TestGrid): Promise<Holder[]> {
  const { acme, evil, alice, store, clock } = grid
  const gone = await acme.agent('gone')
  const holders = await Promise.all(
    (['owner', 'admin', 'member', 'viewer', undefined] as const).flatMap((role) =>
      [null, alice.id].map(async (agentId): Promise<Holder> => {
        // The user grants access as an owner, and then gets this role. Only the current role counts.
        const { userId } = await keyOfUser(grid, 'owner')
        const { token } = await accessTokenFor(grid, userId, acme.id, agentId)
        if (role) await setRole(grid, userId, role)
        else await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id = ?', [acme.id, userId])
        const mayAdminister = role === 'owner' || role === 'admin'
        const opens = agentId === null
          ? mayAdminister ? 'admin' : 'nothing'
          : mayAdminister || role === 'member'
          ? 'agent'
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
  await store.write([membership(store, evil.id, other.userId, 'owner', 0)])
  await setRole(grid, other.userId, 'viewer')
  return [
    ...holders,
    { holder: 'OAuth token for a deleted agent', opens: 'nothing', key: forGone.token, isOAuth: true },
    { holder: 'OAuth token of a revoked grant', opens: 'nothing', key: revoked.token, isOAuth: true },
    { holder: 'OAuth token next to a revoked one', opens: 'admin', key: live.token, isOAuth: true },
    { holder: 'OAuth token of an owner of another account', opens: 'nothing', key: moved.token, isOAuth: true },
    { holder: 'OAuth refresh token', opens: 'nothing', key: mintKey('refresh_token').key, isOAuth: true },
  ]
}

function setRole(grid: TestGrid, userId: string, role: string) {
  return rows(grid, 'UPDATE memberships SET role = ? WHERE account_id = ? AND user_id = ?', [
    role,
    grid.acme.id,
    userId,
  ])
}

/** Creates an admin key of a user with this role in Acme, or without a role. */
async function keyOfUser(
  { store, acme }: TestGrid,
  role: 'owner' | 'admin' | 'member' | 'viewer' | undefined,
): Promise<{ key: string; userId: string }> {
  const { key, hash, last4 } = mintKey('admin_key')
  const userId = newId()
  await store.write([
    store.global.users.add({ id: userId, email: `${userId}@acme.example`, passwordHash: null }, 0),
    ...(role ? [membership(store, acme.id, userId, role, 0)] : []),
    acme.store.change.keys.add(
      { id: newId(), kind: 'admin_key', agentId: null, userId, name: role ?? 'none', hash, last4 },
      0,
    ),
  ])
  return { key, userId }
}
