/**
 * Two unrelated accounts for the isolation matrix. The owner (Acme) has one object of each kind. The caller (Evil)
 * names these objects in its calls. See `test/isolation.test.ts`.
 */
import { Buffer } from 'node:buffer'
import { callingAgent } from '../../src/auth/actor.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { setSkills } from '../../src/grid/agents/skills.ts'
import { createChannel, deleteChannel } from '../../src/grid/channels/channels.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { createApprovalRule } from '../../src/grid/approvals/rules.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { beginUpload } from '../../src/grid/message/uploads.ts'
import { leaseMessages } from '../../src/grid/messaging/timed-leases.ts'
import { startTask } from '../../src/grid/tasks/start-task.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { newId } from '../../src/lib/id.ts'
import { followLog } from '../../src/worker/followers.ts'
import { endpoint, request, send03, send10 } from './a2a.ts'
import { dump, rows } from './database.ts'
import { pausedConversation } from './echoes.ts'
import { type TestAccount, type TestAgent, type TestGrid, testGrid } from './grid.ts'
import { gridPath, wireRequest } from './mcp.ts'
import { sendMessage } from './messaging.ts'
import { callRest } from './rest.ts'

/** Names of an account's objects, one name per form. */
export type NamesByForm = Awaited<ReturnType<typeof createEntities>>
/** A form of name for an account's object, such as an id or an alias. */
export type Form = keyof NamesByForm

/** The caller's own agents and guardrails. */
const fillers = ['own-0', 'own-1']

/** The response to a tool call. */
export interface ToolResponse {
  /** `ok` or an error code. */
  outcome: string
  /** Status, headers and body as received. */
  text: string
}

/** Creates a grid with both accounts. The caller closes it. With `isSwapped`, Evil is the owner and Acme the caller. */
export async function isolatedAccounts({ isSwapped = false } = {}) {
  const grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  const [acme, alice, evil, eve] = isSwapped
    ? [grid.evil, grid.eve, grid.acme, grid.alice]
    : [grid.acme, grid.alice, grid.evil, grid.eve]
  const alicesMate = isSwapped ? (await acme.agent('acme-mate')).alias : 'bob'
  await evil.agent('mate', { visibility: 'public' })
  for (const name of fillers) {
    await evil.agent(name)
    await createGuardrail(evil.store, { name, provider: 'pii' })
  }
  await createChannel(evil.store, { name: 'home' })
  const kept = await keptIdsOf(grid, evil)

  const foreign = await createEntities(grid, acme, 'acme', alice, alicesMate)
  const deletedForeign = await createDeletedEntities(acme, 'acme')
  // In the caller's account, only `@mate` may answer this agent. The calls come from a different agent.
  const writer = { type: 'agent' as const, agentId: foreign['agent id'], alias: 'acme-agent', credentialId: 'test' }
  await sendMessage(grid.store.account(acme.id, writer), { to: '@mate', text: 'a question of acme' })
  await followLog(grid.store)
  const user = foreign['user id']
  const { threads } = await listThreads(acme.store, {})
  const personAlias = { sql: 'INSERT INTO person_aliases (account_id, user_id, agent_id) VALUES (?, ?, ?)' }
  const snooze = {
    sql:
      "INSERT INTO snoozes (account_id, user_id, kind, subject, until, level) VALUES (?, ?, 'waiting', 'a subject of acme', 1, 1)",
  }
  const push = {
    sql:
      "INSERT INTO push_subscriptions (account_id, id, user_id, session_id, endpoint, p256dh, auth, user_agent, created_at) VALUES (?, 'a browser of acme', ?, 'a session of acme', 'https://push.example/acme', 'a key of acme', 'a secret of acme', 'an agent of acme', 1)",
  }
  const notice = {
    sql:
      "INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at) VALUES (?, 'a browser of acme', ?, 'message', 1, 1, 1)",
  }
  const consent = {
    sql:
      "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'webhook', 'guard.acme.example', 1)",
  }
  const digest = {
    sql:
      "INSERT INTO mail_digests (account_id, user_id, period, next_at, token) VALUES (?, ?, 'daily', 1, 'a token of acme')",
  }
  const mate = await acme.store.read.agents.byAlias(alicesMate)
  await acme.store.write([
    ...threads.map(({ id, lastSeq }) => acme.store.change.threads.setSeen(user, id, lastSeq)),
    { sql: 'UPDATE thread_seen SET news_seq = seq, seq = seq - 1 WHERE account_id = ?', args: [acme.id] },
    { ...personAlias, args: [acme.id, user, mate!.id] },
    { ...snooze, args: [acme.id, user] },
    { ...consent, args: [acme.id, mate!.id] },
    { ...push, args: [acme.id, user] },
    ...threads.map(({ id }) => ({ ...notice, args: [acme.id, id] })),
    { ...digest, args: [acme.id, user] },
  ])
  // Record the first use of each key now. The clock stands still, so later uses are not recorded.
  for (const key of [evil.adminKey, eve.key]) await callMcp(grid, key, 'none', {})
  const secrets = await secretsOf(grid, acme)

  return {
    grid,
    /** The account that owns the named objects. */
    owner: acme,
    /** The account that makes the calls. */
    caller: evil,
    foreign,
    deletedForeign,
    secrets,
    /** Reads the owner's current secrets. */
    secretsOfOwner: () => secretsOf(grid, acme),
    createOwn: () => createEntities(grid, evil, 'own', eve, 'mate'),
    createDeletedOwn: () => createDeletedEntities(evil, 'own'),
    /** Removes all objects that calls created in the caller's account. */
    reset: () => reset(grid, evil, kept),
    callMcp: (key: string, tool: string, args: unknown) => callMcp(grid, key, tool, args),
    callRest: (key: string, route: string, args: Record<string, unknown>) => callRoute(grid, key, route, args),
    callA2a: (method: string, message: Record<string, unknown>) => callA2a(grid, method, message),
    dumpOwner: () => dump(grid, acme),
    /** Omits the activity log, which also records refused calls. */
    dumpCaller: () => dump(grid, evil, ['activity']),
  }
}

export const isId = (value: string): boolean => /^[0-9a-f-]{36}$/.test(value)

/** Returns a value with the same form and length that names no object. */
export function unusedLike(value: string): string {
  if (isId(value)) return newId()
  return value.slice(0, -1) + (value.endsWith('x') ? 'z' : 'x')
}

/** Removes the named value, a suggested alias of the caller's account, and new ids and keys from a response. */
export function withoutEcho({ outcome, text }: ToolResponse, value: string): string {
  const bare = value.replace(/^[@#]/, '')
  return `${outcome} ${bare === '' ? text : text.replaceAll(bare, '…')}`
    .replace(/\.? Did you mean \\*"@(own|eve|mate|evil)[a-z-]*\\*"\?/, '').replace('not found. Use', 'not found Use')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/grid_agt_\w{49}/g, '<key>')
}

async function createEntities(
  grid: TestGrid,
  account: TestAccount,
  prefix: string,
  sender: TestAgent,
  mate: string,
) {
  const agent = await account.agent(`${prefix}-agent`, { description: `an agent of ${prefix}` })
  const as = ({ id, alias }: Pick<TestAgent, 'id' | 'alias'>) =>
    grid.store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  const { channel } = await createChannel(account.store, {
    name: `${prefix}-channel`,
    description: `a channel of ${prefix}`,
    members: [sender.alias, mate],
  })
  const guardrail = await createGuardrail(account.store, { name: `${prefix}-guard`, provider: 'pii' })
  const [member] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [account.id])
  const rule = await createApprovalRule(account.store, {
    ...{ name: `${prefix}-rule`, from: `@${agent.alias}`, to: `#${channel.name}`, guardrail: guardrail.id },
    deciders: [String(member.user_id)],
  })
  await setSkills(as(agent), { skills: [{ name: `${prefix}-skill`, description: `a skill of ${prefix}` }] })
  const [skill] = await account.store.read.skills.ofAgent(agent.id)
  const message = await sendMessage(as(sender), { to: `@${mate}`, text: `a text of ${prefix}`, conversationId: prefix })
  // The same message as in the test cases, so a case with its own account's idempotency key retries this send.
  await sendMessage(as(sender), { to: `@${mate}`, text: 'hi', idempotencyKey: `${prefix}-key` })
  const file = await sendMessage(as(sender), {
    to: `@${mate}`,
    text: `a file of ${prefix}`,
    a2a: { messageId: prefix, parts: [{ raw: btoa(`a file of ${prefix} `.repeat(1_000)) }] },
  })
  const newUpload = () =>
    beginUpload(as(sender), { agentId: sender.id }, {
      bytes: 10,
      filename: `a file of ${prefix}`,
      mediaType: 'text/plain',
    })
  const upload = await newUpload()
  const { upload_id: halfway } = await newUpload()
  await account.store.write(
    account.store.change.uploads.append({ agent: sender.id, since: 0 }, halfway, 0, Buffer.from('a')),
  )
  await sendMessage(as(sender), { to: `#${channel.name}`, text: `a post of ${prefix}` })
  await sendMessage(as(agent), { to: `@${sender.alias}`, text: `a note of ${prefix}` })
  const question = [{ text: `a question of ${prefix}` }, { raw: btoa(`a file of ${prefix} `.repeat(1_000)) }]
  const asked = await startTask(as(agent), callingAgent(as(agent).actor), {
    ...{ to: `@${sender.alias}`, mode: 'task', contextId: prefix },
    message: { messageId: prefix, parts: question },
  })
  await updateTask(as(sender), {
    ...{ taskId: asked.task.id, text: `a result of ${prefix}`, artifact: { id: prefix }, state: 'input-required' },
  })
  const asking = await startTask(as(sender), callingAgent(as(sender).actor), {
    ...{ to: `@${mate}`, mode: 'task', contextId: `${prefix}-asked` },
    message: { messageId: `${prefix}-asked`, parts: [{ text: `another question of ${prefix}` }] },
  })
  // The sender of this message waits for the answer.
  const { change: { leases }, write } = account.store
  const mateAgent = (await account.store.read.agents.byAlias(mate))!
  await write([leases.awaitAnswer(sender.id, message.id, 'a process', 1)])
  await sendMessage(as(mateAgent), {
    ...{ to: `@${sender.alias}`, text: `an answer of ${prefix}`, replyToMessageId: message.id },
  })
  const paused = await pausedConversation(account.store, [sender.alias, `${prefix}-runaway`])
  const lease = await leaseMessages(as(sender), { limit: 1 })
  const [unread] = await rows(grid, 'SELECT message_id FROM tasks WHERE account_id = ? AND id = ?', [
    account.id,
    asked.task.id,
  ])
  const [credential] = await account.store.read.keys.adminKeys()
  await followLog(grid.store)

  return {
    ...namesOf(agent, channel),
    'rule id': rule.id,
    'guardrail id': guardrail.id,
    'guardrail name': guardrail.name,
    'message id': message.id,
    'skill id': skill.id,
    'skill name': skill.name,
    'idempotency key': `${prefix}-key`,
    'part id': `${file.id}.0`,
    'part message id': file.id,
    'upload id': upload.upload_id,
    'paused conversation': paused,
    'task id': asked.task.id,
    'asked task id': asking.task.id,
    'lease id': lease.leaseId!,
    'leased message id': lease.messages[0].message_id,
    'unread message id': String(unread.message_id),
    'credential id': credential.id,
    'account id': account.id,
    'user id': String(member.user_id),
  }
}

async function createDeletedEntities(account: TestAccount, prefix: string): Promise<Partial<NamesByForm>> {
  const agent = await account.agent(`${prefix}-gone`)
  const { channel } = await createChannel(account.store, { name: `${prefix}-closed`, members: [agent.id] })
  await deleteAgent(account.store, agent.id)
  await deleteChannel(account.store, channel.id)
  return namesOf(agent, channel)
}

function namesOf(agent: { id: string; alias: string }, channel: { id: string; name: string }) {
  return {
    'agent id': agent.id,
    'agent alias': agent.alias,
    '@alias': `@${agent.alias}`,
    'channel id': channel.id,
    'channel name': channel.name,
    '#channel': `#${channel.name}`,
  }
}

interface KeptIds {
  agents: string
  rules: string
  guardrails: string
  /** The guardrails as objects, with the fields that a call may change. */
  namedGuardrails: string
  channels: string
}

/** Returns the ids that `reset` does not remove, as JSON arrays. */
async function keptIdsOf(grid: TestGrid, evil: TestAccount): Promise<KeptIds> {
  const ids = async (table: string) => {
    const found = await rows(grid, `SELECT id FROM ${table} WHERE account_id = ?`, [evil.id])
    return JSON.stringify(found.map(({ id }) => id))
  }
  const named = await rows(grid, 'SELECT id, name, action FROM guardrails WHERE account_id = ?', [evil.id])
  return {
    agents: await ids('agents'),
    rules: await ids('approval_rules'),
    guardrails: await ids('guardrails'),
    namedGuardrails: JSON.stringify(named),
    channels: await ids('channels'),
  }
}

async function reset(grid: TestGrid, evil: TestAccount, kept: KeptIds): Promise<void> {
  const { agents, rules, guardrails, namedGuardrails, channels } = kept
  const remove = (table: string, column?: string, kept?: string) =>
    column === undefined ? { sql: `DELETE FROM ${table} WHERE account_id = ?`, args: [evil.id] } : {
      sql: `DELETE FROM ${table} WHERE account_id = ? AND ${column} NOT IN (SELECT value FROM json_each(?))`,
      args: [evil.id, kept!],
    }
  await grid.store.write([
    remove('reservations'),
    remove('scheduled_messages'),
    remove('lease_releases'),
    remove('leases'),
    { sql: 'DELETE FROM deliveries WHERE account_id = ? AND external_id IS NULL', args: [evil.id] },
    remove('conversation_turns'),
    remove('idempotency_keys'),
    remove('parts'),
    remove('uploads'),
    remove('tasks'),
    remove('contexts'),
    remove('traffic'),
    remove('thread_agents'),
    remove('thread_messages'),
    remove('threads'),
    remove('messages'),
    remove('approval_rules', 'id', rules),
    remove('agent_guardrails'),
    remove('agent_skills'),
    remove('channel_members'),
    remove('skills'),
    remove('guardrails', 'id', guardrails),
    {
      sql: `UPDATE guardrails SET name = kept.value ->> 'name', action = kept.value ->> 'action'
        FROM json_each(?) AS kept WHERE account_id = ? AND guardrails.id = kept.value ->> 'id'`,
      args: [namedGuardrails, evil.id],
    },
    remove('channels', 'id', channels),
    remove('credentials', 'agent_id', agents),
    remove('agent_numbers', 'agent_id', agents),
    remove('agents', 'id', agents),
    { sql: 'UPDATE agents SET deleted_at = NULL WHERE account_id = ?', args: [evil.id] },
    { sql: 'UPDATE channels SET deleted_at = NULL WHERE account_id = ?', args: [evil.id] },
  ])
}

/** Returns the ids, hashes and names in the owner's rows. Responses to the caller must not contain them. */
async function secretsOf(grid: TestGrid, acme: TestAccount): Promise<string[]> {
  const tables = JSON.parse(await dump(grid, acme)) as string[][]
  const cells = new Set(tables.flat().flatMap((row) => Object.values(JSON.parse(row))))
  return [...cells].map(String).filter((cell) => /acme|alice|[0-9a-f]{8}/i.test(cell))
}

async function callMcp(grid: TestGrid, key: string, tool: string, args: unknown): Promise<ToolResponse> {
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: tool, arguments: args })
  const response = await grid.post(gridPath, body, { ...headers, Authorization: `Bearer ${key}` })
  return await readResponse(response, ({ result, error }) => {
    if (error) return String(error.code)
    return result.isError ? JSON.parse(result.content[0].text).error.code : 'ok'
  })
}

async function callRoute(grid: TestGrid, key: string, route: string, args: Record<string, unknown>) {
  const { status, headers, text, body } = await callRest(grid, key, route, args)
  const shown = [...headers].filter(([name]) => name !== 'x-request-id')
  return { outcome: body.error ? String(body.error.code) : 'ok', text: JSON.stringify([status, shown]) + text }
}

/** `args` contains the message fields of a send, or all params of any other method. */
async function callA2a(grid: TestGrid, method: string, args: Record<string, unknown>): Promise<ToolResponse> {
  const sends: Record<string, typeof send10> = { SendMessage: send10, 'message/send': send03 }
  const body = sends[method]?.(args) ?? request(method, args)
  const response = await grid.post(endpoint, body, { Authorization: `Bearer ${grid.eve.key}` })
  return await readResponse(response, ({ error }) => error ? String(error.code) : 'ok')
}

// deno-lint-ignore no-explicit-any -- a JSON-RPC response
async function readResponse(response: Response, outcomeOf: (body: any) => string): Promise<ToolResponse> {
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id')
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body!.cancel()
    return { outcome: 'ok', text: 'a stream' }
  }
  const body = await response.text()
  return { outcome: outcomeOf(JSON.parse(body)), text: JSON.stringify([response.status, headers]) + body }
}
