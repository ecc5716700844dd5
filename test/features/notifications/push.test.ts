/** Browser notifications: when they are sent, their content, and failed attempts. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { approve } from '../../../src/grid/approvals/decide.ts'
import { heldMessage, heldMessages } from '../../../src/grid/approvals/held.ts'
import { createApprovalRule } from '../../../src/grid/approvals/rules.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { markRead } from '../../../src/grid/conversations/marks.ts'
import { dismissQuestion, questionsOf } from '../../../src/grid/conversations/questions.ts'
import { listThreads } from '../../../src/grid/conversations/threads.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { notificationTables } from '../../../src/features/notifications/store.ts'
import { subscribe } from '../../../src/features/notifications/subscriptions.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { newKeyRing } from '../../../src/lib/key-ring.ts'
import { day, hour, minute, second } from '../../../src/lib/time.ts'
import { batchMs, PushNotifier, quietMs } from '../../../src/features/notifications/push-notifier.ts'
import { followLog, gridFollowers } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type PushAnswer, type PushService, startPushService } from '../../support/push-service.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let service: PushService
  let ann: PersonWithAlias
  let alice: AccountStore
  beforeEach(async () => {
    grid = await open({ env: { ALLOW_PRIVATE_TARGETS: '1', GRID_KEYS: newKeyRing() } })
    service = await startPushService()
    ann = await personWithAlias(grid, 'ann-lee')
    alice = storeOf(grid, grid.alice)
    await subscribe(grid.store, ann.account, service.subscription())
  })
  afterEach(async () => {
    await service.close()
    await grid.close()
  })

  /** Advances the clock and runs the worker. Resolves to the notifications sent since the last call. */
  async function after(ms: number) {
    grid.clock.now += ms
    await followLog(grid.store)
    const notifier = new PushNotifier(grid.store, new AbortController().signal)
    await notifier.run()
    await notifier.settled()
    return service.taken.splice(0).map(({ shown }) => shown)
  }
  const subscriptions = () => rows(grid, 'SELECT * FROM push_subscriptions WHERE account_id = ?', [grid.acme.id])
  const notices = () => rows(grid, 'SELECT * FROM push_notices WHERE account_id = ?', [grid.acme.id])
  /** Sends a message whose notification gets these responses. Resolves to how many attempts followed each wait. */
  async function triesOf(answers: PushAnswer[], waits: number[]): Promise<number[]> {
    service.answers.push(...answers)
    await say(grid, alice, 'ann-lee', 'a secret text')
    const sent = []
    for (const wait of waits) sent.push((await after(wait)).length)
    return sent
  }

  test('a notification says who wrote in which account, without the text', async () => {
    await say(grid, alice, 'ann-lee', 'a secret text')
    expect(await after(0)).toEqual([])
    grid.clock.now += quietMs
    const notifier = new PushNotifier(grid.store, new AbortController().signal)
    await notifier.run()
    await notifier.settled()

    const [{ id }] = (await listThreads(ann.account, {})).threads
    const path = `/accounts/${grid.acme.id}/conversations/${id}?show=you`
    const [{ headers, claims, publicKey, shown }] = service.taken.splice(0)
    expect(shown).toEqual({ title: '@alice', body: 'A new message in Acme', tag: `${grid.acme.id}:${id}`, path })
    expect(headers).toMatchObject({
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: '86400',
      urgency: 'high',
    })
    expect(claims.aud).toBe(service.url)
    expect(publicKey).toBe((await rows(grid, 'SELECT public_key FROM push_keys'))[0].public_key)
    expect((await subscriptions())[0]).toMatchObject({ last_success_at: grid.clock.now, failures: 0 })
    expect(await after(day)).toEqual([])
  })

  test('messages that are not yet assigned to a conversation are announced later', async () => {
    const follower = gridFollowers(grid.store).find(({ name }) => name === 'browser messages')!
    const pulse = await grid.store.global.pulses.read()

    expect(follower.end({ ...pulse, messages: 9, positions: new Map([['conversations', 4]]) })).toBe(4)
  })

  test("a notification announces messages that wait for the person's decision, without their text", async () => {
    await createApprovalRule(grid.acme.store, { name: 'all', from: 'any', to: '@bob', deciders: [ann.person.id] })
    await createApprovalRule(grid.acme.store, { name: 'owners', from: 'any', to: '@alice' })
    const send = (from: AccountStore, to: string) => sendMessage(from, { to, text: 'a secret text' })
    await send(alice, 'bob')
    await send(storeOf(grid, grid.bob), 'alice')

    expect(await after(quietMs)).toEqual([{
      title: '@alice',
      body: 'A message waits for your decision in Acme',
      ...{ tag: `${grid.acme.id}:held`, path: `/accounts/${grid.acme.id}/held` },
    }])
    expect(await after(batchMs)).toEqual([])
    await send(alice, 'bob')
    expect((await after(quietMs)).map(({ body }) => body)).toEqual(['2 messages wait for your decision in Acme'])

    await send(alice, 'bob')
    for (const { id } of await heldMessages(ann.account)) {
      await approve(ann.account, { id, hash: (await heldMessage(ann.account, id)).hash })
    }
    expect(await after(day)).toEqual([])
  })

  test('a person is notified of a question with choices even if they have written since', async () => {
    const choices = ['Yes', 'No']
    await sendMessage(alice, { to: 'ann-lee', text: 'a secret text', choices })
    await say(grid, alice, 'ann-lee', 'another')
    await writeMessage(ann.account, { to: 'alice', text: 'Let me look' })
    await followLog(grid.store)

    expect(await after(quietMs)).toMatchObject([{ title: '@alice', body: 'A new message in Acme' }])
  })

  test('several processes together send one notification', async () => {
    await say(grid, alice, 'ann-lee', 'hello')
    grid.clock.now += quietMs
    const notifiers = [1, 2, 3].map(() => new PushNotifier(grid.store, new AbortController().signal))
    await Promise.all(notifiers.map((notifier) => notifier.run()))
    await Promise.all(notifiers.map((notifier) => notifier.settled()))

    expect(service.taken.length).toBe(1)
  })

  test('a person is notified of a message that was read but not answered', async () => {
    const { id } = await say(grid, alice, 'ann-lee', 'hello')
    await new PushNotifier(grid.store, new AbortController().signal).run()
    await markRead(ann.account, [id])

    expect((await after(quietMs)).map(({ body }) => body)).toEqual(['A new message in Acme'])
  })

  test('a message answered or dismissed within a few seconds causes no notification', async () => {
    await say(grid, alice, 'ann-lee', 'hello')
    await say(grid, storeOf(grid, grid.bob), 'ann-lee', 'hello')
    expect(await after(quietMs - 1)).toEqual([])
    await writeMessage(ann.account, { to: 'alice', text: 'yes' })
    await followLog(grid.store)
    const [{ threadId, seq }] = await questionsOf(ann.account)
    await dismissQuestion(ann.account, threadId, seq)

    expect(await after(hour)).toEqual([])
    expect((await notices()).map(({ due_at }) => due_at)).toEqual([null, null])
  })

  test('a conversation is announced at most once a minute, with all its new messages', async () => {
    await say(grid, alice, 'ann-lee', 'one')
    expect((await after(quietMs)).map(({ body }) => body)).toEqual(['A new message in Acme'])
    await say(grid, alice, 'ann-lee', 'two')
    await say(grid, alice, 'ann-lee', 'three')
    expect(await after(batchMs - 1)).toEqual([])

    expect((await after(1)).map(({ body }) => body)).toEqual(['2 new messages in Acme'])
    // A notification about another thread does not wait.
    await say(grid, storeOf(grid, grid.bob), 'ann-lee', 'four')
    expect((await after(quietMs)).map(({ title }) => title)).toEqual(['@bob'])
  })

  test('a message that arrives while a notification is being sent is announced a minute later', async () => {
    await say(grid, alice, 'ann-lee', 'one')
    service.answers.push(async (response) => {
      await say(grid, alice, 'ann-lee', 'two')
      await followLog(grid.store)
      response.writeHead(201).end()
    })
    expect((await after(quietMs)).map(({ body }) => body)).toEqual(['A new message in Acme'])

    expect(await after(batchMs - 1)).toEqual([])
    expect((await after(1)).map(({ body }) => body)).toEqual(['A new message in Acme'])
  })

  test('channel posts, messages to others and messages from before the subscription cause no notification', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'ann-lee'] })
    await say(grid, alice, '#general', 'a post')
    await say(grid, alice, 'bob', 'to another')
    expect(await after(hour)).toEqual([])

    const zoe = await personWithAlias(grid, 'zoe-lee')
    await say(grid, alice, 'zoe-lee', 'before')
    await subscribe(grid.store, zoe.account, service.subscription('/zoe'))
    await say(grid, alice, 'zoe-lee', 'after')
    expect((await after(hour)).map(({ body }) => body)).toEqual(['A new message in Acme'])
  })

  test.each([404, 410])('a browser that the push service does not know is removed: %i', async (status) => {
    expect(await triesOf([{ status }], [quietMs, day])).toEqual([1, 0])
    expect([...await subscriptions(), ...await notices()]).toEqual([])
  })

  test.each([
    ['a number', (_now: number) => '300'],
    ['a date', (now: number) => new Date(now + quietMs + 300 * second).toUTCString()],
  ])('a notification is retried at the time that an overloaded push service gives as %s', async (_, retryAfter) => {
    const answer = { status: 429, headers: { 'Retry-After': retryAfter(grid.clock.now) } }
    expect(await triesOf([answer], [quietMs, 300 * second - 1, 1, day])).toEqual([1, 0, 1, 0])
  })

  test('a notification is retried at growing intervals, and then given up', async () => {
    const fails = Array<PushAnswer>(5).fill({ status: 500 })
    const waits = [quietMs, 10 * second - 1, 1, minute, 5 * minute, hour, day]

    expect(await triesOf(fails, waits)).toEqual([1, 0, 1, 1, 1, 1, 0])
    expect((await subscriptions())[0]).toMatchObject({ failures: 1, last_success_at: null })
  })

  test.each<[string, PushAnswer]>([
    ['a redirect', { status: 307, headers: { Location: 'https://push.example/' } }],
    ['a refusal', { status: 403 }],
  ])('a permanent failure is not retried, and a browser that always fails is removed: %s', async (_, answer) => {
    for (let n = 0; n < 5; n++) {
      expect((await subscriptions()).length).toBe(1)
      expect(await triesOf([answer], [hour, hour])).toEqual([1, 0])
    }
    expect(await subscriptions()).toEqual([])
  })

  test('a pending request is aborted when the process stops, and retried later', async () => {
    service.answers.push(() => {})
    await say(grid, alice, 'ann-lee', 'hello')
    grid.clock.now += quietMs
    const stopping = new AbortController()
    const notifier = new PushNotifier(grid.store, stopping.signal)
    await notifier.run()
    stopping.abort()
    await notifier.settled()

    expect(service.taken.length).toBeLessThanOrEqual(1)
    service.answers.length = 0
    service.taken.length = 0
    expect((await after(10 * second)).length).toBe(1)
  })

  test("another process sends a killed process's notification", async () => {
    await say(grid, alice, 'ann-lee', 'hello')
    await followLog(grid.store)
    const [{ subscription_id, thread_id, due_at }] = await notices()
    const notice = { subscriptionId: String(subscription_id), threadId: Number(thread_id), kind: 'message' as const }
    const { change: notifications } = grid.acme.store.feature(notificationTables)
    const until = grid.clock.now + quietMs + minute
    await grid.acme.store.write([
      notifications.claim(notice, Number(due_at), until),
    ])

    expect(await after(quietMs + minute - 1)).toEqual([])
    expect((await after(1)).length).toBe(1)
  })

  test('a push service whose address becomes private gets no requests', async () => {
    await grid.close()
    grid = await open({ env: { GRID_KEYS: newKeyRing() } })
    ann = await personWithAlias(grid, 'ann-lee')
    await expect(subscribe(grid.store, ann.account, service.subscription())).rejects.toMatchObject({
      code: 'invalid_input',
    })
    const named = { ...service.subscription(), endpoint: 'https://push.example/1' }
    await subscribe(grid.store, ann.account, named)
    const args = [service.url.replace('http:', 'https:'), grid.acme.id]
    await grid.store.write([{ sql: 'UPDATE push_subscriptions SET endpoint = ? WHERE account_id = ?', args }])
    await say(grid, storeOf(grid, grid.alice), 'ann-lee', 'hello')

    expect(await after(hour)).toEqual([])
    expect((await subscriptions())[0]).toMatchObject({ failures: 1 })
  })
})
