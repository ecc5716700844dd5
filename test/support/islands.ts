/**
 * Two accounts that know nothing of each other, for the isolation matrix: Acme
 * owns one of everything, and Evil names it. Before each call Evil is as it was.
 */
import { createChannel, deleteChannel } from '../../src/grid/channels/channels.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { setSkills } from '../../src/grid/agents/skills.ts'
import { newId } from '../../src/lib/id.ts'
import { endpoint, send03, send10 } from './a2a.ts'
import { dump, rows } from './database.ts'
import { type TestAccount, type TestAgent, type TestGrid, testGrid } from './grid.ts'
import { gridPath, wireRequest } from './mcp.ts'
import { fillers, type Form } from './parameters.ts'

/** What an account has, by the forms that name it. */
export type Values = Record<Form, string>

/** An answer as it went over the wire, and what came of the call. */
export interface Answer {
  outcome: string
  /** Status, headers and body. */
  text: string
}

export type Islands = Awaited<ReturnType<typeof islands>>

/**
 * The grid of the matrix. It is closed by its user. With `isSwapped`, the account Evil plays Acme's part, and Acme
 * names what is its.
 */
export async function islands({ isSwapped = false } = {}) {
  const grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  const [acme, alice, evil, eve] = isSwapped
    ? [grid.evil, grid.eve, grid.acme, grid.alice]
    : [grid.acme, grid.alice, grid.evil, grid.eve]
  const alicesMate = isSwapped ? (await acme.agent('acme-mate')).alias : 'bob'
  await evil.agent('mate')
  for (const name of fillers) {
    await evil.agent(name)
    await createGuardrail(evil.store, { name, provider: 'pii' })
  }
  await createChannel(evil.store, { name: 'home' })
  const cast = await castOf(grid, evil)

  const foreign = await furnish(grid, acme, 'acme', alice, alicesMate)
  const deletedForeign = await furnishDeleted(acme, 'acme')
  // Keys note their first use; the clock stands still, so there is no second.
  for (const key of [evil.adminKey, eve.key]) await callMcp(grid, key, 'none', {})
  const secrets = await secretsOf(grid, acme)

  return {
    grid,
    /** Whose things are named, and who names them. */
    owner: acme,
    namer: evil,
    foreign,
    deletedForeign,
    secrets,
    /** One of everything of Evil, alive or deleted. */
    own: () => furnish(grid, evil, 'own', eve, 'mate'),
    deletedOwn: () => furnishDeleted(evil, 'own'),
    reset: () => reset(grid, evil, cast),
    callMcp: (key: string, tool: string, args: unknown) => callMcp(grid, key, tool, args),
    callA2a: (method: string, message: Record<string, unknown>) => callA2a(grid, method, message),
    acme: () => dump(grid, acme),
    /** Without the log, which tells of refused calls too. */
    evil: () => dump(grid, evil, ['activity']),
  }
}

/** Something of the same form and length that nobody has. */
export function standIn(value: string): string {
  if (/^[0-9a-f-]{36}$/.test(value)) return newId()
  return value.slice(0, -1) + (value.endsWith('x') ? 'z' : 'x')
}

/** An answer without what the caller said, and without the ids that were made for it. */
export function withoutSaid({ outcome, text }: Answer, said: string): string {
  const bare = said.replace(/^[@#]/, '')
  return `${outcome} ${bare === '' ? text : text.replaceAll(bare, '…')}`
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/grid_agt_\w{49}/g, '<key>')
}

async function furnish(
  grid: TestGrid,
  account: TestAccount,
  prefix: string,
  sender: TestAgent,
  mate: string,
): Promise<Values> {
  const agent = await account.agent(`${prefix}-agent`, { description: `an agent of ${prefix}` })
  const as = (who: TestAgent) =>
    grid.store.account(account.id, { type: 'agent', agentId: who.id, alias: who.alias, credentialId: 'test' })
  const { channel } = await createChannel(account.store, {
    name: `${prefix}-channel`,
    description: `a channel of ${prefix}`,
    members: [sender.alias, mate],
  })
  const guardrail = await createGuardrail(account.store, { name: `${prefix}-guard`, provider: 'pii' })
  await setSkills(as(agent), { skills: [{ name: `${prefix}-skill`, description: `a skill of ${prefix}` }] })
  const [skill] = await account.store.read.skills.ofAgent(agent.id)
  const message = await sendMessage(as(sender), { to: `@${mate}`, text: `a text of ${prefix}`, conversationId: prefix })
  // What the matrix itself sends with a key, so that an own key is a repeat.
  await sendMessage(as(sender), { to: `@${mate}`, text: 'hi', idempotencyKey: `${prefix}-key` })
  const [credential] = await account.store.read.keys.adminKeys()
  const [member] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [account.id])

  return {
    'agent id': agent.id,
    'agent alias': agent.alias,
    '@alias': `@${agent.alias}`,
    'channel id': channel.id,
    'channel name': channel.name,
    '#channel': `#${channel.name}`,
    'guardrail id': guardrail.id,
    'guardrail name': guardrail.name,
    'message id': message.id,
    'skill id': skill.id,
    'skill name': skill.name,
    'idempotency key': `${prefix}-key`,
    'credential id': credential.id,
    'account id': account.id,
    'user id': String(member.user_id),
  }
}

async function furnishDeleted(account: TestAccount, prefix: string): Promise<Partial<Values>> {
  const agent = await account.agent(`${prefix}-gone`)
  const { channel } = await createChannel(account.store, { name: `${prefix}-closed`, members: [agent.id] })
  await deleteAgent(account.store, agent.id)
  await deleteChannel(account.store, channel.id)
  return {
    'agent id': agent.id,
    'agent alias': agent.alias,
    '@alias': `@${agent.alias}`,
    'channel id': channel.id,
    'channel name': channel.name,
    '#channel': `#${channel.name}`,
  }
}

interface Cast {
  agents: string
  guardrails: string
  channels: string
}

/** The ids that Evil keeps, as JSON. */
async function castOf(grid: TestGrid, evil: TestAccount): Promise<Cast> {
  const ids = async (table: string) => {
    const found = await rows(grid, `SELECT id FROM ${table} WHERE account_id = ?`, [evil.id])
    return JSON.stringify(found.map(({ id }) => id))
  }
  return { agents: await ids('agents'), guardrails: await ids('guardrails'), channels: await ids('channels') }
}

async function reset(grid: TestGrid, evil: TestAccount, { agents, guardrails, channels }: Cast): Promise<void> {
  const remove = (table: string, column?: string, kept?: string) =>
    column === undefined ? { sql: `DELETE FROM ${table} WHERE account_id = ?`, args: [evil.id] } : {
      sql: `DELETE FROM ${table} WHERE account_id = ? AND ${column} NOT IN (SELECT value FROM json_each(?))`,
      args: [evil.id, kept!],
    }
  await grid.store.write([
    remove('deliveries'),
    remove('idempotency_keys'),
    remove('messages'),
    remove('agent_guardrails'),
    remove('agent_skills'),
    remove('channel_members'),
    remove('skills'),
    remove('guardrails', 'id', guardrails),
    remove('channels', 'id', channels),
    remove('credentials', 'agent_id', agents),
    remove('agents', 'id', agents),
    { sql: 'UPDATE agents SET deleted_at = NULL WHERE account_id = ?', args: [evil.id] },
    { sql: 'UPDATE channels SET deleted_at = NULL WHERE account_id = ?', args: [evil.id] },
  ])
}

/** The ids, hashes and names in the rows of Acme: what no answer to Evil may hold. */
async function secretsOf(grid: TestGrid, acme: TestAccount): Promise<string[]> {
  const tables = JSON.parse(await dump(grid, acme)) as string[][]
  const cells = new Set(tables.flat().flatMap((row) => Object.values(JSON.parse(row))))
  return [...cells].map(String).filter((cell) => /acme|alice|[0-9a-f]{8}/i.test(cell))
}

async function callMcp(grid: TestGrid, key: string, tool: string, args: unknown): Promise<Answer> {
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: tool, arguments: args })
  const response = await grid.post(gridPath, body, { ...headers, Authorization: `Bearer ${key}` })
  return await readAnswer(response, ({ result, error }) => {
    if (error) return String(error.code)
    return result.isError ? JSON.parse(result.content[0].text).error.code : 'ok'
  })
}

async function callA2a(grid: TestGrid, method: string, message: Record<string, unknown>): Promise<Answer> {
  const body = method === 'SendMessage' ? send10(message) : send03(message)
  const response = await grid.post(endpoint, body, { Authorization: `Bearer ${grid.eve.key}` })
  return await readAnswer(response, ({ error }) => error ? String(error.code) : 'ok')
}

// deno-lint-ignore no-explicit-any -- an answer of JSON-RPC
async function readAnswer(response: Response, outcomeOf: (body: any) => string): Promise<Answer> {
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id')
  const body = await response.text()
  return { outcome: outcomeOf(JSON.parse(body)), text: JSON.stringify([response.status, headers]) + body }
}
