/** Every frequent statement uses an index, on a database with many rows and with statistics. */
import { type Client, createClient } from '@libsql/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { listAgents } from '../../src/grid/agents/find-agent.ts'
import { listSkills, setSkills } from '../../src/grid/agents/skills.ts'
import { createChannel, listChannels } from '../../src/grid/channels/channels.ts'
import { readChain, readThread, receiptsOf } from '../../src/grid/conversations/messages.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { messageStatus } from '../../src/grid/messaging/message-status.ts'
import { readAgain } from '../../src/grid/messaging/read-again.ts'
import { ackMessages, leaseMessages, releaseMessages } from '../../src/grid/messaging/timed-leases.ts'
import { mintKey } from '../../src/lib/secrets.ts'
import { migrate } from '../../src/store/migrate.ts'
import { allQueries } from '../../src/store/sql.ts'
import { keepClock } from '../../src/worker/clock.ts'
import { sweep } from '../../src/worker/retention.ts'
import { followLog } from '../../src/worker/threads.ts'
import { testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { tripwire } from '../support/tripwire.ts'

let folder: string
let client: Client
let statements: string[]

// On a file and client of its own, because `EXPLAIN` leaves a statement open. See docs/delivery.md, "Local client".
beforeAll(async () => {
  statements = await recordStatements()
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-plans-'))
  client = createClient({ url: `file:${join(folder, 'grid.db')}`, concurrency: 1 })
  await migrate(client)
  await fill(client)
  await client.execute('PRAGMA optimize=0x10002')
})
afterAll(() => {
  client.close()
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  [
    'the messages that can be leased',
    /^UPDATE deliveries SET state = (?!.*(?:json_each|FROM messages)).* OVER /,
    'USING COVERING INDEX deliveries_unread (inbox=?)',
  ],
  [
    'the claim of a lease',
    /^UPDATE deliveries SET state = (?!.*(?:json_each|FROM messages)).* OVER /,
    'USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  [
    'the lease of a repeated claim',
    /^UPDATE deliveries SET state = (?!.*(?:json_each|FROM messages)).* OVER /,
    'sqlite_autoindex_leases',
  ],
  [
    'the messages that make a lease',
    /^INSERT INTO leases (?!.*json_each).*FROM deliveries/,
    'USING COVERING INDEX deliveries_lease',
  ],
  [
    'the messages of a lease to release',
    /^UPDATE deliveries SET .*release_count = .*FROM leases/,
    'deliveries_lease',
  ],
  ['the logged releases of a lease', /^INSERT INTO lease_releases\b/, 'deliveries_lease'],
  ['the lease to release', /^UPDATE deliveries SET .*release_count = .*FROM leases/, 'sqlite_autoindex_leases'],
  ['the end of a lease', /^DELETE FROM leases\b/, 'sqlite_autoindex_leases'],
  [
    'the named messages that can be leased',
    /^UPDATE deliveries SET state = .* OVER .*json_each/,
    'deliveries_message',
  ],
  [
    'the messages of a conversation that can be leased',
    /^UPDATE deliveries SET state = .* OVER .*FROM messages/,
    'deliveries_unread',
  ],
  ['the messages of a lease to ack', /^UPDATE deliveries SET lease_id/, 'deliveries_lease'],
  ['how many were acked', /^SELECT count\(\*\) AS n FROM deliveries (?!.*'parked')/, 'deliveries_lease'],
  ['leases of an agent that have expired', /^SELECT id FROM leases\b/, 'sqlite_autoindex_leases'],
  ['parked messages of an agent', /^SELECT count\(\*\) AS n FROM deliveries .*'parked'/, 'deliveries_parked'],
  ['parked messages to put back', /^UPDATE deliveries SET state = 'unread'.*'parked'/, 'deliveries_parked'],
  ['messages that a stream announced', /^UPDATE deliveries SET woken_at/, 'deliveries_unread'],
  ['the receipt of a direct message', /^SELECT json_object\('unread'.*recipientUnread/, 'agent_numbers_agent'],
  ['the receipt of a post', /^SELECT json_object\('unread'.*'recipients'/, 'deliveries_message'],
  [
    'the stored receipt of a repeatable send',
    /^UPDATE idempotency_keys SET receipt/,
    'sqlite_autoindex_idempotency_keys',
  ],
  ['the released leases of a message', /^SELECT .* FROM lease_releases\b/, 'sqlite_autoindex_lease_releases'],
  ['the replies to a message', /\breply_to_message_id = \?/, 'messages_reply'],
  [
    'old idempotency keys',
    /^SELECT .* FROM idempotency_keys WHERE created_at/,
    'idempotency_keys_created',
  ],
  ['accounts with trials to end', /^SELECT account_id AS id FROM trials WHERE/, 'trials_to_end'],
  ['accounts with old messages', /^SELECT id FROM accounts WHERE \(SELECT/, 'messages_id'],
  ['unclaimed accounts', /^SELECT accounts\.id FROM accounts WHERE accounts\.state/, 'USING INDEX accounts_unclaimed'],
  ['the deliveries from an unclaimed account', /^DELETE FROM deliveries\b/, 'deliveries_message'],
  ['ended sessions', /^DELETE FROM sessions\b/, 'sessions_ended'],
  ['expired sessions', /^DELETE FROM sessions\b/, 'sessions_expire'],
  ['expired links', /^DELETE FROM links\b/, 'links_expire'],
  ['expired invitations', /^DELETE FROM invitations\b/, 'invitations_expire'],
  ['old attempts', /^DELETE FROM attempts\b/, 'attempts_created'],
  ['expired consent requests', /^DELETE FROM oauth_requests .* LIMIT \?/, 'oauth_requests_expires'],
  ['expired tokens', /^DELETE FROM oauth_tokens (?!.* JOIN )/, 'oauth_tokens_expires'],
  ['tokens of ended grants', /^DELETE FROM oauth_tokens .* JOIN /, 'oauth_grants_revoked'],
  ['ended grants', /^DELETE FROM oauth_grants\b/, 'oauth_grants_uncollected'],
  [
    'agents whose texts may match a search',
    /^SELECT json_group_array\(id\).*MATCH/,
    'SEARCH agent_numbers USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  [
    'agents that have a skill',
    /^SELECT json_group_array\(id\).*MATCH/,
    'USING COVERING INDEX agent_skills_skill',
  ],
  [
    'agents among which a search looks',
    /^SELECT candidates\.alias AS searched_alias, .*json_each/,
    'SEARCH agents USING INDEX sqlite_autoindex_agents',
  ],
  [
    'the count of unread messages',
    /^SELECT min\(.*agent_numbers\.unread/,
    'agent_numbers_agent (account_id=? AND agent_id=?)',
  ],
  [
    'the newest message that was read',
    /^SELECT max\(deliveries\.seq\) .* FROM deliveries .*'read'/,
    'USING COVERING INDEX deliveries_read',
  ],
  ['the newest unread message', /^SELECT max\(deliveries\.seq\) .* FROM deliveries .*'unread'/, 'deliveries_unread'],
  ['the newest delivery of all', /^SELECT coalesce\(\(SELECT max\(/, 'SEARCH deliveries'],
  ['the newest wake signal', /^SELECT coalesce\(\(SELECT max\(/, 'SEARCH wake_signals'],
  [
    'deliveries after the newest',
    /^SELECT \* FROM \( SELECT 'delivery' AS kind/,
    'SEARCH deliveries USING INTEGER PRIMARY KEY (rowid>?)',
  ],
  [
    'wake signals after the newest',
    /^SELECT \* FROM \( SELECT 'delivery' AS kind/,
    'SEARCH wake_signals USING INTEGER PRIMARY KEY (rowid>?)',
  ],
  [
    'events of tasks after the newest',
    /^SELECT \* FROM \( SELECT 'delivery' AS kind/,
    'SEARCH task_events USING INTEGER PRIMARY KEY (rowid>?)',
  ],
  ['the messages of a lease', /^SELECT deliveries\.seq\b.*\bdeliveries\.lease_id = \?/, 'deliveries_lease'],
  ['the newest lease', /^SELECT max\(lease_id\)/, 'USING INDEX deliveries_read'],
  ['a newer lease of redelivered messages', /^SELECT max\(lease_id\)/, 'USING INDEX deliveries_redelivered'],
  ['unread messages after a position', /'unread' AND .*\bcreated_at >= \?/, 'deliveries_unread'],
  ['read messages after a position', /'read' AND .*\bcreated_at >= \?/, 'deliveries_read'],
  [
    'messages to read again',
    /'unread' .* UNION ALL .*'read' .*\bcreated_at >= \?/,
    'SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  ['the position before a time', /^SELECT deliveries\.seq FROM deliveries .*\bcreated_at < \?/, 'deliveries_'],
  ['an access token by hash', /FROM oauth_tokens JOIN .*LEFT JOIN/, 'USING INDEX oauth_tokens_hash'],
  ['the rotation of a refresh token', /^UPDATE oauth_tokens SET used_at/, 'USING INDEX oauth_tokens_hash'],
  ['a used successor', /^UPDATE oauth_tokens SET used_at/, 'oauth_tokens_parent'],
  ['a grant by its code', /^SELECT .* FROM oauth_grants WHERE code_hash/, 'USING INDEX oauth_grants_code'],
  ['the exchange of a code', /^UPDATE oauth_grants SET code_used_at/, 'oauth_grants_code'],
  ['a credential by hash', /FROM credentials LEFT JOIN/, 'USING INDEX credentials_hash'],
  [
    'an agent by alias',
    /^SELECT .* FROM agents WHERE agents\.account_id = \? AND .*\balias = \?/,
    'agents_of_account',
  ],
  [
    'a recipient in another account',
    /FROM agents WHERE agents\.alias = \? AND agents\.account_id <>/,
    'alias',
  ],
  [
    'who may be answered',
    /\bstranger_id = (agents|recipient)\.id/,
    'USING COVERING INDEX deliveries_stranger',
  ],
  ['the message row of a send', /^INSERT INTO messages\b/, 'sqlite_autoindex_idempotency_keys'],
  ['a send by its idempotency key', /FROM idempotency_keys JOIN/, 'sqlite_autoindex_idempotency_keys'],
  ['the fan-out of a post', /^INSERT INTO deliveries .* FROM channel_members/, 'sqlite_autoindex_channel_members'],
  [
    'the status of a message',
    /^SELECT agents\.alias, agents\.type, deliveries\.state/,
    'deliveries_message',
  ],
  [
    'signups from an address',
    /^SELECT count\(\*\) .*min\(created_at\).* FROM signups/,
    'COVERING INDEX signups_address',
  ],
  [
    'the usage of a day',
    /^INSERT INTO messages .*\busage\./,
    'SEARCH usage USING INDEX usage_day (day=? AND account_id=? AND subject=?)',
  ],
  [
    'the pause of a conversation',
    /^SELECT key, sender, .* FROM conversation_turns/,
    'PRIMARY KEY (account_id=? AND key=?)',
  ],
  ['the unread messages of an inbox', /^INSERT INTO messages .*\.unread/, 'agent_numbers_agent (account_id=?'],
  ['the long conversations of a reader', /json_group_object/, 'conversation_turns_long (account_id=? AND since>?)'],
  ['old usage', /^DELETE FROM usage WHERE \(account_id/, 'USING COVERING INDEX usage_day (day<?)'],
  ['old turns', /^DELETE FROM conversation_turns WHERE \(account_id, key\)/, 'conversation_turns_since (since<?)'],
  ['new messages to place', /^INSERT INTO threads\b/, 'SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  ['the thread of a message', /^INSERT INTO thread_messages\b/, 'USING COVERING INDEX threads_key'],
  [
    'the reply to a message among new ones',
    /^INSERT INTO .*reply AS MATERIALIZED/,
    'AUTOMATIC COVERING INDEX (account_id=? AND parent=?)',
  ],
  ['the newest threads', /FROM \( ?SELECT threads\.id FROM threads WHERE/, 'USING INDEX threads_newest'],
  [
    'a page of a thread',
    /^SELECT \* FROM \( SELECT thread_messages\.seq FROM thread_messages .* UNION ALL/,
    'USING PRIMARY KEY (account_id=? AND thread_id=? AND seq>? AND seq<?)',
  ],
  ['the time of a message in a thread', /search\(up_to, step\)/, 'SEARCH m USING INTEGER PRIMARY KEY (rowid=?)'],
  [
    'the messages of a page',
    /FROM json_each\(\?\) AS listed CROSS JOIN thread_messages/,
    'thread_messages_seq (account_id=? AND seq=?)',
  ],
  ['the messages of a chain', /\broot_seq = \?.* ORDER BY \+/, 'thread_messages_root (account_id=? AND root_seq=?)'],
  ['the first reply of a recipient', /replied_at/, 'SEARCH reply USING INDEX messages_reply'],
  [
    'a message to notify of',
    /FROM push_subscriptions AS sub WHERE/,
    'SEARCH d USING INDEX deliveries_unread (inbox=? AND seq>?)',
  ],
  ['the messages to notify of', /^(INSERT INTO|UPDATE) push_/, 'deliveries_unread (inbox=? AND seq>?)'],
  ['the notifications that are due', /OVER \(PARTITION BY sub.user_id/, 'push_notices_due (due_at<?)'],
  [
    'the mail digests that are due',
    /FROM mail_digests WHERE next_at/,
    'mail_digests_next (next_at<?)',
  ],
])('%s is found by its index', async (_, statement, index) => {
  const found = statements.filter((sql) => statement.test(sql))

  expect(found).not.toEqual([])
  for (const sql of found) expect(await plan(sql)).toContainEqual(expect.stringContaining(index))
})

test('SQLite understands every statement of the store, whether or not a test runs it', async () => {
  for (const { sql } of allQueries) await plan(sql)
})

test('no statement of an agent scans a whole table', async () => {
  const scans = []
  for (const sql of statements) {
    for (const line of await plan(sql)) {
      // Small: subqueries with a limit, constants, and the public agents by their own index.
      if (
        /^SCAN (entry VIRTUAL|agent_search VIRTUAL|by_(text|skill)|found|matches|allowed VIRTUAL|few|json_each VIRTUAL|candidates|counted|oldest|summed|new_deliveries|new_signals|new_events|newest|redelivered|(un)?read_half|half_(older|newer)|listed VIRTUAL|side|reply|chain|search|every|inbox|chosen|page|one|CONSTANT ROW|\(subquery|agents USING INDEX agents_public)/
          .test(line)
      ) continue
      // Once an hour, each account in turn.
      if (/^SCAN accounts USING COVERING INDEX/.test(line)) continue
      // Every browser that is notified, when messages have come, and those of them that are due.
      if (/^SCAN (sub|push_subscriptions|due)\b/.test(line)) continue
      // A check of foreign keys that a new parent row could satisfy. SQLite skips it, because none is violated.
      if (/^INSERT INTO agents\b/.test(sql) && /^SCAN deliveries/.test(line)) continue
      if (/^SCAN/.test(line)) scans.push({ line, sql })
    }
  }

  expect(scans).toEqual([])
})

async function plan(sql: string): Promise<string[]> {
  const args = Array(sql.split('?').length - 1).fill('x')
  const { rows } = await client.execute({ sql: `EXPLAIN QUERY PLAN ${sql}`, args })
  return rows.map(({ detail }) => String(detail))
}

async function recordStatements(): Promise<string[]> {
  const seen = new Set<string>()
  let watching = false
  const grid = await testGrid({
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (watching) seen.add(sql)
    },
  })
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
  await grid.evil.agent('desk', { visibility: 'public' })
  watching = true

  const alice = await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`)
  const bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
  const { id } = await sendMessage(alice, { to: 'bob', text: 'hi', idempotencyKey: 'k' })
  await sendMessage(alice, { to: 'desk', text: 'hi' })
  await sendMessage(alice, { to: '#general', text: 'hi' })
  const { cursor, lease } = await readMessages(bob, {})
  await leaseOf(bob, lease!.id).release()
  await bob.read.inbox.newestUnread(grid.bob.id)
  await bob.read.inbox.unread(grid.bob.id)
  await grid.store.global.newDeliveries.after(await grid.store.global.newDeliveries.newest())
  await readMessages(bob, {})
  await sendMessage(alice, { to: 'bob', text: 'hi' })
  bob.writeLater([bob.change.leases.woken(grid.bob.id, 0, 1_000, 1)])
  const timed = await leaseMessages(bob, {})
  const messageIds = [timed.messages[0].message_id]
  await releaseMessages(bob, { leaseId: timed.leaseId!, messageIds })
  const named = await leaseMessages(bob, { messageIds })
  await ackMessages(bob, { leaseId: named.leaseId! })
  await leaseMessages(bob, { conversationId: 'c' })
  await sendMessage(alice, { to: 'bob', text: 'hi', conversationId: 'c' })
  await leaseMessages(bob, { conversationId: 'c' })
  await grid.acme.store.read.parked.count(grid.bob.id)
  await bob.write([bob.change.parked.requeue(grid.bob.id, null)])
  await sendMessage(alice, { to: 'bob', text: 'hi' })
  const next = await readMessages(bob, {})
  leaseOf(bob, next.lease!.id).ack()
  await grid.store.global.retention.keys(1, 1)
  await grid.store.global.retention.accountsWithMessages(1, 1)
  await sweep(grid.store)
  await keepClock(grid.store)
  await bob.write(bob.change.unclaimed.remove(0, 1)).catch(() => {})
  for (const since of [undefined, 'last_batch', '1h', cursor]) await readAgain(bob, { since })
  await sendMessage(bob, { to: 'alice', text: 'hi', replyToMessageId: id })
  await messageStatus(alice, id)
  await listAgents(alice, { search: 'b' })
  await listAgents(alice, { search: 'bob' })
  await listAgents(alice, { public: true })
  await listChannels(alice)
  await setSkills(alice, { skills: [{ name: 'a' }] })
  await listSkills(alice, {})
  await listSkills(alice, { agent: 'bob' })
  await grid.store.drained()
  await followLog(grid.store)
  const { threads: [thread] } = await listThreads(alice, {})
  await listThreads(alice, { agentId: grid.bob.id })
  await listThreads(alice, { waiting: true })
  await readThread(alice, thread.id, { at: 0 })
  await receiptsOf(alice, [thread.lastSeq])
  await alice.read.threadMessages.ofPost(thread.lastSeq, '', 50)
  await readChain(alice, thread.lastSeq)
  await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
  await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe-2' })

  const { notifications } = grid.store.global
  await notifications.hasUnnoted()
  await grid.store.write(notifications.note(0, 0))
  await notifications.due(0, 1)
  await notifications.digestsDue(0, 1)
  await useOAuth(grid)

  watching = false
  await grid.close()
  return [...seen]
}

/** The statements of an OAuth client that exchanges a code, calls and refreshes. */
async function useOAuth({ store, acme, clock }: Awaited<ReturnType<typeof testGrid>>): Promise<void> {
  const { grants, tokens } = store.global.oauth
  await createAuthenticator(store)(`Bearer ${(await mintKey('access_token')).key}`).catch(() => {})
  await grants.byCode('x')
  await tokens.byHash('x')
  const exchange = { accountId: acme.id, hash: 'x', refreshId: 'x' }
  const code = { codeHash: 'x', clientId: 'x', redirectUri: 'x', codeChallenge: 'x' }
  const token = { id: 'x', kind: 'access' as const, hash: 'x', expiresAt: 0 }
  await store.write([
    grants.exchangeCode({ ...exchange, ...code }, clock.now),
    tokens.rotate(exchange, 0, clock.now),
    tokens.addForCode(exchange, token, clock.now),
    tokens.addForRefresh(exchange, token, clock.now),
  ])
}

/** 20 accounts with 20 agents each, and 6,000 messages, one in ten of them unread. */
async function fill(client: Client): Promise<void> {
  const numbers = (to: number) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${to - 1})`
  const account = "'account ' || (i % 20)"
  const agent = "'agent ' || (i % 400)"
  await client.migrate([
    `INSERT INTO accounts (id, name, state, created_at) ${
      numbers(20)
    } SELECT 'account ' || i, 'x', 'claimed', i FROM n`,
    `INSERT INTO signups ${
      numbers(400)
    } SELECT ${account}, 'signup ' || i, 'x', '10.0.0.' || (i % 100), 'token ' || i, i FROM n`,
    `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at) ${numbers(400)}
      SELECT ${account}, ${agent}, 'alias-' || i, 'mcp', iif(i % 50, 'private', 'public'), 'auto_approve', i FROM n`,
    `INSERT INTO credentials (account_id, id, kind, agent_id, hash, last4, created_at) ${numbers(800)}
      SELECT ${account}, 'key ' || i, 'agent_key', ${agent}, 'hash ' || i, 'last', i FROM n`,
    `INSERT INTO skills ${numbers(400)} SELECT ${account}, 'skill ' || i, 'skill ' || i, '', i FROM n`,
    `INSERT INTO agent_skills ${numbers(400)} SELECT ${account}, ${agent}, 'skill ' || i FROM n`,
    `INSERT INTO channels (account_id, id, name, created_at) ${
      numbers(100)
    } SELECT ${account}, 'channel ' || i, 'c' || i, i FROM n`,
    `INSERT INTO channel_members ${
      numbers(2_000)
    } SELECT ${account}, 'channel ' || (i % 100), 'agent ' || (i % 20 + 20 * (i / 100)), i FROM n`,
    `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at) ${
      numbers(6_000)
    }
      SELECT ${account}, 'message ' || i, ${agent}, 'alias', 'agent', '@b', 'body', i FROM n`,
    `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, lease_id, inbox) ${
      numbers(6_000)
    }
      SELECT ${account}, ${agent}, ${account}, 'message ' || i, iif(i % 10, 'read', 'unread'), 4, i, iif(i % 10, 'lease ' || (i / 50), NULL),
        (SELECT n FROM agent_numbers WHERE account_id = ${account} AND agent_id = ${agent}) FROM n`,
    `INSERT INTO idempotency_keys (account_id, agent_id, key, request_hash, sender_account_id, message_id, created_at) ${
      numbers(2_000)
    } SELECT ${account}, ${agent}, 'key ' || i, 'hash', ${account}, 'message ' || i, i FROM n`,
    `INSERT INTO users (id, email, created_at) ${numbers(20)} SELECT 'user ' || i, 'user ' || i, i FROM n`,
    `INSERT INTO memberships ${numbers(20)} SELECT 'account ' || i, 'user ' || i, 'owner', i FROM n`,
    `INSERT INTO oauth_grants (account_id, id, user_id, client_id, client_name, scope, resource, redirect_uri, code_hash,
      code_challenge, code_expires_at, code_used_at, created_at, expires_at) ${numbers(1_000)}
      SELECT ${account}, 'grant ' || i, 'user ' || (i % 20), 'c', 'c', 'admin', 'r', 'u', 'code ' || i, 'x', i, i, i, i FROM n`,
    `INSERT INTO oauth_tokens (account_id, id, grant_id, kind, hash, parent_id, created_at, expires_at) ${
      numbers(4_000)
    }
      SELECT ${account}, 'token ' || i, 'grant ' || (i % 1000), iif(i % 2, 'access', 'refresh'), 'hash ' || i,
      iif(i > 1000, 'token ' || (i - 1000), NULL), i, i FROM n`,
    `INSERT INTO trials ${numbers(400)} SELECT ${account}, ${agent}, 0, 10, i, NULL FROM n`,
  ])
}
