/**
 * What the databases of past schemas hold: at least one row in every table, with the names of today. A new table needs
 * rows here before `npm run past-databases` can write the database of its schema.
 */
import { createHash } from 'node:crypto'
import { chained } from '../../src/store/account/activity-chain.ts'
import {
  accountTokenContext,
  createKeyRing,
  pushKeyContext,
  signingKeyContext,
  totpContext,
} from '../../src/lib/key-ring.ts'

export type Row = Record<string, string | number | null>

/** The key ring that opens the tokens. */
export const keys = `k1:${Buffer.alloc(32, 7).toString('base64')}`
/** The keys of @alice and @bob, and an admin key of their account. They are known to everybody, and open nothing else. */
export const aliceKey = `grid_agt_${'A'.repeat(43)}00IPsR`
export const bobKey = `grid_agt_${'B'.repeat(43)}353AJ6`
export const adminKey = `grid_adm_${'C'.repeat(43)}2KpbrS`

/** When everything happened. */
const at = Date.parse('2026-11-20T12:00:00.000Z')
const later = Date.parse('2027-11-20T12:00:00.000Z')
const day = Date.parse('2026-11-20T00:00:00.000Z')

/** An id that sorts as its number. */
const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const [acme, evil, newcomers] = [id(1), id(2), id(3)]
const [ann, ed] = [id(11), id(12)]
/** In the order of their accounts and ids, in which migrations number them: 1 to 5. */
const [alice, bob, annas, eve, trialist] = [id(21), id(22), id(23), id(24), id(25)]
const [general, skill, guardrail, signup, grant, session] = [id(31), id(32), id(33), id(34), id(35), id(36)]
const [greeting, answer, post, toStranger, gone] = [id(41), id(42), id(43), id(44), id(45)]
const [lease, releasedLease, instance, link, invitation, pause, verdict, token, browser, task] = [
  51,
  52,
  53,
  54,
  55,
  56,
  57,
  58,
  59,
  60,
].map(
  id,
)

/** The rows of each table. A column that a schema does not have yet is left out of its database. */
export async function story(): Promise<Record<string, Row[]>> {
  const ring = createKeyRing(keys)
  const sealed = async (text: string, context: string): Promise<Row> => {
    const { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId } = await ring.seal(text, context)
    return {
      encrypted_token: encryptedToken,
      token_iv: tokenIv,
      token_auth_tag: tokenAuthTag,
      token_key_id: tokenKeyId,
    }
  }
  const agent = (account: string, agentId: string, alias: string, more: Row = {}): Row => ({
    ...{ account_id: account, id: agentId, alias, type: 'mcp', visibility: 'private', access_policy: 'auto_approve' },
    ...{ description: `This is ${alias}.`, created_at: at, last_seen_at: at + 5, ...more },
  })
  const key = (n: number, kind: string, secret: string, more: Row = {}): Row => ({
    ...{ account_id: acme, id: id(n), kind, hash: sha256(secret), last4: secret.slice(-4), created_at: at, ...more },
  })
  const message = (
    seq: number,
    messageId: string,
    from: [id: string, alias: string],
    recipient: string,
    more: Row,
  ) => ({
    ...{ seq, account_id: acme, id: messageId, from_agent_id: from[0], from_alias: from[1], type: 'agent', recipient },
    ...{ body: `Message ${seq}, for ${recipient}`, created_at: at + seq, ...more },
  })
  const delivery = (
    seq: number,
    to: [account: string, id: string, inbox: number],
    messageId: string,
    more: Row,
  ): Row => ({
    ...{ seq, account_id: to[0], agent_id: to[1], inbox: to[2], sender_account_id: acme, message_id: messageId },
    ...{ state: 'unread', chars: 30, created_at: at + seq, ...more },
  })

  return {
    store_facts: [{ key: 'epoch', value: 'e0e0e0e0' }, { key: 'clock', value: String(at) }],
    accounts: [
      {
        ...{ id: acme, name: 'Acme', state: 'claimed', created_at: at, claimed_at: at, turn_limits: '{"warn":20}' },
        ...{ requires_second_factor: 0, people_see_contents: 1, people_read_since: 0 },
      },
      { id: evil, name: 'Evil', state: 'claimed', created_at: at, claimed_at: at, people_read_since: 0 },
      { id: newcomers, name: 'new@new.example', state: 'provisional', join_email: 'new@new.example', created_at: at },
    ],
    users: [
      { id: ann, email: 'ann@acme.example', name: 'Ann', email_verified_at: at, created_at: at, shortcuts: 0 },
      { id: ed, email: 'ed@evil.example', name: 'Ed', created_at: at },
    ],
    memberships: [
      { account_id: acme, user_id: ann, role: 'owner', created_at: at },
      { account_id: evil, user_id: ed, role: 'owner', created_at: at },
    ],
    sessions: [
      {
        ...{ id: session, user_id: ann, token_hash: sha256('session'), created_at: at, last_seen_at: at },
        ...{ expires_at: later, user_agent: 'Browser', address: '192.0.2.1', confirmed_at: at },
      },
    ],
    passkeys: [
      {
        ...{ id: id(61), user_id: ann, credential_id: 'cGFzc2tleQ', public_key: 'a2V5', counter: 0, transports: '[]' },
        ...{ name: 'Laptop', created_at: at },
      },
    ],
    passkey_challenges: [{
      hash: sha256('challenge'),
      purpose: 'sign_in',
      holder: sha256('holder'),
      expires_at: later,
    }],
    totps: [{
      ...{ user_id: ann, last_step: 1, created_at: at, confirmed_at: at },
      ...await sealed('JBSWY3DPEHPK3PXP', totpContext(ann)),
    }],
    recovery_codes: [{ user_id: ann, hash: sha256('recovery') }],
    links: [
      {
        ...{ id: link, kind: 'sign_in', token_hash: sha256('link'), user_id: ann, email: 'ann@acme.example' },
        ...{ created_at: at, expires_at: later },
      },
    ],
    invitations: [
      {
        ...{
          account_id: acme,
          id: invitation,
          email: 'bea@acme.example',
          role: 'member',
          token_hash: sha256('invited'),
        },
        ...{ invited_by: ann, created_at: at, expires_at: later, is_link_shown: 1 },
      },
    ],
    signups: [
      {
        ...{ account_id: newcomers, id: signup, owner_email: 'new@new.example', address: '192.0.2.2', created_at: at },
        ...{ claim_token_hash: sha256('claim') },
      },
    ],
    attempts: [{ id: id(62), kind: 'sign_in', subject: sha256('ann'), created_at: at }],
    agents: [
      agent(acme, alice, 'alice', { visibility: 'public', access_policy: 'block_list' }),
      agent(acme, bob, 'bob', { automated: 1 }),
      agent(acme, annas, 'ann', { type: 'human' }),
      agent(evil, eve, 'eve', {
        ...{ visibility: 'public', type: 'a2a', remote_url: 'https://eve.example/a2a' },
        ...await sealed('remote token', accountTokenContext('agents', evil, eve)),
      }),
      agent(newcomers, trialist, 'trialist', { signup_id: signup }),
    ],
    agent_access: [{ account_id: acme, agent_id: alice, alias: 'mallory' }],
    trials: [{ account_id: newcomers, agent_id: trialist, used: 1, max: 10, expires_at: later }],
    credentials: [
      key(71, 'agent_key', aliceKey, { agent_id: alice }),
      key(72, 'agent_key', bobKey, { agent_id: bob, issued_by: ann }),
      key(73, 'admin_key', adminKey, { user_id: ann, name: 'CI' }),
      key(74, 'agent_key', 'fetched with a grant', { agent_id: alice, user_id: ann, grant_id: grant, name: 'Client' }),
      key(75, 'agent_key', 'fetched with none', { agent_id: bob, user_id: ann }),
    ],
    skills: [{ account_id: acme, id: skill, name: 'singing', description: 'Sings', created_at: at }],
    agent_skills: [{ account_id: acme, agent_id: alice, skill_id: skill }],
    channels: [{ account_id: acme, id: general, name: 'general', description: 'For all', created_at: at }],
    channel_members: [alice, bob].map((member) => ({
      ...{ account_id: acme, channel_id: general, agent_id: member, joined_at: at },
    })),
    guardrails: [{
      ...{ account_id: acme, id: guardrail, name: 'secrets', provider: 'webhook', action: 'flag', on_failure: 'open' },
      ...{ config: '{"url":"https://guard.example"}', enabled: 0, created_at: at },
      ...await sealed('guardrail token', accountTokenContext('guardrails', acme, guardrail)),
    }],
    agent_guardrails: [{
      account_id: acme,
      agent_id: bob,
      guardrail_id: guardrail,
      direction: 'inbound',
      action: 'flag',
    }],
    verdicts: [{
      ...{ account_id: acme, id: verdict, guardrail_id: guardrail, guardrail_name: 'secrets', direction: 'inbound' },
      ...{ action: 'blocked', kinds: '["secret"]', agent_ids: `["${bob}"]`, sender_alias: 'alice' },
      ...{ sender_account_id: acme, recipient: '@bob', text_hash: sha256('text'), content: 'text', created_at: at },
    }],
    guardrail_counts: [{ account_id: acme, guardrail_id: guardrail, hour: at, action: 'blocked', n: 1 }],
    guardrail_exceptions: [{ account_id: acme, guardrail_id: guardrail, text_hash: sha256('fine'), created_at: at }],
    blocked_sends: [
      {
        ...{ account_id: acme, agent_id: alice, key: 'blocked', request_hash: sha256('request'), created_at: at },
        ...{ error: '{"message":"Blocked by the guardrail secrets."}' },
      },
    ],
    messages: [
      message(1, greeting, [alice, 'alice'], '@bob', { conversation_id: 'talk', sanitized: 1 }),
      message(2, answer, [bob, 'bob'], '@alice', { reply_to_message_id: greeting, conversation_id: 'talk', hops: 1 }),
      message(3, post, [alice, 'alice'], '#general', { channel_id: general, flagged: 1 }),
      message(4, toStranger, [alice, 'alice'], '@eve', { a2a: '{"messageId":"x"}' }),
      message(5, gone, [bob, 'bob'], '@nobody', {}),
    ],
    parts: [
      {
        ...{ account_id: acme, id: `${toStranger}.0`, message_id: toStranger, media_type: 'text/plain' },
        ...{ encoding: 'utf8', content: 'a large text', bytes: 12 },
      },
    ],
    deliveries: [
      delivery(1, [acme, bob, 2], greeting, { state: 'read', read_at: at + 9, lease_id: lease, woken_at: at + 8 }),
      delivery(2, [acme, alice, 1], answer, { lease_id: null, release_count: 1 }),
      delivery(3, [acme, alice, 1], post, {}),
      delivery(4, [acme, bob, 2], post, { flagged: 1 }),
      delivery(5, [evil, eve, 4], toStranger, { stranger_id: alice, body: 'masked' }),
    ],
    tasks: [{
      ...{ account_id: acme, id: task, client_agent_id: alice, recipient_account_id: evil, recipient_agent_id: eve },
      ...{ recipient_alias: 'eve', message_id: toStranger, conversation_id: 'talk', context_id: 'a context' },
      ...{ mode: 'task', state: 'working', status_at: at + 6, generation: 2, created_at: at + 4, expires_at: later },
    }],
    task_messages: [
      { account_id: acme, task_id: task, sender_account_id: acme, message_id: toStranger, role: 'user' },
    ],
    task_events: [
      { account_id: acme, task_id: task, seq: 1, n: 1, id: toStranger, at: at + 4, state: 'submitted' },
      { account_id: acme, task_id: task, seq: 2, n: 2, id: 'read', at: at + 6, state: 'working' },
    ],
    artifacts: [{
      ...{ account_id: acme, task_id: task, n: 2, artifact_id: 'notes', append: 0, last_chunk: 1, name: 'Notes' },
      parts: '[{"text":"a result"}]',
    }],
    contexts: [{
      ...{ account_id: acme, agent_id: alice, context_id: 'a context', recipient_agent_id: eve },
      ...{ conversation_id: 'talk', used_at: at + 4 },
    }],
    leases: [
      { account_id: acme, agent_id: bob, id: lease, holder: instance, created_at: at + 9, expires_at: later },
      { account_id: acme, agent_id: alice, id: releasedLease, holder: instance, created_at: at, expires_at: later },
    ],
    instances: [{ id: instance, heartbeats: 3, created_at: at }],
    wake_signals: [{ seq: 7, agent_id: alice }],
    lease_releases: [
      {
        ...{ account_id: acme, agent_id: alice, sender_account_id: acme, message_id: answer, n: 1 },
        ...{ leased_at: at + 3, released_at: at + 4 },
      },
    ],
    idempotency_keys: [
      {
        ...{ account_id: acme, agent_id: alice, key: 'once', request_hash: sha256('once'), message_id: greeting },
        ...{ created_at: at, receipt: null },
      },
    ],
    usage: [{ account_id: acme, day, subject: '', counter_id: instance, messages: 5, bytes: 4_000 }],
    conversation_turns: [{
      ...{ account_id: acme, key: 'alice bob', counter_id: instance, agents: '["alice","bob"]', turns: 2 },
      ...{ reset_at: at, steps: `[[${at},2]]`, turned_at: at, changed_at: at },
    }],
    conversation_pauses: [{
      ...{ account_id: acme, id: pause, key: 'bob carol', agents: '["bob","carol"]', reason: 'turns', turns: 200 },
      ...{ hops: 3, paused_at: at, told_at: at, changed_at: at },
    }],
    recent_reads: [{
      ...{ account_id: acme, reader: 'bob', source: 'alice', counter_id: instance, reads: 1, answered: 1 },
      ...{ read_at: at, changed_at: at },
    }],
    activity: activity(),
    oauth_clients: [{
      ...{ id: id(63), kind: 'registered', name: 'Client', redirect_uris: '["http://localhost/back"]' },
      ...{ auth_method: 'none', address: '192.0.2.3', created_at: at, expires_at: later },
    }],
    oauth_requests: [{
      ...{ handle_hash: sha256('handle'), cookie_hash: sha256('cookie'), session_id: session, user_id: ann },
      ...{ client_id: id(63), client_name: 'Client', redirect_uri: 'http://localhost/back', code_challenge: 'c' },
      ...{ resource: 'http://localhost:8787/mcp/v1/grid', choices: '[]', expires_at: later, grant_id: grant },
    }],
    oauth_grants: [{
      ...{ account_id: acme, id: grant, user_id: ann, client_id: id(63), client_name: 'Client', agent_id: alice },
      ...{ scope: 'agent:use', resource: 'http://localhost:8787/mcp/v1/grid', redirect_uri: 'http://localhost/back' },
      ...{ code_hash: sha256('code'), code_challenge: 'c', code_expires_at: at + 1, code_used_at: at },
      ...{ created_at: at, expires_at: later },
    }],
    oauth_tokens: [{
      ...{ account_id: acme, id: token, grant_id: grant, kind: 'refresh', hash: sha256('refresh'), created_at: at },
      ...{ expires_at: later },
    }],
    threads: [{
      id: 1,
      account_id: acme,
      kind: 'conversation',
      key: '/talk',
      last_seq: 1,
      last_at: at + 1,
      messages: 1,
    }],
    thread_messages: [{ account_id: acme, thread_id: 1, seq: 1, root_seq: 1 }],
    thread_agents: [
      { account_id: acme, agent_id: alice, thread_id: 1, delivery_seq: 0 },
      { account_id: acme, agent_id: bob, thread_id: 1, delivery_seq: 1 },
    ],
    thread_seen: [{ account_id: acme, user_id: ann, thread_id: 1, seq: 1 }],
    seats: [{ account_id: acme, user_id: ann, agent_id: annas }],
    snoozes: [
      { account_id: acme, user_id: ann, kind: 'unread', subject: alice, until: later, level: 1 },
    ],
    push_keys: [{
      id: 'vapid',
      public_key: 'public key',
      created_at: at,
      ...await sealed('private key', pushKeyContext('vapid')),
    }],
    signing_keys: [{
      id: 'signing-key',
      public_key: '{"kty":"EC"}',
      created_at: at,
      ...await sealed('private signing key', signingKeyContext('signing-key')),
    }],
    push_subscriptions: [{
      ...{ account_id: acme, id: browser, user_id: ann, session_id: session, endpoint: 'https://push.example/ann' },
      ...{ p256dh: 'key of the browser', auth: 'secret', user_agent: 'Firefox', created_at: at, seq: 1 },
    }],
    push_notices: [
      { account_id: acme, subscription_id: browser, thread_id: 1, first_seq: 1, last_seq: 1, due_at: later },
    ],
    mail_digests: [{ account_id: acme, user_id: ann, period: 'daily', next_at: later, token: 'digest' }],
  }
}

/** How far the projection has followed the messages, whose row a migration makes. */
export const placed = { name: 'threads', seq: 1 }

/** A chain whose second row tells of the fetched key. */
function activity(): Row[] {
  const entry = (n: number, tool: string, more: object) => ({
    ...{ id: id(80 + n), createdAt: at + n, actorType: 'user', userId: ann, credentialId: null, credentialKind: null },
    ...{ tool, arguments: '{}', outcome: 'ok', requestId: null, ...more },
  })
  const first = chained(
    acme,
    entry(1, 'admin_create_agent', { credentialKind: 'session', credentialId: session }),
    undefined,
  )
  const second = chained(acme, entry(2, 'fetch_agent_key', { actorType: 'agent', credentialId: grant }), first)
  return [first, second].map((row) => ({
    ...{ account_id: acme, n: row.n, id: row.id, created_at: row.createdAt, actor_type: row.actorType },
    ...{ user_id: row.userId, credential_id: row.credentialId, credential_kind: row.credentialKind, tool: row.tool },
    ...{ arguments: row.arguments, outcome: row.outcome, request_id: row.requestId },
    ...{ previous_hash: row.previousHash, hash: row.hash },
  }))
}
