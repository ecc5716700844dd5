/** The parts of the matrix of cached keys: changes that affect a key lookup, and uses of a key. */
import type { Role } from '../../src/auth/actor.ts'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { createAdminKey, deleteAdminKey } from '../../src/grid/accounts/accounts.ts'
import { deleteAccount } from '../../src/grid/accounts/deletion.ts'
import { fetchAgentKey, reissueKey, revokeKey } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { revokeGrant } from '../../src/grid/oauth/grants.ts'
import { leaveAccount, removeMember, setMemberRole, transferOwnership } from '../../src/grid/people/team.ts'
import { hashForLookup, keyPrefixes } from '../../src/lib/secrets.ts'
import { day, hour } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from './database.ts'
import type { TestGrid } from './grid.ts'
import { mcp, toolResult } from './mcp.ts'
import { accessTokenFor } from './oauth-token.ts'
import { type Person, person } from './people.ts'
import { claimAgents, signUpAs } from './signup.ts'

/** A key, and a change that affects it. */
export interface KeyCase {
  key: string
  change(): Promise<unknown>
  /** Whether the key was fetched with a grant, which expires by itself. So each use of the key queries the database. */
  hasGrant?: true
  /** Whether the key remains valid after the change. */
  stays?: true
}

type Prepare = (grid: TestGrid) => KeyCase | Promise<KeyCase>

/** All changes that invalidate an agent's key or alter its meaning. */
const keyChanges: Record<string, Prepare> = {
  'its key is replaced': (grid) => ({ ...alice(grid), change: () => reissueKey(grid.acme.store, 'alice') }),
  async 'its key is revoked alone'(grid) {
    const [{ id: key }] = await grid.acme.store.read.keys.ofAgent(grid.alice.id, grid.clock.now)
    return { ...alice(grid), change: () => revokeKey(grid.acme.store, { agent: 'alice', key }) }
  },
  'its agent is deleted': (grid) => ({ ...alice(grid), change: () => deleteAgent(grid.acme.store, 'alice') }),
  'its account is deleted': (grid) => ({
    ...alice(grid),
    change: () => deleteAccount(grid.acme.store, { name: 'Acme' }),
  }),
  async 'the grant that its key was fetched with is revoked'(grid) {
    const { key, grantId } = await fetchedKey(grid)
    return { key, hasGrant: true, change: () => revokeGrant(grid.acme.store, grantId) }
  },
  async 'the grant that its key was fetched with expires'(grid) {
    const { key } = await fetchedKey(grid)
    const change = () => Promise.resolve(grid.clock.now += 30 * day)
    return { key, hasGrant: true, change }
  },
  async 'the user of its fetched key becomes a viewer'(grid) {
    const { key, user } = await fetchedKey(grid)
    return {
      key,
      hasGrant: true,
      change: () => setMemberRole(grid.acme.store, { userId: user.id, role: 'viewer' }),
    }
  },
  async 'its agent is claimed'(grid) {
    const { key, link } = await signedUp(grid)
    return { key, change: () => claimAgents(grid, link), stays: true }
  },
  async 'its agent is discarded by a claim'(grid) {
    const { key, link } = await signedUp(grid)
    return { key, change: () => claimAgents(grid, link, { discard: ['zoe'] }) }
  },
  async 'a claim moves both agents into another account'(grid) {
    const { key, link } = await signedUp(grid)
    return { key, change: () => claimAgents(grid, link, { into: grid.evil }), stays: true }
  },
  async 'the account is not claimed in time'(grid) {
    const { key } = await signedUp(grid)
    const change = () => {
      grid.clock.now += 8 * day
      return sweep(grid.store)
    }
    return { key, change }
  },
}

/** All changes that invalidate an admin key. */
const adminChanges: Record<string, Prepare> = {
  async 'an admin key is deleted'(grid) {
    const { id, adminKey } = await createAdminKey(grid.acme.store, 'ci')
    return { key: adminKey, change: () => deleteAdminKey(grid.acme.store, id) }
  },
  'the user of an admin key becomes a member': (grid) =>
    ofAdmin(grid, ({ id }) => setMemberRole(grid.acme.store, { userId: id, role: 'member' })),
  'the user of an admin key is removed': (grid) => ofAdmin(grid, ({ id }) => removeMember(grid.acme.store, id)),
  'the user of an admin key leaves': (grid) =>
    ofAdmin(grid, ({ actor }) => leaveAccount(grid.store.account(grid.acme.id, actor('admin')))),
  'the user of an admin key becomes the owner': async (grid) => {
    const owner = await ownerOf(grid)
    const change = (user: Person) => transferOwnership(grid.store.account(grid.acme.id, owner.actor('owner')), user.id)
    return { ...await ofAdmin(grid, change), stays: true }
  },
}

/** Uses of a key. Each sends a request and resolves to `refused`, or to the ids of the agents in the key's account. */
export const keyUses: Record<string, (grid: TestGrid, key: string) => Promise<string>> = {
  'a bearer look-up': async (grid, key) => {
    const account = await createAuthenticator(grid.store)(`Bearer ${key}`).catch(() => undefined)
    const actor = account && { ...account.actor, credentialId: '' }
    return account ? withoutTimes([actor, await account.read.agents.page('', 100)]) : 'refused'
  },
  MCP: async (grid, key) => {
    const name = key.startsWith(keyPrefixes.admin_key) ? 'admin_list_agents' : 'list_agents'
    const { status, body } = await mcp(grid, key, 'tools/call', { name, arguments: {} })
    return status === 401 ? 'refused' : withoutTimes(toolResult(body.result, name).text)
  },
}

/** All changes that invalidate an agent's access token. */
const tokenChanges: Record<string, Prepare> = {
  async 'its token is revoked'(grid) {
    const { key } = await tokenOf(grid)
    const revoke = () => grid.store.global.oauth.tokens.revoke(grid.acme.id, hashForLookup(key), grid.clock.now)
    return { key, change: () => grid.store.write([revoke()]) }
  },
  async 'its token expires'(grid) {
    const { key } = await tokenOf(grid)
    return { key, change: () => Promise.resolve(grid.clock.now += hour) }
  },
  async 'the grant of its token is revoked'(grid) {
    const { key, grantId } = await tokenOf(grid)
    return { key, change: () => revokeGrant(grid.acme.store, grantId) }
  },
  async 'the agent of its token is deleted'(grid) {
    const { key } = await tokenOf(grid)
    return { key, change: () => deleteAgent(grid.acme.store, 'alice') }
  },
  async 'the user of its token becomes a viewer'(grid) {
    const { key, user } = await tokenOf(grid)
    return { key, change: () => setMemberRole(grid.acme.store, { userId: user.id, role: 'viewer' }) }
  },
  async 'the user of its token is removed'(grid) {
    const { key, user } = await tokenOf(grid)
    return { key, change: () => removeMember(grid.acme.store, user.id) }
  },
  async 'the account of its token is deleted'(grid) {
    const { key } = await tokenOf(grid)
    return { key, change: () => deleteAccount(grid.acme.store, { name: 'Acme' }) }
  },
}

/** Each change combined with each use of the affected key. */
export const cells = cellsOf({ ...keyChanges, ...adminChanges })

/** All changes that invalidate or alter an agent's credential. */
export const agentChanges = Object.entries({ ...keyChanges, ...tokenChanges })

function cellsOf(changes: Record<string, Prepare>) {
  const uses = Object.keys(keyUses)
  return Object.entries(changes).flatMap(([change, prepare]) => uses.map((use) => [change, use, prepare] as const))
}

/** Returns a response's text without the times when agents were last seen, because each call changes them. */
export function withoutTimes(answer: unknown): string {
  return JSON.stringify(answer, (name, value) => /seen/i.test(name) ? undefined : value)
}

const alice = ({ alice }: TestGrid) => ({ key: alice.key })

async function ofAdmin(grid: TestGrid, change: (user: Person) => Promise<unknown>): Promise<KeyCase> {
  const user = await person(grid, { role: 'admin' })
  const { adminKey } = await createAdminKey(grid.store.account(grid.acme.id, user.actor('admin')), 'mine')
  return { key: adminKey, change: () => change(user) }
}

async function ownerOf(grid: TestGrid): Promise<Person> {
  const [row] = await rows(grid, "SELECT user_id FROM memberships WHERE account_id = ? AND role = 'owner'", [
    grid.acme.id,
  ])
  const id = String(row.user_id)
  return {
    id,
    email: '',
    emailVerifiedAt: null,
    actor: (role: Role) => ({ type: 'user', userId: id, role, sessionId: 'test', confirmedAt: grid.clock.now }),
  }
}

/** Returns a key that an OAuth client fetched for alice. */
async function fetchedKey(grid: TestGrid) {
  const user = await person(grid, { role: 'member' })
  const { token, grantId } = await accessTokenFor(grid, user.id, grid.acme.id, grid.alice.id)
  const { apiKey } = await fetchAgentKey(await createAuthenticator(grid.store)(`Bearer ${token}`))
  return { key: apiKey, grantId, user }
}

/** Returns an access token for alice. */
async function tokenOf(grid: TestGrid) {
  const user = await person(grid, { role: 'member' })
  const { token, grantId } = await accessTokenFor(grid, user.id, grid.acme.id, grid.alice.id)
  return { key: token, grantId, user }
}

/** Signs up the agents zoe and max with the same owner. Resolves to zoe. */
async function signedUp(grid: TestGrid) {
  const zoe = await signUpAs(grid, 'zed@new.example', 'zoe')
  await signUpAs(grid, 'zed@new.example', 'max')
  return zoe
}
