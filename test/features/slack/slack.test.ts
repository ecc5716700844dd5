/** A channel mirrored with a Slack channel, tested from outside against a local server with Slack's API. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApprovalRule } from '../../../src/grid/approvals/rules.ts'
import { createChannel, deleteChannel, setChannelMembers } from '../../../src/grid/channels/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../../src/grid/guardrails/guardrails.ts'
import { setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { setMemberRole } from '../../../src/grid/people/team.ts'
import { followLog } from '../../../src/worker/followers.ts'
import {
  askToLinkSlack,
  connectSlack,
  disconnectSlack,
  notifyOfSlack,
  unlinkSlack,
} from '../../../src/features/slack/connect.ts'
import { createHook } from '../../../src/features/incoming/hooks.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { fromSlackText } from '../../../src/features/slack/api.ts'
import { rows } from '../../support/database.ts'
import { approveOne } from '../../support/held.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInByEmail } from '../../support/people.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'
import { botToken, signedEvent, signingSecret, type SlackServer, startSlack } from '../../support/slack.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let slack: SlackServer
let outboxes: TestOutboxes
let path: string
let channel: string
const space = { free: 2 ** 40, total: 2 ** 40 }
beforeEach(async () => {
  slack = await startSlack()
  space.free = space.total
  grid = await testGrid({ safeFetch: slack.safeFetch, readSpace: () => Promise.resolve(space) })
  outboxes = new TestOutboxes(grid.store)
  channel = (await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })).channel.id
  const input = { channel, slackChannel: 'C01', token: botToken, signingSecret }
  const made = await connectSlack(grid.acme.store, input)
  await notifyOfSlack(grid.acme.store, made)
  path = `/api/v1/slack/${made.id}/events`
})
afterEach(async () => {
  await outboxes.stop()
  await slack.close()
  await grid.close()
})

/** Advances the clock and sends what is due. */
async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  for (let n = 0; n < 5; n++) {
    await outboxes.run()
    await outboxes.settled()
  }
}

const post = (text: string, more = {}, agent = grid.alice) =>
  sendMessage(storeOf(grid, agent), { to: '#general', text, ...more })
const said = (text: string, more = {}) => ({
  type: 'event_callback',
  event_id: 'Ev1',
  ...{ team_id: 'T0', api_app_id: 'A0' },
  event: { type: 'message', channel: 'C01', user: 'U1', text, ts: '5.001', ...more },
})
const arrive = async (event: unknown, at = grid.clock.now) => (await grid.request(path, signedEvent(event, at))).status
const messages = (columns: string, condition: string) =>
  rows(grid, `SELECT ${columns} FROM messages WHERE account_id = ? AND ${condition}`, [grid.acme.id])
const stored = async () =>
  (await rows(grid, 'SELECT from_alias, type, body, reply_to_message_id AS reply FROM messages WHERE account_id = ?', [
    grid.acme.id,
  ])).map((row) => `${row.from_alias} ${row.type}: ${row.body}`).filter((text) => !text.includes('is now mirrored'))

test('the channel shows that it is mirrored, and its members are notified once', async () => {
  const found = await grid.acme.store.read.channels.byRef(channel, '')
  const told = await rows(grid, "SELECT type, body FROM messages WHERE account_id = ? AND type = 'system'", [
    grid.acme.id,
  ])

  expect(found).toMatchObject({ externalIntegrationType: 'slack', externalChannelName: '#town', memberCount: 3 })
  expect(told.map(({ body }) => body)).toEqual([
    '#general is now mirrored with #town in Slack. People there read what is posted here.',
  ])
  const [row] = await rows(grid, 'SELECT * FROM slack_channels WHERE account_id = ?', [grid.acme.id])
  expect(JSON.stringify(row)).not.toContain(signingSecret)
})

test("a post appears in Slack with its author's alias and without mentions, and replies stay in their thread", async () => {
  const { id: first } = await post('<!channel> & <@U1>')
  await post('a reply', { replyToMessageId: first }, grid.bob)
  await post('another topic', { conversationId: 'c1' })
  await post('of the same topic', { conversationId: 'c1' }, grid.bob)
  await step()

  expect(slack.posts.map(({ text, username, thread_ts }) => [username, text, thread_ts])).toEqual([
    ['@alice', '&lt;!channel&gt; &amp; &lt;@U1&gt;', undefined],
    ['@bob', 'a reply', '9.001'],
    ['@alice', 'another topic', undefined],
    ['@bob', 'of the same topic', '9.003'],
  ])
  expect(slack.posts[0]).toMatchObject({
    ...{ channel: 'C01', icon_emoji: expect.stringMatching(/^:\w+:$/), parse: 'none', link_names: false },
  })
})

test('a post is truncated by its escaped length, with a link to the full message', async () => {
  await post('&'.repeat(9_999))
  await post('<'.repeat(9_000))
  await post('x'.repeat(10_001))
  for (let n = 0; n < 3; n++) await step()

  const [cut, whole, long] = slack.posts.map(({ text }) => String(text))
  expect(cut).toMatch(/^(&amp;){7800}…\n<http:\/\/\S+\/messages\/[\w-]+\|The whole message>$/)
  expect(whole).toBe('&lt;'.repeat(9_000))
  expect(long).toMatch(/^x{9999}…+\n<http/)
})

test('posts wait in order as long as Slack asks, and a post that Slack refuses does not block later ones', async () => {
  slack.troubles.push({ status: 429, headers: { 'retry-after': '90' } })
  const { id } = await post('one')
  await post('two')
  await step()
  expect(slack.posts).toEqual([])
  await step(89 * second)
  expect(slack.posts).toEqual([])
  slack.troubles.push({ error: 'msg_too_long' })
  await step(second)
  expect(slack.posts.map(({ text }) => text)).toEqual(['two'])
  const parked = await rows(grid, "SELECT message_id FROM v_deliveries WHERE account_id = ? AND state = 'parked'", [
    grid.acme.id,
  ])
  expect(parked).toEqual([{ message_id: id }])
})

test('a message from an unlinked Slack user arrives once with their name, and is not sent back to Slack', async () => {
  const event = said('hello &amp; <https://a.example|a>', { thread_ts: undefined })

  expect(await arrive(event)).toBe(200)
  expect(await stored()).toEqual(['slack-general agent: Ann: hello & a (https://a.example)'])
  // Slack resends events that get no timely response, here after a restart, with the idempotency keys removed.
  await rows(grid, 'DELETE FROM idempotency_keys WHERE account_id = ?', [grid.acme.id])
  expect(await arrive({ ...event, event_id: 'Ev2' })).toBe(200)
  expect(await arrive(event, grid.clock.now - 4 * minute)).toBe(200)
  expect(await stored()).toHaveLength(1)
  await step()
  expect(slack.posts).toEqual([])
})

test('an event that Slack sends several times at once is stored as one message', async () => {
  expect(await Promise.all([1, 2, 3].map(() => arrive(said('hello'))))).toEqual([200, 200, 200])
  expect(await stored()).toEqual(['slack-general agent: Ann: hello'])
})

test('a reply in a Slack thread becomes a reply in the channel, and its answer goes to the same thread', async () => {
  const { id: first } = await post('a question')
  await step()
  await arrive(said('an answer', { thread_ts: '9.001' }))
  const [answer] = await rows(
    grid,
    "SELECT id, reply_to_message_id AS reply FROM messages WHERE account_id = ? AND body = 'Ann: an answer'",
    [grid.acme.id],
  )
  await post('thanks', { replyToMessageId: String(answer.id) })
  await step()

  expect(answer.reply).toBe(first)
  expect(slack.posts.at(-1)).toMatchObject({ text: 'thanks', thread_ts: '9.001' })
})

test('a thread stays one thread in both directions, however it began and however deep its replies are', async () => {
  // The thread's first message is older than the mirror.
  await arrive(said('in an old thread', { thread_ts: '1.000' }))
  const { id: first } = await post('a plan', { conversationId: 'c1' })
  const { id: reply } = await post('a reply', { replyToMessageId: first }, grid.bob)
  await step()
  await post('a reply to it', { replyToMessageId: reply })
  const [{ id: old }] = await messages('id', "body = 'Ann: in an old thread'")
  await post('to the old thread', { replyToMessageId: String(old) })
  await step()
  await arrive(said('from Slack', { ts: '9.900', thread_ts: '9.001' }))

  expect(slack.posts.map(({ text, thread_ts }) => [text, thread_ts])).toEqual([
    ['a plan', undefined],
    ['a reply', '9.001'],
    ['a reply to it', '9.001'],
    ['to the old thread', '1.000'],
  ])
  expect(await messages('conversation_id', "body = 'Ann: from Slack'")).toEqual([{ conversation_id: 'c1' }])
})

test('a reply to a post from before its author joined arrives without the reference to that post', async () => {
  await post('an old post')
  await step()
  await linked()
  await arrive(said('a late answer', { ts: '9.900', thread_ts: '9.001' }))

  expect(await messages('from_alias, reply_to_message_id', "body = 'a late answer'")).toEqual([
    { from_alias: 'ann', reply_to_message_id: null },
  ])
})

test('a Slack user is linked to the person whose code they posted last, until that person unlinks them', async () => {
  await linked()
  const ben = await personWithAlias(grid, 'ben')
  await setChannelMembers(grid.acme.store, { channel, members: ['alice', 'ann', 'ben', 'slack-general'] })
  const code = await askToLinkSlack(ben.account, channel)
  grid.clock.now += 59 * minute
  await arrive(said(code, { ts: '5.002' }))
  await arrive(said('it is ben', { ts: '5.003' }))
  await unlinkSlack(ben.account, channel)
  await arrive(said('it is nobody', { ts: '5.004' }))

  expect(await stored()).toEqual(['ben agent: it is ben', 'slack-general agent: Ann: it is nobody'])
})

test("a Slack name cannot look like somebody else's", async () => {
  await arrive(said('hello', { user: 'U3' }))

  expect(await stored()).toEqual(['slack-general agent: Boss all clear: hello'])
})

test('a message that cannot be stored gets 503, so that Slack sends it again', async () => {
  space.free = 0
  await grid.store.storage.check()
  const status = await arrive(said('hello'))
  space.free = space.total
  await grid.store.storage.check()
  expect([status, await stored()]).toEqual([503, []])

  expect(await arrive(said('hello'))).toBe(200)
  expect(await stored()).toHaveLength(1)
})

test.each([
  ['with a file alone', { text: '', subtype: 'file_share' }, '(a file in Slack)'],
  ['of a thread that is shown in the channel', { subtype: 'thread_broadcast' }, 'hello'],
  ['about its writer', { subtype: 'me_message' }, 'hello'],
])('a Slack message %s is mirrored', async (_, more, text) => {
  await arrive(said('hello', more))

  expect(await stored()).toEqual([`slack-general agent: Ann: ${text}`])
})

test("a linked person's Slack messages count as theirs while the person may write and is a channel member", async () => {
  const ann = await personWithAlias(grid, 'ann', { role: 'member' })
  await setChannelMembers(grid.acme.store, { channel, members: ['alice', 'bob', 'ann', 'slack-general'] })
  const code = await askToLinkSlack(ann.account, channel)

  await arrive(said(`<${code}> ${code}`, { ts: '5.000' }))
  await arrive(said('it is me'))
  await arrive(said(code, { ts: '5.002', user: 'U2' }))
  await arrive(said('and I am not', { ts: '5.003', user: 'U2' }))
  // Membership of another channel does not count.
  await createChannel(grid.acme.store, { name: 'other', members: ['ann'] })
  await setChannelMembers(grid.acme.store, { channel, members: ['alice', 'bob', 'slack-general'] })
  await arrive(said('no member any more', { ts: '5.004' }))
  await step()

  expect(await stored()).toEqual([
    'ann agent: it is me',
    'slack-general agent: U2: and I am not',
    'slack-general agent: Ann: no member any more',
  ])
  expect(slack.posts).toEqual([])
})

async function linked(role: 'owner' | 'member' = 'member') {
  const ann = await personWithAlias(grid, 'ann', { role })
  await setChannelMembers(grid.acme.store, { channel, members: ['alice', 'bob', 'ann', 'slack-general'] })
  await arrive(said(await askToLinkSlack(ann.account, channel), { ts: '5.000' }))
  return ann
}

test("tools and pages show that a linked person's message was written in Slack", async () => {
  const ann = await linked()
  await arrive(said('it is me'))
  await arrive(said('hello', { ts: '5.002', user: 'U2' }))
  await followLog(grid.store)

  const read = (await callTool(grid, grid.alice.key, 'read_messages')).text
  expect(read.slice(-2)).toMatchObject([
    { user: '@ann', type: 'agent', via: 'slack', message: 'it is me' },
    { user: '@slack-general', type: 'agent', via: 'slack' },
  ])
  const [{ thread_id }] = await rows(
    grid,
    'SELECT max(thread_id) AS thread_id FROM thread_messages WHERE account_id = ?',
    [grid.acme.id],
  )
  const session = await signedInByEmail(grid, ann.person.email)
  const { text } = await session.open(`/accounts/${grid.acme.id}/conversations/${thread_id}`)
  expect(text.match(/via Slack/g)).toHaveLength(2)
  expect(text).not.toContain('@ann person')
})

test("approval rules and guardrails treat a linked person's Slack message as a program's, and a person can decide on it", async () => {
  await linked('owner')
  const { account } = await member(grid, { role: 'owner' })
  await createApprovalRule(grid.acme.store, { name: 'all', from: 'any', to: 'any' })
  await arrive(said('let me in at ann@acme.example'))
  await followLog(grid.store)
  expect(await messages('via', "seq < 0 AND body LIKE 'let me in%'")).toEqual([{ via: 'slack' }])
  await rows(grid, 'DELETE FROM approval_rules WHERE account_id = ?', [grid.acme.id])

  await createGuardrail(grid.acme.store, { name: 'no-mail', provider: 'pii', action: 'block' })
  await setAgentGuardrails(grid.acme.store, { agent: 'slack-general', guardrails: [{ ref: 'no-mail' }] })
  await expect(approveOne(account)).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await arrive(said('write to ann@acme.example', { ts: '5.002' }))

  expect((await stored()).filter((text) => text.includes('write to'))).toEqual([])
})

test("an incoming hook's held post does not count as written by the Slack program", async () => {
  const { account } = await member(grid, { role: 'owner' })
  const { address } = await createHook(grid.acme.store, { name: 'builds', to: '#general', format: 'summary' })
  await createApprovalRule(grid.acme.store, { name: 'all', from: 'any', to: 'any' })
  await createGuardrail(grid.acme.store, { name: 'no-mail', provider: 'pii', action: 'block' })
  await setAgentGuardrails(grid.acme.store, {
    agent: 'slack-general',
    guardrails: [{ ref: 'no-mail', direction: 'outbound' }],
  })
  await grid.post(new URL(address).pathname, 'ask ann@acme.example', { 'Content-Type': 'text/plain' })

  await approveOne(account)

  expect(await stored()).toEqual(['builds agent: ask ann@acme.example'])
})

test("a linked person's Slack message counts as a person's for turn limits", async () => {
  await linked()
  const owner = await member(grid, { role: 'owner' })
  await setTurnLimits(owner.account, { perHour: 4, hops: 2 })
  for (let n = 0; n < 12; n++) {
    if (n % 3 === 2) await arrive(said(`${n}`, { ts: `6.${100 + n}` }))
    else await post(`${n}`, {}, n % 3 === 0 ? grid.alice : grid.bob)
  }
  expect(await stored()).toHaveLength(12)

  await step()
  await arrive(said('an answer', { ts: '7.000', thread_ts: '9.001' }))
  expect(await messages('hops', "body = 'an answer' AND reply_to_message_id IS NOT NULL")).toMatchObject([{ hops: 0 }])
})

test('a person who became a viewer can no longer post from Slack', async () => {
  const ann = await linked()
  const owner = await member(grid, { role: 'owner' })
  await setMemberRole(owner.account, { userId: ann.person.id, role: 'viewer' })
  await arrive(said('still here'))

  expect(await stored()).toEqual([])
})

test('events of another workspace or app get the same response as an unknown URL', async () => {
  const of = async (more: object) => await arrive({ ...said('hello'), ...more })
  expect(await of({ team_id: 'T9' })).toBe(404)
  expect(await of({ api_app_id: undefined })).toBe(404)
  expect(await of({})).toBe(200)
  expect(await of({ api_app_id: 'A9' })).toBe(404)

  expect(await rows(grid, 'SELECT team_id, app_id FROM slack_channels WHERE account_id = ?', [grid.acme.id])).toEqual([{
    team_id: 'T0',
    app_id: 'A0',
  }])
  expect(await stored()).toHaveLength(1)
})

test('a link code expires', async () => {
  const ann = await personWithAlias(grid, 'ann')
  await setChannelMembers(grid.acme.store, { channel, members: ['ann', 'slack-general'] })
  const code = await askToLinkSlack(ann.account, channel)
  grid.clock.now += 61 * minute

  await arrive(said(code))
  await arrive(said('hello', { ts: '5.002' }))

  expect(await stored()).toEqual(['slack-general agent: Ann: hello'])
})

test.each([
  ['of our bot', { user: 'U0' }],
  ['of a bot', { bot_id: 'B7' }],
  ['of an app', { app_id: 'A7' }],
  ['that was edited', { subtype: 'message_changed' }],
  ['that was deleted', { subtype: 'message_deleted' }],
  ['of another channel', { channel: 'C02' }],
  ['without a text', { text: ' ' }],
])('a Slack message %s is not mirrored', async (_, more) => {
  expect(await arrive(said('hello', more))).toBe(200)
  expect(await stored()).toEqual([])
})

test("Slack's URL verification is answered, but unsigned events get the same response as an unknown URL", async () => {
  const verification = { type: 'url_verification', challenge: 'abc' }
  const { now } = grid.clock
  const answered = await grid.request(path, signedEvent(verification, now))
  expect([answered.status, await answered.text()]).toEqual([200, 'abc'])

  const other = path.replace(/[0-9a-f-]{36}/, crypto.randomUUID())
  const refused = [
    await grid.request(other, signedEvent(verification, now)),
    // This body is too long. It is refused without being read.
    await grid.request(other, { method: 'POST', body: 'x'.repeat(300_000) }),
    await grid.request(path, signedEvent(verification, now, 'f'.repeat(32))),
    await grid.request(path, signedEvent(verification, now - 6 * minute)),
    await grid.request(path, signedEvent(verification, now + 6 * minute)),
    await grid.request(path, { ...signedEvent(verification, now), body: '{"type":"url_verification"}' }),
    await grid.request(path, { method: 'POST', body: '{}' }),
  ]
  expect(await Promise.all(refused.map(async (answer) => `${answer.status} ${await answer.text()}`)))
    .toEqual(Array(7).fill('404 '))
})

test('guardrails check messages from Slack, and Slack does not send a blocked one again', async () => {
  await createGuardrail(grid.acme.store, { name: 'no-mail', provider: 'pii', action: 'block' })
  await setAgentGuardrails(grid.acme.store, { agent: 'slack-general', guardrails: [{ ref: 'no-mail' }] })

  expect(await arrive(said('write to ann@acme.example'))).toBe(200)
  expect(await stored()).toEqual([])
})

test("a direct message to the Slack integration's agent is not sent to Slack, and its sender is notified", async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@slack-general', text: 'a secret' })
  await step()

  expect(slack.posts).toEqual([])
  expect((await stored()).at(-1)).toContain('It mirrors #general with Slack, and reads nothing else.')
})

test('after Slack is disconnected, nothing is sent in either direction', async () => {
  await disconnectSlack(grid.acme.store, channel)
  await post('alone')
  await step()

  expect(await arrive(said('hello'))).toBe(404)
  expect(slack.posts).toEqual([])
  expect(await grid.acme.store.read.channels.byRef(channel, '')).toMatchObject({
    externalIntegrationType: null,
    externalChannelName: null,
  })
})

test("deleting a channel deletes the integration's agent", async () => {
  await deleteChannel(grid.acme.store, channel)

  expect(await grid.acme.store.read.agents.byAlias('slack-general')).toBeUndefined()
  expect(await rows(grid, 'SELECT id FROM slack_channels WHERE account_id = ?', [grid.acme.id])).toEqual([])
  expect(await arrive(said('hello'))).toBe(404)
})

test.each([
  ['a token that Slack does not know', { token: 'xoxb-other' }, 'Slack says invalid_auth.'],
  ['an unknown channel', { slackChannel: 'C09' }, 'Slack says channel_not_found.'],
  ['a channel without the bot', { slackChannel: 'C03' }, 'Invite the bot'],
  ['a token of another kind', { token: 'xoxp-1' }, 'begins with xoxb-'],
])('connecting a channel to Slack fails for %s', async (_, more, text) => {
  const other = (await createChannel(grid.acme.store, { name: 'other' })).channel.id
  const input = { channel: other, slackChannel: 'C01', token: botToken, signingSecret, ...more }

  await expect(connectSlack(grid.acme.store, input)).rejects.toThrow(text)
  expect(await grid.acme.store.read.agents.byAlias('slack-other')).toBeUndefined()
})

test('a channel is mirrored with at most one Slack channel', async () => {
  const input = { channel, slackChannel: 'C01', token: botToken, signingSecret }

  await expect(connectSlack(grid.acme.store, input)).rejects.toThrow('already mirrored with Slack')
  expect((await grid.acme.store.read.channels.byRef(channel, ''))!.memberCount).toBe(3)
})

test('a member can neither connect nor disconnect Slack', async () => {
  const { account } = await member(grid)
  const { id: other } = (await createChannel(grid.acme.store, { name: 'other' })).channel
  const input = { channel: other, slackChannel: 'C01', token: botToken, signingSecret }

  await expect(connectSlack(account, input)).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(disconnectSlack(account, channel)).rejects.toMatchObject({ code: 'not_allowed' })
})

test.each([
  ['<@U1> and <@U2|bea>', '@U1 and @bea'],
  ['<#C1|town> <!here> <!subteam^S1|team>', '#town @here team'],
  ['<https://a.example> <mailto:a@b.example|a@b.example>', 'https://a.example a@b.example (mailto:a@b.example)'],
  ['1 &lt; 2 &amp;lt;', '1 < 2 &lt;'],
])('the Slack text %s is converted to %s', (text, read) => {
  expect(fromSlackText(text)).toBe(read)
})
