/**
 * Account isolation of the statements. Each account statement of the store runs for an account that does not own the
 * objects named by its parameters. It must return the same as for unknown names, and the owner's rows must stay the
 * same. This tests each branch of a statement separately. See docs/security.md, "Four nets".
 */
import { Buffer } from 'node:buffer'
import type { InValue } from '@libsql/client'
import { expect, test } from 'vitest'
import { createHook } from '../src/features/incoming/hooks.ts'
import { incomingTables } from '../src/features/incoming/store.ts'
import { ssoTables } from '../src/features/single-sign-on/store.ts'
import { slackTables } from '../src/features/slack/store.ts'
import { webhookTables } from '../src/features/webhooks/store.ts'
import { recordReading } from '../src/grid/conversations/may-read.ts'
import { leaseOf, readMessages } from '../src/grid/messaging/read-messages.ts'
import { chooseAlias } from '../src/grid/people/person-aliases.ts'
import { newId } from '../src/lib/id.ts'
import { day } from '../src/lib/time.ts'
import { trigramQuery } from '../src/store/account/agent-columns.ts'
import { idTerm, matchOf } from '../src/store/account/search.ts'
import { writeParts } from '../src/store/account.ts'
import { allQueries, type Query } from '../src/store/sql.ts'
import type { HeldStep } from '../src/store/account/new-held.ts'
import { followLog } from '../src/worker/followers.ts'
import { rows, updateTrial } from './support/database.ts'
import { isolatedAccounts, unusedLike } from './support/isolated-accounts.ts'
import { sendMessage } from './support/messaging.ts'
import { accessTokenFor } from './support/oauth-token.ts'
import { accountTables } from './support/tripwire.ts'

const world = await isolatedAccounts()
const { grid, owner, caller, foreign } = world

const as = ({ id, alias }: typeof grid.bob, account = owner) =>
  grid.store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
const user = foreign['user id']
const released = await readMessages(as(grid.bob), { limit: 1 })
await leaseOf(as(grid.bob), released.lease!.id).release()
const { lease } = await readMessages(as(grid.bob), { limit: 1 })
// One timed lease is open throughout the tests, and one has expired.
const timed = [newId(), newId()]
for (const [n, id] of timed.entries()) {
  const { leases } = owner.store.change
  const expiresAt = grid.clock.now + (n === 0 ? day : 1)
  const lease = { id, agent: grid.bob.id, holder: 'x', at: grid.clock.now, expiresAt, key: foreign['idempotency key'] }
  await sendMessage(as(grid.alice), { to: 'bob', text: 'for a program of acme' })
  await writeParts(
    owner.store,
    leases.take(lease, { limit: 1, maxChars: 100_000, maxBytes: 30_000, expected: 1 }, null),
  )
}
const reply = await sendMessage(as(grid.bob), { to: 'alice', text: 'yes', replyToMessageId: foreign['message id'] })
const { token, grantId } = await accessTokenFor(grid, user, owner.id)
await accessTokenFor(grid, user, owner.id, grid.alice.id)
const invitation = newId()
await owner.store.write([owner.store.change.team.addInvitation({
  id: invitation,
  email: 'guest@acme.example',
  role: 'admin',
  tokenHash: 'hash of an invitation',
  invitedBy: user,
  expiresAt: grid.clock.now + 1,
}, grid.clock.now)])
await world.callMcp(token, 'admin_set_agent_guardrails', { alias: 'acme-agent', guardrails: ['acme-guard'] })
await world.callMcp(token, 'admin_set_agent_guardrails', { alias: 'bob', guardrails: ['acme-guard'] })
await world.callMcp(token, 'admin_delete_agent', { alias: 'nobody' })
const judged = {
  ...{ id: foreign['message id'], recipient: '@bob', at: grid.clock.now },
  ...{ senderAlias: 'alice', senderAccountId: owner.id, isStored: true, conversationHash: null },
}
const verdict = {
  ...{ id: 'a verdict of acme', guardrailId: foreign['guardrail id'], guardrailName: 'acme-guard' },
  ...{ direction: 'inbound' as const, action: 'redacted' as const, kinds: ['a kind of acme'] },
  ...{ agentIds: [grid.bob.id], textHash: 'a hash of acme', content: 'a text of acme', failure: 'a failure of acme' },
}
await owner.store.write([
  ...owner.store.change.verdicts.add(judged, [verdict]),
  ...owner.store.change.verdicts.add({ ...judged, isStored: false }, [{ ...verdict, id: 'a refusal of acme' }]),
  owner.store.change.verdicts.allow(foreign['guardrail id'], 'a hash of acme', grid.clock.now),
])
const uploader = { agent: grid.alice.id, since: 0 }
await owner.store.write([
  ...owner.store.change.uploads.append(uploader, foreign['upload id'], 0, Buffer.from('a')),
  {
    sql: 'UPDATE uploads SET message_id = ? WHERE account_id = ? AND id <> ?',
    args: [foreign['message id'], owner.id, foreign['upload id']],
  },
])
const uploads = await rows(grid, 'SELECT id FROM uploads WHERE account_id = ?', [owner.id])
await owner.agent('acme-desk', { visibility: 'public', accessPolicy: 'block_list', accessList: ['eve'] })
const desk = (await owner.store.read.agents.byAlias('acme-desk'))!
const setAside = await sendMessage(as(grid.alice), { to: 'acme-desk', text: 'a parked text of acme' })
await owner.store.write([
  owner.store.change.leases.parkUnread(desk.id, grid.clock.now),
  owner.store.change.leases.awaitAnswer(grid.alice.id, setAside.id, 'a process', grid.clock.now),
])
const asUser = { type: 'user', userId: user, role: 'owner', sessionId: 'a session of acme' } as const
const ofUser = grid.store.account(owner.id, { ...asUser, confirmedAt: grid.clock.now })
const personAlias = await chooseAlias(ofUser, { alias: 'acme-person' })
await sendMessage(as(grid.alice), { to: personAlias.alias, text: 'a question of acme' })
const ofPerson = await sendMessage(as(grid.alice), { to: personAlias.alias, text: 'as a person of acme writes' })
await owner.store.write([{
  sql: "UPDATE messages SET type = 'human' WHERE account_id = ? AND id = ?",
  args: [owner.id, ofPerson.id],
}])
await owner.store.write([{
  sql:
    "UPDATE deliveries SET body = 'as a person of acme got it' WHERE account_id = ? AND seq IN (SELECT seq FROM v_deliveries WHERE message_id = ?)",
  args: [owner.id, ofPerson.id],
}])
await recordReading(ofUser, { thread: 'a thread of acme', agents: ['alice', 'bob'] }, null)
await followLog(grid.store)
const placed = await rows(grid, 'SELECT thread_id, seq, root_seq FROM thread_messages WHERE account_id = ?', [owner.id])
const places = (await rows(grid, 'SELECT seq, inbox FROM v_deliveries WHERE sender_account_id = ?', [owner.id])).map(
  ({ seq, inbox }) => [seq, inbox],
)
const numbers = (name: string) => [...new Set(placed.map((row) => String(row[name])))]
const snoozed = { kind: 'agent_key', subject: 'a thread of acme', until: grid.clock.now + day, level: 1 }
await owner.store.write([owner.store.change.snoozes.put(user, snoozed)])
const robot = await owner.agent('acme-robot', { type: 'a2a', remoteUrl: 'https://robot.example/acme' })
const toRobot = await sendMessage(as(grid.alice), { to: 'acme-robot', text: 'for a robot of acme' })
const exchange = {
  id: reply.id,
  conversation: 'a conversation of acme',
  contextId: 'a context of acme',
  taskId: 'a task of acme',
}
const outbox = { kind: 'inbox' as const, agent: robot.id, id: grid.alice.id, claim: 'a claim of acme' }
await owner.store.write([
  ...owner.store.change.remoteAgents.putRemoteTask(
    robot.id,
    { ...exchange, state: 'input-required', dueAt: 0, error: null, sends: 1, sentAt: 1 },
    grid.clock.now,
  ),
  { sql: 'UPDATE remote_outboxes SET due_at = 0 WHERE account_id = ?', args: [owner.id] },
  owner.store.change.remoteAgents.claim(outbox, 'a process', grid.clock.now),
])
const push = { id: newId(), configId: 'a webhook of acme', url: 'https://acme.example/hook', scheme: null }
await owner.store.write([
  owner.store.change.pushConfigs.put(
    foreign['agent id'],
    foreign['task id'],
    { ...push, version: '1.0' },
    grid.clock.now,
  ),
  { sql: 'UPDATE task_push_configs SET due_at = 0 WHERE account_id = ?', args: [owner.id] },
  { sql: "UPDATE tasks SET repeat_hash = 'a hash of acme' WHERE account_id = ?", args: [owner.id] },
  owner.store.change.remoteAgents.claim(
    { kind: 'push', agent: foreign['agent id'], id: push.id, claim: 'a claim of acme' },
    'a process',
    grid.clock.now,
  ),
])
const slack = {
  id: newId(),
  slackChannel: 'C1',
  botUser: 'U0',
  teamId: 'T0',
  channelId: foreign['channel id'],
  agentId: robot.id,
}
const mirror = owner.store.feature(slackTables)
const slackMember = await grid.store.account(owner.id, { type: 'system', job: 'test' }).seal(
  'slack_channels',
  slack.id,
  's',
)
await owner.store.write([
  ...mirror.change.connect(slack, slackMember, '#acme', grid.clock.now),
  mirror.change.addMessage(slack.id, { ts: '1.1', threadTs: '1.1', messageId: foreign['message id'] }),
  { sql: "UPDATE slack_messages SET conversation_id = 'acme' WHERE account_id = ?", args: [owner.id] },
  owner.store.change.channels.addMembers(slack.channelId, [personAlias.agentId], 1),
  mirror.change.askToLink(slack.id, user, 'a hash of acme', grid.clock.now + day),
  { sql: "UPDATE slack_people SET slack_user = 'U1' WHERE account_id = ?", args: [owner.id] },
])
const provider = {
  ...{ id: newId(), name: 'Corp of acme', issuer: 'https://login.acme.example', clientId: 'client of acme' },
  ...{ domain: 'acme.example', proof: 'a proof of acme', roleClaim: '', roles: {} },
}
const signOn = owner.store.feature(ssoTables).change
await owner.store.write([
  signOn.save(provider, await owner.store.seal('sso_providers', provider.id, 's')),
  signOn.setVerified({ domain: provider.domain, verifiedAt: 1, missingSince: 1 }, grid.clock.now),
  owner.store.change.team.keepOut(user, 1),
])
/** A statement that stores a row unchanged. */
const add = (table: string, row: Record<string, string | number>) => ({
  sql: `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`,
  args: Object.values(row),
})
const ofAcme = { account_id: owner.id }
const blocked = { request_hash: 'a request of acme', error: '{"text":"an error of acme"}', created_at: grid.clock.now }
const signIn = { issuer: provider.issuer, subject: 'a subject of acme', at: 1, outcome: 'removed', report: '{}' }
const signup = { owner_email: 'first@acme.example', address: '192.0.2.1', claim_token_hash: 'a claim link of acme' }
await owner.store.write([
  add('blocked_sends', { ...ofAcme, ...blocked, agent_id: grid.alice.id, key: 'a blocked key of acme' }),
  add('sso_sign_ins', { ...ofAcme, ...signIn, user_id: user }),
  add('signups', { ...ofAcme, ...signup, id: 'a signup of acme', created_at: 1 }),
  add('skipped_rows', { ...ofAcme, follower: 'search', seq: 1, reason: 'a reason of acme', at: 1 }),
])
const reserved = { agent: grid.bob.id, space: 'a space of acme', shared: false, note: 'a note of acme' }
const scheduled = {
  ...{ id: newId(), agentId: grid.bob.id, recipient: '@alice', sendAt: grid.clock.now, createdAt: 1, bytes: 1 },
  ...{ content: '"words of acme"', key: 'a later key of acme', requestHash: 'a hash of acme' },
}
const reservation = { id: newId(), name: 'a/name/of/acme' }
await owner.store.write([
  owner.store.change.reservations.add(
    { ...reserved, task: foreign['task id'], home: owner.id, at: grid.clock.now, lengthMs: day },
    [reservation],
  ),
  ...owner.store.change.scheduled.add(scheduled, { ofAgent: 100, ofAccount: 100, bytes: 1_000 }),
  owner.store.change.reservations.refuse(grid.alice.id, [reservation.id], { max: 20, since: 0, at: grid.clock.now }),
])
const incoming = await createHook(
  grid.store.account(owner.id, { type: 'system', job: 'test' }),
  {
    ...{
      name: 'acme-builds',
      to: foreign['agent id'],
      format: 'template',
      template: 'a template of acme',
      secret: 'a secret of acme',
    },
  } as const,
)
await owner.store.write([
  owner.store.feature(incomingTables).change.delivered(incoming.id, { at: 1, outcome: 'an outcome of acme' }),
])
const webhook = newId()
const hooks = owner.store.feature(webhookTables)
const sealedSecret = await owner.store.seal('webhooks', webhook, '{}')
await owner.store.write([
  hooks.change.add(webhook, 'https://acme.example/events', ['held'], sealedSecret, grid.clock.now),
  ...hooks.change.notifyOfConditions(
    webhook,
    { before: '{}', after: '{}' },
    [{ id: newId(), type: 'attention', data: {} }],
    grid.clock.now,
  ),
  owner.store.change.remoteAgents.claim(
    { kind: 'webhook', agent: webhook, id: webhook, claim: 'a webhook claim of acme' },
    'a process',
    grid.clock.now,
  ),
])
const rule = { id: 'a rule of acme', name: 'a rule of acme', deciders: [user], isRisky: false }
const heldOf = (id: string, messageId: string, step?: HeldStep) =>
  owner.store.change.held.add(
    {
      ...{ id, toId: grid.bob.id, rule, findings: [], sentAt: grid.clock.now, expiresAt: grid.clock.now + day },
      later: { taskId: foreign['task id'], isInTaskAlone: false, expiresAt: null, contextId: null, step },
    },
    messageId,
    grid.clock.now,
  )[0]
const chunk = { artifactId: 'acme', append: true, lastChunk: false, name: null }
const decision = { user, decider: '@acme-person', state: 'refused' as const, reason: 'a reason of acme', edited: false }
await owner.store.write([
  heldOf('a held message of acme', foreign['part message id']),
  heldOf('a held chunk of acme', foreign['message id'], { chunk }),
  heldOf('a decision of acme', foreign['part message id']),
  ...owner.store.change.held.decide('a decision of acme', { ...decision, at: grid.clock.now }),
])
const [pause] = await owner.store.read.turns.paused()
await owner.store.write([{
  sql: `INSERT INTO conversation_turns (account_id, key, sender, turns, since, agents)
    VALUES (?, ?, 'alice', 1, ?, '["alice", "bob"]')`,
  args: [owner.id, `${pause.key} @alice @bob`, grid.clock.now],
}])
const [logged] = await owner.store.read.activity.list({ limit: 1 })
await updateTrial(grid, grid.bob, { used: 1, max: 10, expiresAt: grid.clock.now + 1 })

const [grant] = await rows(grid, 'SELECT * FROM oauth_grants WHERE account_id = ? AND id = ?', [owner.id, grantId])
const [accessToken] = await rows(grid, 'SELECT hash FROM oauth_tokens WHERE account_id = ? AND grant_id = ?', [
  owner.id,
  grantId,
])

/** Texts of one kind. A statement runs with each of them, or with all of them as a JSON list. */
const ids = [
  ...[
    foreign['agent id'],
    grid.alice.id,
    grid.bob.id,
    desk.id,
    foreign['channel id'],
    foreign['guardrail id'],
    foreign['rule id'],
  ],
  ...uploads.map(({ id }) => String(id)),
  ...[foreign['message id'], reply.id, toRobot.id, foreign['skill id'], foreign['credential id'], foreign['part id']],
  ...[
    webhook,
    incoming.id,
    reservation.id,
    slack.id,
    push.id,
    foreign['account id'],
    user,
    grantId,
    invitation,
    lease!.id,
    logged.id,
  ],
  ...(await owner.store.read.keys.ofAgent(grid.bob.id, grid.clock.now)).map(({ id }) => id),
]
const [task] = await rows(
  grid,
  'SELECT message_id, conversation_id FROM tasks WHERE account_id = ? AND id = ?',
  [owner.id, foreign['task id']],
)
const agents = [grid.alice.id, grid.bob.id, foreign['agent id'], desk.id, personAlias.agentId, robot.id, webhook]
const messages = [foreign['message id'], reply.id, setAside.id, String(task.message_id)]
const names = [
  ...[foreign['agent alias'], 'alice', foreign['channel name'], foreign['guardrail name'], foreign['skill name']],
]
const list = (values: string[]) => [JSON.stringify(values)]

/** The values of each parameter. Texts name objects of the owner. Numbers and other values name nothing. */
const texts: Record<string, string[]> = {
  id: ids,
  ref: ids.concat(names),
  name: names,
  alias: names,
  agent: agents,
  agentId: agents,
  external: agents,
  // This parameter can also be a time.
  from: [...agents, '0'],
  to: agents,
  message: messages,
  replyToMessageId: messages,
  channel: [foreign['channel id']],
  guardrailId: [foreign['guardrail id']],
  webhook: [webhook],
  guardrail: [foreign['guardrail id']],
  skill: [foreign['skill id']],
  user: [user],
  userId: [user],
  invitedBy: [user],
  issuedBy: [user],
  credentialId: [grantId, foreign['credential id']],
  grantId: [grantId],
  grant: [grantId],
  lease: [lease!.id, ...timed],
  into: [lease!.id, ...timed],
  thread: numbers('thread_id'),
  seq: numbers('seq'),
  root: numbers('root_seq'),
  key: [foreign['idempotency key'], 'a blocked key of acme', foreign['channel id']],
  codeHash: [String(grant.code_hash)],
  hash: [String(grant.code_hash), String(accessToken.hash), 'a hash of acme'],
  repeatHash: ['a hash of acme'],
  refreshId: [String(grant.code_taken_by)],
  conversation: [pause.key, exchange.conversation],
  claim: [outbox.claim],
  threads: numbers('thread_id').map((thread) => JSON.stringify([{ thread: Number(thread), after: 0, since: 0 }])),
  email: ['ann@acme.example', 'guest@acme.example'],
  search: ['acme', 'alice'],
  trigrams: [trigramQuery(owner.id, 'acme')!, trigramQuery(owner.id, 'alice')!],
  match: [
    matchOf({ words: ['text'] }, undefined, idTerm('a', owner.id)),
    matchOf({ words: ['for'] }, undefined, idTerm('f', grid.alice.id)),
  ],
  otherMatch: [
    matchOf({ words: [] }, undefined, idTerm('b', owner.id)),
    matchOf({ words: [] }, grid.bob.id, idTerm('t', grid.bob.id)),
  ],
  tool: ['admin_set_agent_guardrails', 'admin_delete_agent', 'read_conversation'],
  session: ['a session of acme'],
  subject: ['a thread of acme'],
  subscription: ['a browser of acme'],
  endpoint: ['https://push.example/acme'],
  messages: list(messages),
  keeper: ['an id of a deleted agent'],
  conversationId: ['acme', String(task.conversation_id)],
  task: [foreign['task id']],
  tasks: list([foreign['task id']]),
  event: [String(task.message_id)],
  context: ['acme'],
  artifact: ['acme'],
  client: agents,
  config: [push.configId],
  ids: list(ids),
  words: list(names),
  wanted: names.map((name) => JSON.stringify([name])),
  aliases: list(names),
  named: [pause.key],
  keys: list([pause.key, foreign['channel id']]),
  answered: messages,
  answeredFrom: names,
  rule: [rule.id],
  held: ['a held message of acme', 'a held chunk of acme', 'a decision of acme'],
  decidedBy: [user],
  recipients: list(['@bob']),
  personAlias: agents,
  slack: [slack.id],
  ts: ['1.1'],
  slackUser: ['U1'],
  domain: [provider.domain],
  space: [reserved.space],
  scheduled: [scheduled.id],
  scheduledKey: [scheduled.key],
  names: list([foreign['task id']]),
}
const startOfDay = grid.clock.now - grid.clock.now % day
const later = grid.clock.now + 1_000
const others: Record<string, InValue[]> = {
  events: ['["message"]'],
  ...{ seen: [0], shared: [0], note: [''], home: [null], lengthMs: [day] },
  ...{ sendAt: [later], content: ['""'], ofAgent: [100], ofAccount: [100], requestHash: ['x'], recipient: ['@x'] },
  given: [JSON.stringify([{ id: newId(), name: reservation.name }])],
  ...{ channels: ['{}'], others: [0], otherName: [''], failures: [3] },
  // A text or a number, depending on the column.
  after: ['', 0],
  ...{ since: [0, null], before: [null, later], until: [later], at: [later], activeSince: [0], keysSince: [0] },
  ...{
    afterUnread: [0],
    afterRead: [0],
    limit: [100],
    maxUnread: [100],
    nearlyFull: [0],
    fullForOthers: [0],
    quiet: [0, 1],
    quietSince: [null, later],
    notices: [JSON.stringify([...Array(99).keys()].map((seq) => ({ id: `notice ${seq}`, seq, body: 'x' })))],
    offset: [0],
    max: [100],
    maxChars: [80_000],
    maxBytes: [30_000],
    upTo: [1_000],

    ...{ anchor: [10], older: [50], newer: [50], isChannel: [0, 1], place: [-1_000_000] },
  },
  ...{ p256dh: ['x'], auth: ['x'], userAgent: ['x'], token: ['a token of acme'], period: ['hourly'], maxFailures: [0] },
  ...{
    dueAt: [1],
    transport: ['slack'],
    nextAt: [later],
    notifiedSeq: [0],
    notifiedNewsSeq: [0],
    follows: [1],
    pushedAt: [null, later],
    length: [day],
  },
  ...{ unusedSince: [later], neverUsedSince: [later], oldSince: [later], least: [1], level: [1] },
  ...{ above: [0], turns: [1], counted: [1] },
  ...{ hops: [0], answers: [0], automated: [1], bytes: [1], countedIn: [owner.id], answer: ['{}'], taken: [1] },
  ...{ megabytesPerDay: [0], retentionDays: [0] },
  ...{ receiver: [null, ...agents], messagesPerDay: [0], bytesPerDay: [0], externalMessagesPerDay: [0] },
  messageReplies: [1],
  callersWait: ['yes'],
  ...{
    issuer: ['https://x.example'],
    proof: ['x'],
    roleClaim: [''],
    verifiedAt: [null],
    missingSince: [null],
  },
  ...{ slackChannel: ['C1'], botUser: ['U0'], externalName: ['#acme'], threadTs: ['1.1'] },
  ...{ url: ['https://x.example'], scheme: [null], version: ['1.0'], n: [1] },
  ...{ instance: ['a process'], card: ['{}'], contextId: ['c'], taskId: ['t'], error: [null] },
  ...{ senders: [null, '["alice"]'] },
  ...{ mentioned: ['["acme"]'], wake: [null, 'none'] },
  ...{ except: ['[]'], reason: [null], agents: ['[]'], limits: ['{}'] },
  ...{ createdAt: [later], expiresAt: [later], wokenAt: [later], day: [startOfDay], hour: [later] },
  ...{
    chars: [1],
    flagged: [0],
    sanitized: [0],
    sharedWith: [null],
    host: ['guard.acme.example'],
    enabled: [1],
    isRefused: [0],
    isUnsent: [1],
    isUnanswered: [1],
    via: ['slack'],
    ...{ format: ['summary'], template: [''], delivery: ['{}'], toAgentId: [null], channelId: [null] },
    teamId: ['T1'],
    team: ['T1'],
    app: ['A1'],
    isChange: [0, 1],
    mayShowLink: [0],
    isRequired: [1],
    isTrusted: [0],
    isByClaim: [0],
    maxRepeats: [5],
    repeatedSince: [0],
    outcome: [null, 'ok'],
    toAccount: [owner.id],
    clientAccount: [owner.id],
    state: [null, 'canceled'],
    states: ['["submitted","working","input-required"]'],
    ends: [0, 1],
    mode: ['task'],
    append: [0],
    lastChunk: [1],
    beforeAt: [later],
    beforeTask: ['~'],
    senderAccount: [owner.id],
    isStored: [0, 1],
    isInTaskAlone: [0, 1],
    scope: ['admin'],
    clientId: [String(grant.client_id)],
    redirectUri: [String(grant.redirect_uri)],
    codeChallenge: [String(grant.code_challenge)],
    codeExpiresAt: [later],
    graceSince: [0],
    isVisible: [1],
    verdicts: [JSON.stringify([{ ...verdict, id: 'another verdict' }])],
    changes: ['{}'],
    digest: ['{}'],
    data: ['{}'],
    guarded: ['{}'],
    ...{ fromKind: ['agent'], fromId: agents, toKind: ['any'], toId: [null], condition: ['always'], minBytes: [null] },
    ...{ deciders: ['[]'], expiresMs: [1], isRisky: [0], updatedAt: [grid.clock.now] },
    error: ['{}'],
    beforeCase: ['~'],
    beforeId: ['~'],
  },
  ...{
    type: ['agent'],
    visibility: ['public'],
    accessPolicy: ['auto_approve'],
    role: ['owner'],
    kind: ['agent_key', 'message', 'channel'],
  },
  ...{ action: ['block'], onFailure: ['pass'], provider: ['webhook'], direction: ['inbound'], actorType: ['system'] },
  ...{ credentialKind: [null], requestId: [null], signupId: [null], a2a: [null], traceparent: [null] },
  ...{ n: [0], length: [1], filename: ['x'], mediaType: ['text/plain'], content: ['x'] },
  ...{ arguments: ['{}'], config: ['{}'], parts: ['[]'], hours: ['[0]'], kept: ['[]'] },
  ...{
    emailClaim: [''],
    scopes: [''],
    draft: [''],
    report: ['{}'],
    roles: ['["owner"]'],
    seqs: [JSON.stringify([...Array(99).keys()])],
    places: [JSON.stringify(places)],
  },
  ...{ sends: [1], callbackHash: [null] },
  ...{ heldRule: [JSON.stringify({ ...rule, id: null })], heldIn: [owner.id], findings: ['[]'], later: ['{}'] },
  ...{ seesAll: [0], sentAt: [later], decider: [null], edited: [0], notice: ['a notice'], text: ['x'] },
  ...{ remoteUrl: [null], encryptedToken: [null], tokenIv: [null], tokenAuthTag: [null], tokenKeyId: [null] },
  ...Object.fromEntries(
    ['description', 'body', 'recipient', 'newHash', 'handleHash', 'requestHash', 'tokenHash', 'last4', 'holder']
      .map((name) => [name, ['x']]),
  ),
}

// Agents of the caller's account wrote to the owner, so its rows name them.
const ofCaller = new Set((await grid.evil.store.read.agents.page('', 100)).map(({ id }) => id))
// Agents of the caller's account may read messages that they received from the owner, and their threads.
const received = JSON.stringify([
  ...await rows(
    grid,
    `SELECT messages.* FROM deliveries JOIN messages ON messages.seq = deliveries.seq
      WHERE deliveries.account_id = ? AND messages.account_id = ?`,
    [caller.id, owner.id],
  ),
  ...await rows(grid, 'SELECT key FROM threads WHERE account_id = ?', [caller.id]),
])
const secrets = (await world.secretsOfOwner()).filter((secret) =>
  !/^\d+$/.test(secret) && !ofCaller.has(secret) && !received.includes(JSON.stringify(secret).slice(1, -1))
)
const statements = allQueries.filter(({ names, crossAccount }) => names.includes('account') && !crossAccount)
const isRead = ({ sql }: AnyQuery) => sql.startsWith('SELECT')
const parametersOf = ({ names }: AnyQuery) => [...new Set(names)].filter((name) => name !== 'account')
const cases = statements.map((query) => [`${query.sql.slice(0, 60)}…`, query] as const)

test('the owner has rows in every account table', async () => {
  const empty = []
  for (const table of accountTables) {
    const found = await rows(grid, `SELECT 1 FROM "${table}" WHERE account_id = ? LIMIT 1`, [owner.id])
    if (found.length === 0) empty.push(table)
  }

  // If this fails, add a row of the table above. Without a row, the table's statements are not tested.
  expect(empty).toEqual([])
})

test("every parameter of the store's statements has test values", () => {
  const used = new Set(statements.flatMap(parametersOf))

  expect([...used].filter((name) => !(name in texts) && !(name in others))).toEqual([])
})

test('every statement that names something finds it for the owner, so the names are valid', async () => {
  const silent = []
  const naming = statements.filter((query) => isRead(query) && parametersOf(query).some((name) => name in texts))
  for (const query of naming) {
    let isSilent = true
    for (const values of combinations(query)) {
      if (await answerOf(query, values, owner.id) !== await answerOf(query, unused(values), owner.id)) isSilent = false
    }
    // Allowed, because these statements find only provisional accounts, and the owner's account is not one.
    if (isSilent && !query.sql.includes("accounts.state = 'provisional'")) silent.push(query.sql)
  }

  expect(silent).toEqual([])
})

test.each(cases.filter(([, query]) => isRead(query)))('%s reads nothing of another account', async (_, query) => {
  for (const values of combinations(query)) {
    const answer = await answerOf(query, values)
    expect(answer).toBe(await answerOf(query, unused(values)))
    expect(secrets.filter((secret) => answer.includes(secret))).toEqual([])
  }
})

test.each(cases.filter(([, query]) => !isRead(query)))(
  '%s changes nothing of another account',
  async (_, query) => {
    const before = await world.dumpOwner()
    for (const values of combinations(query)) {
      await rowsOf(query, values).catch((error) => expect(error.code).toBe('write_conflict'))
    }
    expect(await world.dumpOwner()).toBe(before)
  },
)

type AnyQuery = Query<unknown>

type Values = Record<string, string | number | null>

/**
 * Of more combinations than this, every eleventh is tried. No parameter has so many values that two values never meet.
 */
const manyCombinations = 10_000

/** Returns combinations of the values of all parameters. */
function combinations(query: AnyQuery): Values[] {
  const given = parametersOf(query).map((name) => [name, texts[name] ?? others[name]] as const)
  const count = given.reduce((product, [, values]) => product * values.length, 1)
  const found: Values[] = []
  for (let n = 0; n < count; n += count > manyCombinations ? 11 : 1) {
    let rest = n
    const values: Values = {}
    for (const [name, all] of given) {
      values[name] = all[rest % all.length]
      rest = Math.floor(rest / all.length)
    }
    found.push(values)
  }
  return found
}

/** Returns the values with unused names instead of the owner's. */
function unused(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (!(name in texts)) return [name, value]
      const text = String(value)
      return [name, text.startsWith('[') ? JSON.stringify(JSON.parse(text).map(unusedItem)) : unusedLike(text)]
    }),
  )
}

function unusedItem(item: string | object) {
  return typeof item === 'string' ? unusedLike(item) : { ...item, thread: -1 }
}

async function rowsOf(query: AnyQuery, values: Values, account = caller.id) {
  return await rows(grid, query.sql, query.names.map((name) => name === 'account' ? account : values[name]))
}

/** Returns the rows as text, without the values given to the statement. */
async function answerOf(query: AnyQuery, values: Values, account?: string): Promise<string> {
  const given = Object.entries(values).flatMap(([name, value]) => {
    if (!(name in texts)) return []
    return String(value).startsWith('[') ? JSON.parse(String(value)) : [String(value)]
  })
  const text = JSON.stringify((await rowsOf(query, values, account)).map((row) => ({ ...row })))
  return given.filter((value) => value !== '').sort((a, b) => b.length - a.length).reduce(
    (bare, value) => bare.replaceAll(value, '…'),
    text,
  )
}
