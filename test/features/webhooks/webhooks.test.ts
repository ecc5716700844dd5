/** Webhooks: their events, their order, and receivers that do not respond. */
import { Webhook as Verifier } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { figures } from '../../../src/features/telemetry/store.ts'
import { notifyWebhooks } from '../../../src/features/webhooks/conditions.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
} from '../../../src/features/webhooks/webhooks.ts'
import { deleteAccount, restoreAccount } from '../../../src/grid/accounts/deletion.ts'
import { allowService, disallowService } from '../../../src/grid/guardrails/consents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { day, hour, isoTime, minute, second } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog, gridFollowers } from '../../../src/worker/followers.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret } from '../../support/guarded.ts'
import { hold } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'
import { callRest } from '../../support/rest.ts'
import { askFor } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWebhook, type TakenNotice, type Webhook, type WebhookAnswer } from '../../support/webhook.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let outboxes: TestOutboxes
let hooks: Webhook[]
let acme: AccountStore
beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  outboxes = new TestOutboxes(grid.store)
  hooks = []
  acme = grid.store.account(grid.acme.id, {
    type: 'admin',
    credentialId: 'test',
    credentialKind: 'admin_key',
    userId: null,
  })
})
afterEach(async () => {
  await outboxes.stop()
  await Promise.all(hooks.map((hook) => hook.close()))
  await grid.close()
})

async function webhook(answer: () => WebhookAnswer = () => 204, events = ['message', 'task', 'held']) {
  const hook = await startWebhook(answer)
  hooks.push(hook)
  return { hook, ...await createWebhook(acme, { url: hook.url, events }) }
}

const send = (message: string, to = '@bob') => callTool(grid, grid.alice.key, 'send_message', { to, message })

async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await followLog(grid.store)
  await outboxes.run()
  await outboxes.settled()
}

/** Runs `change` while no outbox worker runs. */
async function withoutLines(change: () => Promise<void>): Promise<void> {
  await outboxes.stop()
  await change()
  outboxes = new TestOutboxes(grid.store)
}

function verified(secret: string, { text, headers }: TakenNotice) {
  return new Verifier(secret).verify(text, headers as Record<string, string>)
}

/** The path of the webhooks page. */
const page = () => `/accounts/${grid.acme.id}/settings/account/webhooks`

const idsOf = ({ taken }: Webhook) => taken.map(({ headers }) => headers['webhook-id'])

/** Sets the time from which people may read messages between agents. */
const readSince = (at: number | null) =>
  grid.store.write([{ sql: 'UPDATE accounts SET people_read_since = ? WHERE id = ?', args: [at, grid.acme.id] }])

test('a message is sent once, signed, and without its text while people may not read it', async () => {
  const { hook, secret } = await webhook()
  grid.clock.now = Date.now()
  await readSince(null)
  await send('a private word')

  await step()
  await step()

  expect(hook.taken).toHaveLength(1)
  expect(verified(secret, hook.taken[0])).toMatchObject({ type: 'message', data: { from: '@alice', to: '@bob' } })
  expect(hook.taken[0].text).not.toContain('private word')
})

test('the text of messages between agents is sent once people may read them, but not for earlier messages', async () => {
  const { hook } = await webhook()
  await send('an old word')
  await readSince(grid.clock.now + 1)
  grid.clock.now += 1
  await send('a new word')

  await step()

  expect(hook.taken.map(({ body }) => body.data.text)).toEqual([undefined, 'a new word'])
})

test('rebuilding a projection does not send events again', async () => {
  const { hook } = await webhook()
  await send('one')
  await step()

  await grid.store.write([grid.store.global.conversations.startAgain(), grid.store.global.traffic.startAgain()])
  await step()

  expect(hook.taken).toHaveLength(1)
})

test("a receiver's response is shown on one line, without invisible characters", async () => {
  const text = `no\u001b[2J\r\n\u202egnorw\u200b\u{e0041} \u2066way${'x'.repeat(500)}\ud83d`
  await webhook(() => ({ status: 500, headers: {}, text }))
  await send('one')
  await step()

  expect((await listWebhooks(acme))[0].answers[0].text).toMatch(/^(?=.{200}$)no\[2J gnorw wayx+$/)
})

test('an event that was not accepted is sent again with its id, before later events', async () => {
  const answers: WebhookAnswer[] = [500, 204, 204]
  const { hook } = await webhook(() => answers.shift()!)
  await send('one')
  await send('two')
  await step()
  expect(hook.taken).toHaveLength(1)
  expect((await listWebhooks(acme))[0].answers).toMatchObject([{ status: 500, type: 'message' }])

  await step(6 * second)

  const [first, again, second_] = idsOf(hook)
  expect(again).toBe(first)
  expect(second_).not.toBe(first)
  expect(hook.taken).toHaveLength(3)
})

test('a hanging receiver does not delay others', async () => {
  const hanging = await webhook(() => 'hang')
  const { hook } = await webhook()
  for (const n of [1, 2, 3]) await send(`${n}`)
  await followLog(grid.store)
  await outboxes.run()

  await waitFor('the events of the other one', () => hook.taken.length === 3)

  expect(hanging.hook.taken).toHaveLength(1)
  await hanging.hook.close()
})

test('requests are signed with both secrets for a day after a rotation', async () => {
  const { hook, id, secret } = await webhook()
  grid.clock.now = Date.now()
  const { secret: fresh } = await rotateWebhook(acme, id)
  await testWebhook(acme, id)
  expect(verified(secret, hook.taken[0])).toMatchObject({ type: 'test' })
  expect(verified(fresh, hook.taken[0])).toMatchObject({ type: 'test' })

  const signatures = async (ms: number) => {
    grid.clock.now += ms
    await testWebhook(acme, id)
    return String(hook.taken.at(-1)!.headers['webhook-signature']).split(' ').length
  }
  expect([await signatures(day - 1), await signatures(1)]).toEqual([2, 1])
})

test('a receiver that fails for a day is paused, and pending events are sent when it is resumed', async () => {
  let status = 500
  const { hook, id } = await webhook(() => status)
  await send('one')
  await step()
  for (let n = 0; n < 30; n++) await step(hour + second)
  expect((await listWebhooks(acme))[0]).toMatchObject({
    waiting: 1,
    error: 'It has failed for 24 hours. It answered 500.',
  })
  const attention = `/accounts/${grid.acme.id}/attention`
  const paused = 'A webhook was paused, because its server failed'
  expect((await (await signedInByEmail(grid, 'ann@acme.example')).open(attention)).text).toContain(paused)
  const other = await signedInMember(grid, grid.acme, 'member')
  expect((await other.open(attention)).text).not.toContain(paused)

  status = 204
  await resumeWebhook(acme, id)
  await step()

  expect(new Set(idsOf(hook)).size).toBe(1)
  expect((await listWebhooks(acme))[0]).toMatchObject({ waiting: 0, error: null, pausedAt: null })
})

test('a receiver that fails occasionally is retried after 5 s, and not paused while it accepts events', async () => {
  let requests = 0
  const { hook } = await webhook(() => ++requests % 4 === 0 ? 503 : 204)
  for (let n = 0; n < 30; n++) await send(`${n}`)
  await step()
  for (let n = 0; n < 10; n++) await step(5 * second)
  expect(new Set(idsOf(hook)).size).toBe(30)

  // In this loop, each attempt delivers one event and then fails.
  for (let n = 0; n < 26; n++) {
    requests = 2
    for (const text of ['one', 'two']) await send(text)
    await step(hour)
  }

  expect(requests).toBe(4)
  expect((await listWebhooks(acme))[0]).toMatchObject({ pausedAt: null, failingSince: grid.clock.now })
})

test.each([404, 429, 503])('an event that gets the response %i is sent again', async (status) => {
  const answers = [status, 204]
  const { hook } = await webhook(() => answers.shift()!)
  await send('one')
  await step()
  expect((await listWebhooks(acme))[0]).toMatchObject({ waiting: 1, pausedAt: null, failingSince: grid.clock.now })

  await step(5 * second)

  expect(idsOf(hook)).toEqual(Array(2).fill(idsOf(hook)[0]))
  // Each attempt is signed with its own time, because receivers check the age of a signature.
  const times = hook.taken.map(({ headers, body }) => [Number(headers['webhook-timestamp']) * second, body.timestamp])
  const stored = new Date(grid.clock.now - 5 * second).toISOString()
  expect(times).toEqual([[grid.clock.now - 5 * second, stored], [grid.clock.now, stored]])
  expect((await listWebhooks(acme))[0]).toMatchObject({ waiting: 0, failingSince: null })
})

test('a response of 410 pauses the receiver immediately, and pending events are sent when it is resumed', async () => {
  let status = 410
  const { hook, id } = await webhook(() => status)
  await send('one')
  await send('two')
  await step()
  await step(hour)
  expect(hook.taken).toHaveLength(1)
  expect((await listWebhooks(acme))[0]).toMatchObject({
    waiting: 2,
    pausedAt: expect.any(Number),
    error: 'It answered 410.',
  })

  status = 204
  await resumeWebhook(acme, id)
  await step()

  expect(hook.taken.map(({ body }) => body.type)).toEqual(['message', 'message', 'message'])
  expect((await listWebhooks(acme))[0]).toMatchObject({ waiting: 0, pausedAt: null, error: null })
})

test('tasks and held messages are sent to webhooks that chose them and are not paused', async () => {
  const { hook } = await webhook(() => 204, ['task', 'held'])
  const { hook: paused, id: pausedId } = await webhook(() => 204, ['task', 'held'])
  const { hook: other } = await webhook(() => 204, ['message'])
  await pauseWebhook(acme, pausedId)
  const { id: taskId } = await askFor(storeOf(grid, grid.alice), 'a question')
  await callTool(grid, grid.bob.key, 'read_messages')
  await callTool(grid, grid.bob.key, 'update_task', { task_id: taskId, state: 'working', text: 'half' })
  await callTool(grid, grid.bob.key, 'update_task', { task_id: taskId, text: 'done' })
  await hold(grid.acme.store)
  const { text: { held, message_id } } = await send('wait')

  await followLog(grid.store)
  await resumeWebhook(acme, pausedId)
  await step()

  expect(hook.taken.map(({ body: { type, data } }) => [type, data])).toEqual([
    ...['submitted', 'working', 'completed'].map((state) => [
      'task',
      { task_id: taskId, message_id: expect.any(String), recipient: '@bob', state },
    ]),
    ['held', { held_id: expect.any(String), message_id, expires_at: isoTime(Date.parse(held.until)) }],
  ])
  expect(paused.taken).toEqual([])
  expect(other.taken.map(({ body }) => body.type)).toEqual(['message', 'message', 'message'])
})

test('both accounts of a task are notified', async () => {
  const { hook } = await webhook(() => 204, ['task'])
  const theirs = await startWebhook()
  hooks.push(theirs)
  const evil = grid.store.account(grid.evil.id, acme.actor)
  await createWebhook(evil, { url: theirs.url, events: ['task'] })
  await grid.evil.agent('desk', { visibility: 'public' })
  const { id } = await askFor(storeOf(grid, grid.alice), 'a question', { to: '@desk' })

  await step()

  for (const { taken } of [hook, theirs]) {
    expect(taken.map(({ body }) => body.data)).toMatchObject([{ task_id: id, recipient: '@desk', state: 'submitted' }])
  }
})

test('a webhook gets no events from before its creation, and none after its deletion', async () => {
  await send('before')
  grid.clock.now += second
  const { hook, id } = await webhook()
  await send('after')
  await step()
  expect(hook.taken).toHaveLength(1)

  await withoutLines(async () => {
    await send('waits')
    await followLog(grid.store)
    await deleteWebhook(acme, id)
  })
  await step()

  expect(hook.taken).toHaveLength(1)
})

test("a post's text is sent, but not the text of a redacted post or of a message to or from another account", async () => {
  await readSince(null)
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  const { hook } = await webhook()
  await send('a post', '#team')
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await send(`the ${secret}`, '#team')
  grid.clock.now += second
  await readSince(grid.clock.now)
  await grid.evil.agent('mallory', { visibility: 'public' }).then(async ({ key }) => {
    await send('to outside', '@mallory')
    await callTool(grid, key, 'send_message', { to: '@alice', message: 'from outside' })
  })

  await step()

  expect(hook.taken.map(({ body: { data } }) => [data.from, data.to, data.text])).toEqual([
    ['@alice', '#team', 'a post'],
    ['@alice', '#team', undefined],
    ['@alice', '@mallory', undefined],
    ['@mallory', '@alice', undefined],
  ])
})

test('a message event names its conversation and the message it replies to', async () => {
  const { hook } = await webhook()
  const one = { to: '@bob', message: 'one', conversation_id: 'plan' }
  const { body: { message_id } } = await callRest(grid, grid.alice.key, 'POST /api/v1/messages', one)
  await callTool(grid, grid.bob.key, 'send_message', { to: '@alice', message: 'two', reply_to_message_id: message_id })

  await step()

  expect(hook.taken.map(({ body: { data } }) => data)).toMatchObject([
    { message_id, conversation_id: 'plan', reply_to: null },
    { from: '@bob', to: '@alice', conversation_id: 'plan', reply_to: message_id },
  ])
})

test('the page shows the last 10 responses, newest first', async () => {
  let n = 0
  const { id } = await webhook(() => ({ status: 200, headers: {}, text: String(++n) }))
  for (let n = 0; n < 12; n++) await testWebhook(acme, id)

  const [{ answers }] = await listWebhooks(acme)
  expect(answers.map(({ text }) => Number(text))).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
})

test('the page of a paused webhook warns that events during the pause are lost, and they are', async () => {
  const { hook, id } = await webhook()
  await withoutLines(async () => {
    await send('before')
    await followLog(grid.store)
    await pauseWebhook(acme, id)
  })
  await send('during')
  await step()
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const { text } = await ann.open(page())
  expect(text).toContain('Events since then are not recorded and will not be sent.')
  expect(hook.taken).toEqual([])

  await testWebhook(acme, id)
  expect(hook.taken.map(({ body }) => body.type)).toEqual(['test'])
  await resumeWebhook(acme, id)
  await step()

  expect(hook.taken.map(({ body }) => body.type)).toEqual(['test', 'message'])
})

test('a test event is sent immediately, its response is shown, and pending events follow if it is accepted', async () => {
  let answer: WebhookAnswer = { status: 500, headers: {}, text: 'out of <order>\nat line 3' }
  const { hook, id } = await webhook(() => answer)
  await send('one')
  for (let n = 0; n < 4; n++) await step(minute)
  const { answers: { length } } = (await listWebhooks(acme))[0]
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const show = async () => (await ann.submit(page(), {}, `${page()}/${id}/test`)).text

  expect(await show()).toMatch(
    /The test event was not delivered\. It answered 500 after \d+ ms: “ out of <order> at line 3 ”\./,
  )
  answer = 204
  expect(await show()).toMatch(/The test event was delivered\. It answered 204 after \d+ ms\./)
  expect((await listWebhooks(acme))[0].answers).toHaveLength(length + 2)
  await step()

  expect(hook.taken.map(({ body }) => body.type).slice(length)).toEqual(['test', 'test', 'message'])
})

test('the page lists a failing webhook first, with the reason, the start of the failures and the next attempt', async () => {
  await webhook()
  const { hook } = await webhook(() => ({ status: 503, headers: {}, text: 'try later' }))
  await send('one')
  await step()
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const shown = async () => (await ann.open(page())).text

  expect(await shown()).toMatch(
    /Failing.*It answered 503\. “try later”.* 1 attempt\. The next attempt is in a moment.* On Events .*New webhook/,
  )
  await hook.close()
  await step(6 * second)
  expect(await shown()).toContain('It refused the connection. It has been failing for 6 s, 2 attempts.')
  expect((await ann.open(`/accounts/${grid.acme.id}/settings/account`)).text).toContain('2 webhooks, 1 failing')
})

test('an invalid URL and an eleventh webhook are refused', async () => {
  await expect(createWebhook(acme, { url: 'ftp://example.org', events: ['message'] })).rejects.toThrow()
  for (let n = 0; n < 10; n++) await createWebhook(acme, { url: 'https://example.org/hook', events: ['held'] })

  await expect(createWebhook(acme, { url: 'https://example.org/hook', events: ['held'] })).rejects.toThrow('at most 10')
})

test('only owners and admins can manage webhooks, and creating one requires a recent confirmation', async () => {
  const { id } = await createWebhook(acme, { url: 'https://example.org/hook', events: ['held'] })
  const { account } = await member(grid, { role: 'member' })
  const input = { url: 'https://example.org/other', events: ['held'] }
  const verbs = [
    ...[listWebhooks, (one: AccountStore) => createWebhook(one, input)],
    ...[rotateWebhook, pauseWebhook, resumeWebhook, deleteWebhook, testWebhook].map((verb) => (one: AccountStore) =>
      verb(one, id)
    ),
  ]
  for (const verb of verbs) await expect(verb(account)).rejects.toMatchObject({ code: 'not_allowed' })

  const { account: admin } = await member(grid, { role: 'admin' })
  grid.clock.now += hour
  await expect(createWebhook(admin, input)).rejects.toMatchObject({ code: 'confirmation_required' })
  expect(await listWebhooks(admin)).toHaveLength(1)
})

test('an attention event is sent once, again when the problem gets much worse, and again when it recurs', async () => {
  const { hook } = await webhook(() => 204, ['attention'])
  const told = () => hook.taken.map(({ body }) => body)
  const waits = async (unread: number) => {
    for (let n = 0; n < unread; n++) await send('canary of a text')
    grid.clock.now += 2 * hour
    // The two calls stand for two processes.
    await Promise.all([notifyWebhooks(grid.store), notifyWebhooks(grid.store)])
    await step()
  }
  await waits(1)
  expect(told()).toMatchObject([
    { type: 'attention', data: { kind: 'unread', subject: grid.bob.id, agents: ['@bob'], level: 1 } },
  ])
  expect(hook.taken[0].text).not.toContain('canary')

  await waits(1)
  await waits(1)
  await waits(1)
  await callTool(grid, grid.bob.key, 'read_messages')
  await waits(0)
  await waits(1)

  expect(told().map(({ data }) => [data.kind, data.level])).toEqual([
    ...[['unread', 1], ['unread', 2], ['unread', 4]],
    ['unread', 1],
  ])
})

test('a failing webhook is in Attention after three failures, and other webhooks are notified once after an hour', async () => {
  await webhook(() => 503, ['message'])
  const { hook } = await webhook(() => 204, ['attention'])
  const attention = async () => {
    const ann = await signedInByEmail(grid, 'ann@acme.example')
    return (await ann.open(`/accounts/${grid.acme.id}/attention`)).text
  }
  await send('one')
  await step()
  await step(5 * second)
  expect(await attention()).not.toContain('A webhook has been failing')
  await step(minute)
  expect(await attention()).toContain('A webhook has been failing for 1 min')
  const look = async (ms: number) => {
    await step(ms)
    await notifyWebhooks(grid.store)
    await step()
    return hook.taken.filter(({ body }) => body.data.kind === 'webhook').length
  }
  expect([await look(0), await look(hour), await look(hour), await look(hour)]).toEqual([0, 1, 1, 1])
})

test('invalid input is refused before a confirmation is requested', async () => {
  const { account: admin } = await member(grid, { role: 'admin' })
  grid.clock.now += hour
  for (const input of [{ url: 'ftp://example', events: ['message'] }, { url: 'https://hooks.example', events: [] }]) {
    await expect(createWebhook(admin, input)).rejects.toMatchObject({ code: 'invalid_input' })
  }
})

test('a failed backup is sent once to webhooks that subscribed to it', async () => {
  const { hook } = await webhook(() => 204, ['backup'])
  const { hook: other } = await webhook(() => 204, ['message', 'attention'])
  const at = grid.clock.now
  const tell = async (failed?: { at: number; reason: string }) => {
    grid.store.backups = { made: undefined, failed }
    await notifyWebhooks(grid.store)
    await step(second)
  }
  await tell()
  await tell({ at, reason: 'a path of the operator' })
  await tell({ at, reason: 'a path of the operator' })
  await tell({ at: at + hour, reason: 'a path of the operator' })

  expect(hook.taken.map(({ body }) => [body.type, body.data])).toEqual([
    ['backup', { failed_at: isoTime(at) }],
    ['backup', { failed_at: isoTime(at + hour) }],
  ])
  expect(other.taken).toEqual([])
})

test('a paused webhook gets no attention events, even after it is resumed', async () => {
  const { hook, id } = await webhook(() => 204, ['attention'])
  await send('hello')
  await pauseWebhook(acme, id)
  grid.clock.now += 2 * hour
  await notifyWebhooks(grid.store)
  await resumeWebhook(acme, id)
  await step()

  expect(hook.taken).toEqual([])
})

test("a person's messages are sent to a host only once they consent, and between two people once both do", async () => {
  await readSince(grid.clock.now)
  const ann = await personWithAlias(grid, 'ann')
  const ben = await personWithAlias(grid, 'ben')
  const { hook } = await webhook()
  const { hook: elsewhere } = await webhook()
  const service = { provider: 'events', host: new URL(hook.url).host }
  const said = async () => {
    grid.clock.now += second
    await send('of an agent', '@ann')
    await sendMessage(ann.account, ann.personAlias, { to: '@ben', text: 'of ann' })
    await step()
    return hook.taken.splice(0).map(({ body }) => body.data.text)
  }

  expect(await said()).toEqual([undefined, undefined])
  // Consent to guardrails with the same host does not count.
  const { guardrails } = acme.change
  await acme.write(guardrails.consent(ann.personAlias.agentId, { ...service, provider: 'webhook' }, grid.clock.now))
  expect(await said()).toEqual([undefined, undefined])
  await send('of an agent, before', '@ann')
  grid.clock.now += second
  await allowService(ann.account, service)
  await step()
  expect(hook.taken.splice(0).map(({ body }) => body.data.text)).toEqual([undefined])
  expect(await said()).toEqual(['of an agent', undefined])
  await allowService(ben.account, service)
  expect(await said()).toEqual(['of an agent', 'of ann'])
  await disallowService(ann.account, service)
  expect(await said()).toEqual([undefined, undefined])
  expect(elsewhere.taken.length).toBeGreaterThan(8)
  expect(elsewhere.taken.every(({ body }) => body.data.text === undefined)).toBe(true)
})

test("a deleted account's webhooks send nothing until the account is restored", async () => {
  const { hook } = await webhook()
  await withoutLines(async () => {
    await send('hello')
    await followLog(grid.store)
    await deleteAccount(grid.acme.store, { name: 'Acme' })
  })

  await step(minute)
  expect(hook.taken).toEqual([])
  await restoreAccount(grid.acme.store)
  await step(minute)
  expect(hook.taken.length).toBe(1)
})

test('webhooks whose worker was removed and restored send the events that were pending, but none from the meantime', async () => {
  const { hook } = await webhook()
  const names = gridFollowers(grid.store).map(({ name }) => name)
  const { keep } = grid.store.global.pulses
  await withoutLines(async () => {
    await send('before')
    await followLog(grid.store)
    await grid.store.write(keep(names.filter((name) => !name.startsWith('webhook'))))
    await send('without them')
    await askFor(storeOf(grid, grid.alice), 'a task without them')
    await grid.store.write(keep(names))
    await grid.store.write(keep(names))
    await send('after')
  })

  await step()
  expect(hook.taken.map(({ body }) => body.type)).toEqual(['message', 'message'])
})

test('an outbox that is paused or whose account is deleted is not due', async () => {
  const { id } = await webhook()
  const dueAt = async () => (await grid.store.global.pulses.read()).due.get('webhook outboxes')
  await withoutLines(async () => {
    await send('hello')
    await followLog(grid.store)

    expect(await dueAt()).toBe(grid.clock.now)
    await pauseWebhook(acme, id)
    expect(await dueAt()).toBeUndefined()
    await resumeWebhook(acme, id)
    await deleteAccount(grid.acme.store, { name: 'Acme' })
    expect(await dueAt()).toBeUndefined()
  })
})

test('a pending event counts as a due request', async () => {
  await webhook()
  await withoutLines(async () => {
    await send('hello')
    await followLog(grid.store)

    expect(await grid.store.feature(figures).waiting(grid.clock.now)).toMatchObject({ dueOutboxes: 1 })
  })
})

test('the search box finds the webhooks page', async () => {
  const ann = await signedInByEmail(grid, 'ann@acme.example')

  const { html } = await ann.open(`/accounts/${grid.acme.id}/jump?q=webhook`)

  expect(html).toMatch(/^<div><ul[^>]*><li><a href="[^"]*\/webhooks"/)
})
