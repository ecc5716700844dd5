/**
 * An account with every kind of content that archives contain, and the account's state as the grid's verbs report it.
 */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { setContentsVisible, setPeopleRead } from '../../src/grid/accounts/people-read.ts'
import { reissueKey } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { setSkills } from '../../src/grid/agents/skills.ts'
import { decisions, heldMessage, heldMessages } from '../../src/grid/approvals/held.ts'
import { createApprovalRule, updateApprovalRule } from '../../src/grid/approvals/rules.ts'
import { createChannel, deleteChannel, followChannel } from '../../src/grid/channels/channels.ts'
import { readThread } from '../../src/grid/conversations/messages.ts'
import { findListedPart, listParts } from '../../src/grid/conversations/open-message.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { writeMessage } from '../../src/grid/conversations/write.ts'
import { allowText, listCases } from '../../src/grid/guardrails/cases.ts'
import { allowService } from '../../src/grid/guardrails/consents.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { retractMessage } from '../../src/grid/messaging/retract-message.ts'
import { leaseMessages, releaseMessages } from '../../src/grid/messaging/timed-leases.ts'
import { setTurnLimits } from '../../src/grid/messaging/turns.ts'
import { appendToUpload, beginUpload } from '../../src/grid/message/uploads.ts'
import { cancelTask } from '../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { createWebhook } from '../../src/features/webhooks/webhooks.ts'
import { hour } from '../../src/lib/time.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { followLog } from '../../src/worker/followers.ts'
import { postA2a, request } from './a2a.ts'
import { storeOf, type TestGrid } from './grid.ts'
import { approveOne, refuseOne } from './held.ts'
import { callTool } from './mcp.ts'
import { sendMessage } from './messaging.ts'
import { personWithAlias } from './person-aliases.ts'
import { askFor } from './tasks.ts'

/** Fills the account Acme. The texts are fixed, and none of them is secret. */
export async function fillAccount(grid: TestGrid): Promise<void> {
  const { acme, clock, store } = grid
  const [alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  const owner = await ownerOf(grid, acme.id)
  const carol = await personWithAlias(grid, 'carol', { name: 'Carol' })
  const desk = await acme.agent('acme-desk', { visibility: 'public', accessPolicy: 'allow_list', accessList: ['eve'] })
  await acme.agent('acme-robot', { type: 'a2a', remoteUrl: 'https://robot.example/a2a' })
  await setSkills(alice, { skills: [{ name: 'sorting', description: 'Sorts lists of words' }] })
  await setTurnLimits(owner, { perHour: 500 })
  await setPeopleRead(owner, { choice: 'on' })
  await setContentsVisible(owner, { isVisible: true })
  await createWebhook(owner, { url: 'https://hooks.example/acme', events: ['message', 'task', 'held'] })

  // Channels
  await createChannel(acme.store, { name: 'team', description: 'All of us', members: ['alice', 'bob', 'carol'] })
  await followChannel(carol.account, 'team', true)
  await sendMessage(alice, { to: '#team', text: 'The first post' })
  const gone = await acme.agent('acme-gone')
  const { channel } = await createChannel(acme.store, { name: 'closed', members: ['alice', gone.alias] })
  await sendMessage(storeOf(grid, gone), { to: '#closed', text: 'The last words of an agent' })
  await deleteChannel(acme.store, channel.id)
  await deleteAgent(acme.store, gone.id)

  // Messages in all states, with parts and files
  const asked = await sendMessage(alice, { to: '@bob', text: 'Where is the list?', conversationId: 'lists' })
  const answer = await sendMessage(bob, { to: '@alice', text: 'In the file.', replyToMessageId: asked.id })
  await sendMessage(alice, { to: '@bob', text: 'Thank you \u{1F600}\u200B', replyToMessageId: answer.id })
  await writeMessage(carol.account, { to: '@alice', text: 'A word of Carol' })
  await sendMessage(alice, { to: '@carol', text: 'Shall I?', choices: ['Yes', 'No'] })
  await sendMessage(alice, {
    ...{ to: '@bob', text: 'Data' },
    a2a: { messageId: 'note-1', parts: [{ text: 'Data' }, { data: { b: 1, '2': [true, null] } }], metadata: { n: 1 } },
  })
  const raw = Buffer.from('A part that does not fit inline. '.repeat(90)).toString('base64')
  await sendMessage(alice, {
    ...{ to: '@bob', text: 'A large part' },
    parts: [{ raw, filename: 'large.txt', mediaType: 'text/plain' }],
  })
  const file = Buffer.from('One line of the file.\n'.repeat(80))
  const upload = await beginUpload(alice, { agentId: grid.alice.id }, {
    ...{ filename: 'lines.txt', mediaType: 'text/plain', bytes: file.length },
  })
  await appendToUpload(alice, { agentId: grid.alice.id }, upload.upload_id, 0, bytesOf(file))
  await sendMessage(alice, { to: '@bob', text: 'A file', parts: [{ upload: upload.upload_id }] })
  const retracted = await sendMessage(alice, { to: '@bob', text: 'To be retracted' })
  await retractMessage(alice, { agentId: grid.alice.id, alias: 'alice' }, retracted.id)
  await sendMessage(bob, { to: '@acme-robot', text: 'For the robot' })
  await sendMessage(storeOf(grid, grid.eve), { to: `@${desk.alias}`, text: 'A text of another account' })

  // Leases: one released, one open
  const lease = await leaseMessages(bob, { limit: 2 })
  await releaseMessages(bob, { leaseId: lease.leaseId! })
  await leaseMessages(bob, { limit: 1, seconds: 600 })

  // Guardrail outcomes: flagged, redacted for the recipient, blocked, and allowed by a person
  const { id: words } = await createGuardrail(acme.store, {
    ...{ name: 'Code names', provider: 'phrases', config: { phrases: ['blue heron'] } },
  })
  const attach = (agent: string, direction: 'inbound' | 'outbound', action: 'flag' | 'block' | 'redact') =>
    setAgentGuardrails(acme.store, { agent, guardrails: [{ ref: words, direction, action }] })
  await attach('alice', 'outbound', 'flag')
  await sendMessage(alice, { to: '@bob', text: 'A blue heron was seen.' })
  await attach('alice', 'outbound', 'block')
  await sendMessage(alice, { to: '@bob', text: 'The blue heron flew.' }).catch(() => {})
  const [{ textHash }] = await listCases(owner, words)
  await allowText(owner, words, textHash)
  await setAgentGuardrails(acme.store, { agent: 'alice', guardrails: [] })
  await attach('bob', 'inbound', 'redact')
  await sendMessage(alice, { to: '@bob', text: 'One more blue heron.' })
  await createGuardrail(acme.store, {
    ...{ name: 'Service', provider: 'webhook', config: { url: 'https://guard.example/check' }, enabled: false },
  })
  await allowService(carol.account, { provider: 'webhook', host: 'guard.example' })

  // Tasks: completed with a result in two chunks, canceled, and open
  const task = await askFor(alice, 'Sort these words')
  for (const [n, text] of ['ant ', 'bee'].entries()) {
    await updateTask(bob, {
      ...{ taskId: task.id, text, artifact: { id: 'sorted', append: n > 0, lastChunk: n > 0 } },
      ...(n > 0 && { state: 'completed' as const }),
    })
  }
  const canceled = await askFor(alice, 'Never mind')
  await cancelTask(alice, canceled.id)
  await askFor(bob, 'Still open', { to: '@alice' })

  // Held messages: delivered, refused, and one still held
  const rule = await createApprovalRule(acme.store, {
    name: 'From Alice',
    from: '@alice',
    to: '@bob',
    deciders: ['ann@acme.example'],
  })
  await createApprovalRule(acme.store, { name: 'From outside', from: 'external', to: 'any', enabled: false })
  await sendMessage(alice, { to: '@bob', text: 'Please let this pass.' })
  await approveOne(owner)
  await sendMessage(alice, { to: '@bob', text: 'Please refuse this.' })
  await refuseOne(owner, 'No')
  await sendMessage(alice, { to: '@bob', text: 'This one waits.' })
  await updateApprovalRule(owner, rule.id, { enabled: false })
  clock.now += hour
  await sendMessage(bob, { to: '#team', text: 'The last post' })
  await followLog(store)
}

/** Opens the account as its owner Ann does in the browser. */
export async function ownerOf({ store, clock }: Pick<TestGrid, 'store' | 'clock'>, id: string): Promise<AccountStore> {
  const { id: userId } = (await store.global.users.byEmail('ann@acme.example'))!
  return store.account(id, { type: 'user', userId, role: 'owner', sessionId: 'test', confirmedAt: clock.now })
}

async function* bytesOf(bytes: Buffer): AsyncIterable<Uint8Array> {
  yield bytes
}

export type Summary = Record<'agents' | 'messages' | 'tasks' | 'files', { count: number; digest: string }>

type Grid = Pick<TestGrid, 'store' | 'clock' | 'request'>

/** The folder with archives of this account from earlier builds, by format version, and their passphrase. */
export const fixturesFolder = new URL('../fixtures/', import.meta.url)
export const fixturePhrase = 'open words of a test'

/** The expected result of importing one of these archives. */
export interface Fixture {
  account: string
  fingerprint: string
  people: { email: string; role: string }[]
  summary: Summary
}

/**
 * Summarizes the account by counts and digests, without the messages of other accounts. Creates new keys for the agents
 * and reads their inboxes.
 */
export async function summaryOf(grid: Grid, id: string): Promise<Summary> {
  const lists = await listsOf(grid, id)
  return Object.fromEntries(
    Object.entries(lists).map(([name, list]) => [name, { count: list.length, digest: digestOf(list) }]),
  ) as Summary
}

async function listsOf(grid: Grid, id: string) {
  const owner = await ownerOf(grid, id)
  const account = grid.store.account(id, { type: 'system', job: 'test' })
  const { adminKey } = await createAdminKey(account, 'summary')
  await followLog(grid.store)
  const messages = await messagesOf(account)
  const files = []
  for (const message of messages) files.push(...await filesOf(account, message))
  const agents = await everyPage(grid, adminKey, 'admin_list_agents', 'agents')
  const others = [
    ...await everyPage(grid, adminKey, 'admin_list_channels', 'channels'),
    ...await everyPage(grid, adminKey, 'admin_list_skills', 'skills'),
    ...await everyPage(grid, adminKey, 'admin_list_guardrails', 'guardrails'),
  ]
  const held = []
  for (const { id } of await heldMessages(owner)) held.push(await heldMessage(owner, id))
  const tasks = []
  const inboxes = []
  for (const { alias, type } of agents as { alias: string; type: string }[]) {
    if (type !== 'mcp') continue
    const { apiKey } = await reissueKey(account, alias)
    tasks.push(...await tasksOf(grid, apiKey))
    for (const { id } of messages.filter(({ fromAlias }) => `@${fromAlias}` === alias)) {
      inboxes.push((await callTool(grid, apiKey, 'message_status', { message_id: id })).text)
    }
    for (let read; (read = (await callTool(grid, apiKey, 'read_messages')).text).length > 0;) {
      inboxes.push(...read.filter(({ external }: { external?: boolean }) => !external))
    }
  }
  const decided = await decisions(owner, { before: { at: Number.MAX_SAFE_INTEGER, id: '' }, limit: 100 })
  return {
    agents: [...agents, ...others],
    messages: [...messages, ...held, ...decided, ...inboxes],
    tasks,
    files,
  }
}

async function messagesOf(account: AccountStore) {
  const messages = []
  const { threads } = await listThreads(account, {})
  for (const thread of threads) {
    const page = await readThread(account, thread.id, { newest: true, most: 50 })
    if (page.hasOlder) throw new Error('There are more messages than this reads')
    messages.push(...page.messages.filter(({ isReceived }) => !isReceived))
  }
  return messages.sort((a, b) => a.id < b.id ? -1 : 1)
}

async function filesOf(account: AccountStore, message: Awaited<ReturnType<typeof messagesOf>>[number]) {
  const files = []
  for (const { key, ...part } of listParts(message)) {
    const content = await findListedPart(account, { id: message.id, agentId: message.fromAgentId, isSent: true }, key)
    files.push({ ...part, sha256: createHash('sha256').update(await content.bytes(0, content.length)).digest('hex') })
  }
  return files
}

async function tasksOf(grid: Pick<TestGrid, 'request'>, key: string): Promise<unknown[]> {
  const call = async (method: string, params: object) =>
    (await postA2a(grid as TestGrid, key, request(method, params), { 'A2A-Version': '1.0' })).body.result
  const { tasks } = await call('ListTasks', {})
  return await Promise.all(tasks.map(({ id }: { id: string }) => call('GetTask', { id })))
}

async function everyPage(grid: Pick<TestGrid, 'request'>, key: string, tool: string, list: string): Promise<unknown[]> {
  const { text, code } = await callTool(grid, key, tool)
  if (code || text.cursor) throw new Error(`${tool}: ${code ?? 'more than one page'}`)
  return text[list]
}

/**
 * The names of the fields that digests contain, at every depth. These fields state facts about the account. All other
 * fields are left out, because later builds may add fields, reorder them, and reword sentences.
 */
const facts = [
  ...[
    'id',
    'alias',
    'name',
    'type',
    'visibility',
    'accessPolicy',
    'description',
    'remoteUrl',
    'memberCount',
    'agentCount',
  ],
  ...['provider', 'config', 'phrases', 'action', 'enabled', 'fromAlias', 'recipient', 'body', 'conversationId', 'hops'],
  ...['replyToMessageId', 'flagged', 'sanitized', 'edited', 'createdAt', 'messageId', 'state', 'reason', 'decider'],
  ...[
    'message_id',
    'user',
    'message',
    'redelivered',
    'task_id',
    'timeline',
    'event',
    'at',
    'contextId',
    'status',
    'history',
  ],
  ...['role', 'artifacts', 'artifactId', 'parts', 'text', 'kind', 'filename', 'mediaType', 'bytes', 'sha256'],
]

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, facts)).digest('hex')
}
