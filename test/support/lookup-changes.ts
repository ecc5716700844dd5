/** What the matrix of look-ups in memory is made of: the changes that a look-up depends on, and the ways it is used. */
import type { Role } from '../../src/auth/actor.ts'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { createAdminKey, deleteAdminKey } from '../../src/grid/accounts/accounts.ts'
import { claimAccount, mergeClaim, openClaim } from '../../src/grid/accounts/claim.ts'
import { fetchAgentKey, reissueKey, revokeKey } from '../../src/grid/agents/agent-keys.ts'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { updateGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { revokeGrant } from '../../src/grid/oauth/grants.ts'
import { chooseAlias, giveUpAlias } from '../../src/grid/people/seats.ts'
import { leaveAccount, removeMember, setMemberRole, transferOwnership } from '../../src/grid/people/team.ts'
import { keyPrefixes } from '../../src/lib/secrets.ts'
import { day } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { postA2a, send03 } from './a2a.ts'
import { rows } from './database.ts'
import type { TestGrid } from './grid.ts'
import { guard } from './guarded.ts'
import { callTool, mcp, toolResult } from './mcp.ts'
import { accessTokenFor } from './oauth-token.ts'
import { type Person, person } from './people.ts'
import { seated } from './seats.ts'

/** A key, the alias that its agent writes to, and a change that one of the two depends on. */
export interface LookupCase {
  key: string
  /** Undefined for an admin key. */
  to?: string
  change(): Promise<unknown>
  /** The agent that a message reaches afterwards, by id, or the code of its error. Without this, the key is refused. */
  reaches?: () => string
}

type Prepare = (grid: TestGrid) => LookupCase | Promise<LookupCase>

const notFound = () => 'recipient_not_found'
const blocked = () => 'guardrail_blocked'
const everything = { provider: 'length', config: { maxCharacters: 1 } }
const nothing = { provider: 'length', config: { maxCharacters: 10_000 } }

/** Every way in which the key of an agent can end, or begin to mean something else. */
const keyChanges: Record<string, Prepare> = {
  'its key is replaced': (grid) => ({ ...alice(grid), change: () => reissueKey(grid.acme.store, 'alice') }),
  async 'its key is revoked alone'(grid) {
    const [{ id: key }] = await grid.acme.store.read.keys.ofAgent(grid.alice.id, grid.clock.now)
    return { ...alice(grid), change: () => revokeKey(grid.acme.store, { agent: 'alice', key }) }
  },
  'its agent is deleted': (grid) => ({ ...alice(grid), change: () => deleteAgent(grid.acme.store, 'alice') }),
  async 'the grant that its key was fetched with is revoked'(grid) {
    const { key, grantId } = await fetchedKey(grid)
    return { key, to: 'bob', change: () => revokeGrant(grid.acme.store, grantId) }
  },
  async 'the grant that its key was fetched with expires'(grid) {
    const { key } = await fetchedKey(grid)
    const change = () => Promise.resolve(grid.clock.now += 30 * day)
    return { key, to: 'bob', change }
  },
  async 'the user of its fetched key becomes a viewer'(grid) {
    const { key, user } = await fetchedKey(grid)
    return {
      key,
      to: 'bob',
      change: () => setMemberRole(grid.acme.store, { userId: user.id, role: 'viewer' }),
    }
  },
  async 'its agent is claimed as a new account'(grid) {
    const { key, token, claimant, keep } = await signedUp(grid)
    const change = () => claimAccount(grid.store, token, claimant, { keep, discard: [], name: 'Zoe' }, null)
    return { key, to: 'max', change, reaches: () => keep[1] }
  },
  async 'its agent is discarded by a claim'(grid) {
    const { key, token, claimant, keep: [zoe, max] } = await signedUp(grid)
    const decision = { keep: [max], discard: [zoe], name: 'Zoe' }
    return { key, to: 'max', change: () => claimAccount(grid.store, token, claimant, decision, null) }
  },
  async 'a claim moves both agents into another account'(grid) {
    const { key, token, claimant, keep, user } = await signedUp(grid)
    const into = { id: grid.evil.id, account: grid.store.account(grid.evil.id, user.actor('owner')) }
    const change = () => mergeClaim(grid.store, token, claimant, into, { keep, discard: [] }, null)
    return { key, to: 'max', change, reaches: () => keep[1] }
  },
  async 'the account is not claimed in time'(grid) {
    const { key } = await signedUp(grid)
    const change = () => {
      grid.clock.now += 8 * day
      return sweep(grid.store)
    }
    return { key, to: 'max', change }
  },
}

/** Every way in which an alias can end, or begin to mean something else. */
const recipientChanges: Record<string, Prepare> = {
  async 'the recipient is discarded by a claim'(grid) {
    const { key, token, claimant, keep: [zoe, max] } = await signedUp(grid)
    const decision = { keep: [zoe], discard: [max], name: 'Zoe' }
    const change = () => claimAccount(grid.store, token, claimant, decision, null)
    return { key, to: 'max', change, reaches: notFound }
  },
  'the recipient is deleted': (grid) => ({
    ...alice(grid),
    change: () => deleteAgent(grid.acme.store, 'bob'),
    reaches: notFound,
  }),
  async 'the recipient is a person who chooses another alias'(grid) {
    const { account } = await seated(grid, 'ann')
    return { ...alice(grid), to: 'ann', change: () => chooseAlias(account, { alias: 'annie' }), reaches: notFound }
  },
  async 'the recipient is a person who gives up the alias'(grid) {
    const { account } = await seated(grid, 'ann')
    return { ...alice(grid), to: 'ann', change: () => giveUpAlias(account), reaches: notFound }
  },
  'the alias of the recipient is given to another agent'(grid) {
    let next = ''
    const change = async () => {
      await deleteAgent(grid.acme.store, 'bob')
      next = (await grid.acme.agent('bob')).id
    }
    return { ...alice(grid), change, reaches: () => next }
  },
  'the settings of the recipient change': (grid) => ({
    ...alice(grid),
    change: () => updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', description: 'new' }),
    reaches: () => grid.bob.id,
  }),
  'the recipient in another account is deleted': toDesk((grid) => deleteAgent(grid.evil.store, 'desk')),
  'the recipient in another account becomes private': toDesk((grid) =>
    updateAgent(grid.evil.store, { agent: 'desk', visibility: 'private' })
  ),
  'the recipient in another account allows only others': toDesk((grid) =>
    updateAgent(grid.evil.store, { agent: 'desk', accessPolicy: 'allow_list', accessList: ['bob'] })
  ),
  'the recipient in another account blocks the sender': toDesk((grid) =>
    updateAgent(grid.evil.store, { agent: 'desk', accessPolicy: 'block_list', accessList: ['alice'] })
  ),
  'the account of the recipient is no longer claimed': toDesk((grid) =>
    rows(grid, "UPDATE accounts SET state = 'merged' WHERE id = ?", [grid.evil.id])
  ),
  async 'the message that gave the right to answer is removed'(grid) {
    const visitor = await grid.evil.agent('visitor')
    await updateAgent(grid.acme.store, { agent: 'alice', visibility: 'public' })
    await callTool(grid, visitor.key, 'send_message', { to: 'alice', message: 'hello' })
    const removal = 'DELETE FROM deliveries WHERE account_id = ? AND stranger_id = ?'
    const change = () => rows(grid, removal, [grid.acme.id, visitor.id])
    return { ...alice(grid), to: 'visitor', change, reaches: notFound }
  },
}

/** Every way in which a guardrail can begin or cease to check a message. It objects to everything. */
const guardrailChanges: Record<string, Prepare> = {
  'a guardrail is attached to the recipient': (grid) => ({
    ...alice(grid),
    change: () => guard(grid.acme, 'bob', { direction: 'inbound', ...everything }),
    reaches: blocked,
  }),
  'a guardrail is attached to the sender': (grid) => ({
    ...alice(grid),
    change: () => guard(grid.acme, 'alice', { direction: 'outbound', ...everything }),
    reaches: blocked,
  }),
  async 'the guardrail of the recipient is turned on'(grid) {
    const id = await guard(grid.acme, 'bob', { direction: 'inbound', ...everything, enabled: false })
    const change = () => updateGuardrail(grid.acme.store, id, { enabled: true })
    return { ...alice(grid), change, reaches: blocked }
  },
  async 'the guardrail of the recipient is changed'(grid) {
    const id = await guard(grid.acme, 'bob', { direction: 'inbound', ...nothing })
    const change = () => updateGuardrail(grid.acme.store, id, { config: everything.config })
    return { ...alice(grid), change, reaches: blocked }
  },
  async 'another guardrail is attached to the sender'(grid) {
    await guard(grid.acme, 'alice', { direction: 'outbound', ...nothing })
    const change = () => guard(grid.acme, 'alice', { direction: 'both', ...everything })
    return { ...alice(grid), change, reaches: blocked }
  },
  async 'the guardrail of the recipient in another account is changed'(grid) {
    let id = ''
    const change = () => updateGuardrail(grid.evil.store, id, { config: everything.config })
    const prepared = await toDesk(change, blocked)(grid)
    id = await guard(grid.evil, 'desk', { direction: 'inbound', ...nothing })
    return prepared
  },
  'a guardrail is attached to the recipient in another account': toDesk(
    (grid) => guard(grid.evil, 'desk', { direction: 'inbound', ...everything }),
    blocked,
  ),
  'a guardrail is attached to the sender of a message to another account': toDesk(
    (grid) => guard(grid.acme, 'alice', { direction: 'outbound', ...everything }),
    blocked,
  ),
}

/** Every way in which an admin key can end. */
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
    return { ...await ofAdmin(grid, change), reaches: notFound }
  },
}

/** A request with the key. Resolves to `refused`, or to the ids of the agents that its account has. */
export const keyUses: Record<string, (grid: TestGrid, key: string) => Promise<string>> = {
  'a bearer look-up': async (grid, key) => {
    const account = await createAuthenticator(grid.store)(`Bearer ${key}`).catch(() => undefined)
    const actor = account && { ...account.actor, credentialId: '' }
    return account ? withoutTimes([actor, await account.read.agents.page('', 100)]) : 'refused'
  },
  MCP: async (grid, key) => {
    const name = key.startsWith(keyPrefixes.admin_key) ? 'admin_list_agents' : 'list_agents'
    const { status, body } = await mcp(grid, key, 'tools/call', { name, arguments: {} })
    return status === 401 ? 'refused' : withoutTimes(toolResult(body.result).text)
  },
  A2A: async (grid, key) => {
    const { status, body } = await postA2a(grid, key, send03({ metadata: { to: '@nobody' } }))
    return status === 401 ? 'refused' : `${status} ${body.error?.code}`
  },
  REST: async (grid, key) => {
    const response = await grid.request('/api/v1/parts/none', { headers: { Authorization: `Bearer ${key}` } })
    return response.status === 401 ? 'refused' : `${response.status} ${await response.text()}`
  },
  'a wake stream': async (grid, key) => {
    const ended = new AbortController()
    const headers = { Authorization: `Bearer ${key}` }
    const response = await grid.request('/api/agents/wake-stream', { headers, signal: ended.signal })
    await response.body?.cancel()
    ended.abort()
    return response.status === 401 ? 'refused' : String(response.status)
  },
}

/** A message to an alias. Resolves to `refused`, the code of the error, or the id of the agent that it reached. */
export const sendUses: Record<string, (grid: TestGrid, key: string, to: string) => Promise<string>> = {
  'a send': (grid, key, to) => send(grid, key, { to, message: 'hi' }),
  'a reply': async (grid, key, to) => {
    const { status, body } = await mcp(grid, key, 'tools/call', {
      name: 'send_message',
      arguments: { to: await ownAlias(grid, key), message: 'a note' },
    })
    if (status === 401) return 'refused'
    const { message_id } = JSON.parse(body.result.content[0].text)
    return await send(grid, key, { to, message: 'hi', reply_to_message_id: message_id })
  },
  'an A2A send': async (grid, key, to) => {
    const { status, body } = await postA2a(grid, key, send03({ metadata: { to } }))
    if (status === 401) return 'refused'
    if (body.error?.code === -32052) return 'guardrail_blocked'
    if (body.error) return body.error.code === -32000 || body.error.code === -32602 ? 'recipient_not_found' : 'error'
    return await reached(grid, body.result.messageId)
  },
}

/** Each change with the name of each use of what it changes. */
export const cells: (readonly [change: string, use: string, prepare: Prepare])[] = [
  ...cellsOf(keyChanges, [...Object.keys(keyUses), ...Object.keys(sendUses)]),
  ...cellsOf({ ...recipientChanges, ...guardrailChanges }, Object.keys(sendUses)),
  ...cellsOf(adminChanges, ['a bearer look-up', 'MCP']),
]

function cellsOf(changes: Record<string, Prepare>, uses: string[]) {
  return Object.entries(changes).flatMap(([change, prepare]) => uses.map((use) => [change, use, prepare] as const))
}

async function send(grid: TestGrid, key: string, args: Record<string, unknown>): Promise<string> {
  const { status, body } = await mcp(grid, key, 'tools/call', { name: 'send_message', arguments: args })
  if (status === 401) return 'refused'
  const answer = JSON.parse(body.result.content[0].text)
  return answer.error?.code ?? await reached(grid, answer.message_id)
}

async function reached(grid: TestGrid, messageId: string): Promise<string> {
  const accounts = await rows(grid, 'SELECT id FROM accounts')
  const found = await Promise.all(
    accounts.map(({ id }) =>
      rows(grid, 'SELECT agent_id FROM deliveries WHERE account_id = ? AND message_id = ?', [String(id), messageId])
    ),
  )
  return found.flat().map(({ agent_id }) => String(agent_id)).join()
}

async function ownAlias(grid: TestGrid, key: string): Promise<string> {
  const account = await createAuthenticator(grid.store)(`Bearer ${key}`).catch(() => undefined)
  return account?.actor.type === 'agent' ? account.actor.alias : 'nobody'
}

/** The text of an answer. When agents were seen changes with each call. */
function withoutTimes(answer: unknown): string {
  return JSON.stringify(answer, (name, value) => /seen/i.test(name) ? undefined : value)
}

const alice = ({ alice }: TestGrid) => ({ key: alice.key, to: 'bob' })

/** A change that ends the way to a public agent of another account, or what a message to it meets then. */
function toDesk(change: (grid: TestGrid) => Promise<unknown>, reaches = notFound): Prepare {
  return async (grid) => {
    await grid.evil.agent('desk', { visibility: 'public' })
    return { ...alice(grid), to: 'desk', change: () => change(grid), reaches }
  }
}

async function ofAdmin(grid: TestGrid, change: (user: Person) => Promise<unknown>): Promise<LookupCase> {
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

/** A key that an OAuth client fetched for alice. */
async function fetchedKey(grid: TestGrid) {
  const user = await person(grid, { role: 'member' })
  const { token, grantId } = await accessTokenFor(grid, user.id, grid.acme.id, grid.alice.id)
  const { apiKey } = await fetchAgentKey(await createAuthenticator(grid.store)(`Bearer ${token}`))
  return { key: apiKey, grantId, user }
}

/** The agents zoe and max of an owner who can claim them, and owns the account Evil too. */
async function signedUp(grid: TestGrid) {
  const email = 'zed@new.example'
  const answers = []
  for (const alias of ['zoe', 'max']) {
    answers.push(await (await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })).json())
  }
  const user = await person(grid, { email, role: 'owner', account: grid.evil })
  const claimant = { user: { id: user.id, email, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
  const token = answers[0].trial.claim_url.split('/').at(-1) as string
  const { agents } = await openClaim(grid.store, token)
  const keep = ['zoe', 'max'].map((alias) => agents.find((agent) => agent.alias === alias)!.id)
  return { key: answers[0].api_key as string, token, claimant, keep, user }
}
