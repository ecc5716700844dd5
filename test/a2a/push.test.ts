/** Push notifications of tasks: registration, requests, and webhooks that fail. */
import { StreamResponse } from '@a2a-js/sdk'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { outboxAttempts } from '../../src/app.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { day, hour, minute, second } from '../../src/lib/time.ts'
import { createSafeStream } from '../../src/lib/outbound/safe-stream.ts'
import { sweep } from '../../src/worker/retention.ts'
import { endpoint, endpointOf, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { waitFor } from '../support/wait-for.ts'
import { claimAgents, signUpAs } from '../support/signup.ts'
import { noticeInShort, startWebhook, type Webhook, type WebhookAnswer } from '../support/webhook.ts'
import { TestOutboxes } from '../support/outboxes.ts'

let grid: TestGrid
let outboxes: TestOutboxes
let hooks: Webhook[]
beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  outboxes = new TestOutboxes(grid.store, outboxAttempts(grid.store))
  hooks = []
})
afterEach(async () => {
  await outboxes.stop()
  await Promise.all(hooks.map((hook) => hook.close()))
  await grid.close()
})

/** Starts a webhook that gives these responses, and then 204. */
async function webhook(...answers: WebhookAnswer[]): Promise<Webhook> {
  const hook = await startWebhook(() => answers.shift() ?? 204)
  hooks.push(hook)
  return hook
}

const call = async (method: string, params: object, { key = grid.alice.key, path = endpoint } = {}) =>
  (await postA2a(grid, key, request(method, params), {}, path)).body
const set10 = async (taskId: string, config: object) =>
  (await call('CreateTaskPushNotificationConfig', { taskId, ...config })).result

/** Sends a message from Alice to Bob with this configuration. Returns the task's id. */
async function newTask(configuration: object = { returnImmediately: true }): Promise<string> {
  const { body } = await postA2a(grid, grid.alice.key, send10({}, { configuration }))
  return body.result.task.id
}

/** Advances the clock and sends what is due. */
async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await outboxes.run()
  await outboxes.settled()
}

/** Reads the task as Bob and completes it, after sending any chunks of text. */
async function answer(taskId: string, chunks: string[] = []): Promise<void> {
  await inboxOf(grid, grid.bob)
  const bob = storeOf(grid, grid.bob)
  for (const [n, text] of chunks.entries()) {
    await updateTask(bob, { taskId, text, artifact: { id: 'a', append: n > 0 } })
  }
  await updateTask(bob, { taskId, state: 'completed' })
}

/** Returns the columns that show whether the grid has given up on the task's webhook. */
async function endOf(id: string) {
  const columns = 'ended_at, claimed_by, due_at'
  const [row] = await rows(grid, `SELECT ${columns} FROM task_push_configs WHERE account_id = ? AND task_id = ?`, [
    grid.acme.id,
    id,
  ])
  return { ...row }
}

const shown = ({ taken }: Webhook) => taken.map(noticeInShort)
const idsOf = ({ taken }: Webhook) => taken.map(({ headers }) => headers['a2a-notification-id'])

test('a 1.0 webhook gets each event after its registration as a StreamResponse, in order', async () => {
  const hook = await webhook()
  const id = await newTask()
  const { id: configId } = await set10(id, {
    url: hook.url,
    token: 'a token',
    authentication: { scheme: 'Bearer', credentials: 'a credential' },
  })

  await answer(id, ['one', 'two'])
  await step()

  expect(shown(hook)).toEqual(['working', 'one', 'two', 'completed'])
  expect(hook.taken[0].body).toEqual({
    statusUpdate: {
      taskId: id,
      contextId: expect.any(String),
      status: { state: 'TASK_STATE_WORKING', timestamp: '2026-11-21T09:00:00.000Z' },
    },
  })
  expect(hook.taken.map(({ body }) => StreamResponse.fromJSON(body).payload!.$case))
    .toEqual(['statusUpdate', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'])
  for (const { headers } of hook.taken) {
    expect(headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
      authorization: 'Bearer a credential',
      'x-a2a-notification-token': 'a token',
      'idempotency-key': headers['a2a-notification-id'],
    })
  }
  expect(new Set(idsOf(hook)).size).toBe(4)
  expect(configId).toEqual(expect.any(String))
})

test('a 0.3 webhook gets the complete task as it was at each event', async () => {
  const hook = await webhook()
  const id = await newTask()
  const url = hook.url
  const pushNotificationConfig = { url, authentication: { schemes: ['Basic'], credentials: 'YTpi' } }
  await call('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig })

  await answer(id, ['one', 'two'])
  await postA2a(grid, grid.alice.key, send10({ taskId: id }))
  await step()

  expect(shown(hook)).toEqual(['working', 'working one', 'working one two', 'completed one two'])
  expect(hook.taken[1].body).toMatchObject({ kind: 'task', id, history: [{ kind: 'message', role: 'user' }] })
  expect(hook.taken[0].headers).toMatchObject({
    'content-type': 'application/json',
    'a2a-version': '0.3',
    authorization: 'Basic YTpi',
  })
})

test.each<WebhookAnswer>([500, 404, 302, { status: 307, headers: { location: 'http://127.0.0.1:1/' } }])(
  'after %o a notification is retried with the same id, and later notifications wait',
  async (status) => {
    const hook = await webhook(status, status)
    const id = await newTask()
    await set10(id, { url: hook.url })

    await answer(id)
    await step()
    await step(4 * second)
    expect(shown(hook)).toEqual(['working'])
    await step(1 * second)
    await step(30 * second)

    expect(shown(hook)).toEqual(['working', 'working', 'working', 'completed'])
    const [first, second_, third, next] = idsOf(hook)
    expect([second_, third]).toEqual([first, first])
    expect(next).not.toBe(first)
  },
)

test('an accepted notification resets the retry delays', async () => {
  const hook = await webhook(500, 500, 204, 500)
  const id = await newTask()
  await set10(id, { url: hook.url })
  await answer(id)

  for (const wait of [0, 5 * second, 30 * second, 5 * second]) await step(wait)

  expect(shown(hook)).toEqual(['working', 'working', 'working', 'completed', 'completed'])
})

test('a webhook that always fails is retried for a day, then gets no more requests, and can still be read', async () => {
  const hook = await webhook(...Array(100).fill(500))
  const id = await newTask()
  const { id: configId } = await set10(id, { url: hook.url })
  await answer(id)

  await step()
  for (const wait of [5 * second, 30 * second, 2 * minute, 10 * minute]) await step(wait)
  expect(hook.taken.length).toBe(5)
  for (let hours = 0; hours < 30; hours++) await step(hour)

  expect(hook.taken.length).toBe(5 + 24)
  expect(await endOf(id)).toEqual({ ended_at: grid.clock.now - 6 * hour, claimed_by: null, due_at: null })
  expect((await call('GetTaskPushNotificationConfig', { taskId: id, id: configId })).result.url).toBe(hook.url)
})

test('a webhook that responds with 410 gets no more notifications', async () => {
  const hook = await webhook(410)
  const id = await newTask()
  await set10(id, { url: hook.url })

  await answer(id)
  await step()
  const endedAt = grid.clock.now
  await step(day)

  expect(shown(hook)).toEqual(['working'])
  expect(await endOf(id)).toEqual({ ended_at: endedAt, claimed_by: null, due_at: null })
})

test("a failing path on a server does not pause the server's other paths", async () => {
  const hook = await startWebhook(({ path }) => path === '/hook' ? 204 : 404)
  hooks.push(hook)
  const tasks = [await newTask(), await newTask(), await newTask(), await newTask()]
  for (const [n, id] of tasks.entries()) await set10(id, { url: n < 3 ? `${hook.url}/${n}` : hook.url })
  const bob = storeOf(grid, grid.bob)

  for (const taskId of tasks) {
    await updateTask(bob, { taskId, state: 'completed' })
    await step()
  }

  expect(hook.taken.map(({ path }) => path)).toEqual(['/hook/0', '/hook/1', '/hook/2', '/hook'])
})

test('a deleted webhook immediately stops getting events, and other webhooks continue', async () => {
  const id = await newTask()
  const url = '/a2a/v1/grid/tasks'
  const deleted = await startWebhook(async () => {
    await grid.request(`${url}/${id}/pushNotificationConfigs/one`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${grid.alice.key}` },
    })
    return 204
  })
  const kept = await webhook()
  hooks.push(deleted)
  await set10(id, { id: 'one', url: deleted.url })
  await set10(id, { id: 'two', url: kept.url })

  await answer(id)
  await step()

  expect(shown(deleted)).toEqual(['working'])
  expect(shown(kept)).toEqual(['working', 'completed'])
})

test('a webhook that replaces one with the same id gets only events after the replacement', async () => {
  const [before, after] = [await webhook(500), await webhook()]
  const id = await newTask()
  await set10(id, { id: 'one', url: before.url })
  await inboxOf(grid, grid.bob)
  await step()
  await set10(id, { id: 'one', url: after.url })

  await updateTask(storeOf(grid, grid.bob), { taskId: id, state: 'completed' })
  await step(day)

  expect([shown(before), shown(after)]).toEqual([['working'], ['completed']])
})

test('with the scheme Bearer and no credentials, a notification has a signed token for its body that the published keys verify', async () => {
  const hook = await webhook()
  const id = await newTask()
  await set10(id, { url: hook.url, authentication: { scheme: 'Bearer' } })

  await inboxOf(grid, grid.bob)
  await step()

  const [{ headers, text }] = hook.taken
  const token = headers.authorization!.replace('Bearer ', '')
  const keys = createLocalJWKSet(await (await grid.request('/.well-known/jwks.json')).json())
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: grid.deps.config.baseUrl,
    audience: new URL(hook.url).origin,
    typ: 'JWT',
    currentDate: new Date(grid.clock.now),
    maxTokenAge: '1m',
    requiredClaims: ['exp', 'jti'],
  })
  expect(protectedHeader.alg).toBe('ES256')
  expect(payload).toMatchObject({
    taskId: id,
    request_body_sha256: createHash('sha256').update(text).digest('hex'),
    exp: grid.clock.now / 1000 + 300,
  })
})

test('with any other scheme and no credentials, a notification has no Authorization header', async () => {
  const hook = await webhook()
  await set10(await newTask(), { url: hook.url, authentication: { scheme: 'Basic' } })

  await inboxOf(grid, grid.bob)
  await step()

  expect(hook.taken.map(({ headers }) => headers.authorization)).toEqual([undefined])
})

test("a webhook's secrets are never returned, and never stored in plain text", async () => {
  const id = await newTask()
  const url = 'https://x.example/hook'
  const secrets = { token: 's3cret-token', authentication: { scheme: 'Bearer', credentials: 's3cret-credential' } }
  const shown10 = { taskId: id, id: 'one', url, authentication: { scheme: 'Bearer' } }
  const shown03 = { taskId: id, pushNotificationConfig: { id: 'one', url, authentication: { schemes: ['Bearer'] } } }

  expect(await set10(id, { id: 'one', url, ...secrets })).toEqual(shown10)
  expect((await call('GetTaskPushNotificationConfig', { taskId: id, id: 'one' })).result).toEqual(shown10)
  expect((await call('GetTaskPushNotificationConfig', { taskId: id, id: 'two' })).error).toMatchObject({
    code: -32001,
    data: [{ metadata: { taskId: id } }],
  })
  expect((await call('ListTaskPushNotificationConfigs', { taskId: id })).result).toEqual({ configs: [shown10] })
  expect((await call('tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'one' })).result)
    .toEqual(shown03)
  expect((await call('tasks/pushNotificationConfig/list', { id })).result).toEqual([shown03])
  const stored = await rows(grid, 'SELECT * FROM task_push_configs WHERE account_id = ?', [grid.acme.id])
  expect(JSON.stringify(stored)).not.toContain('s3cret')
  expect(grid.logs.join()).not.toContain('s3cret')
})

test('a 0.3 configuration without an id is the default one, and can be replaced and read without an id', async () => {
  const id = await newTask()
  const set = (url: string) => call('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url } })
  await set10(id, { id: 'older', url: 'https://x.example/older' })
  await set('https://x.example/1')
  await set('https://x.example/2')

  const { result } = await call('tasks/pushNotificationConfig/get', { id })
  expect(result.pushNotificationConfig).toEqual({ id: 'default', url: 'https://x.example/2' })
  expect((await call('tasks/pushNotificationConfig/list', { id })).result).toHaveLength(2)
  expect((await call('tasks/pushNotificationConfig/delete', { id })).error.code).toBe(-32602)
  expect((await call('tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'default' })).result)
    .toBe(null)
  expect((await call('tasks/pushNotificationConfig/get', { id })).result.pushNotificationConfig.id).toBe('older')
})

test('over HTTP+JSON a webhook can be set, read, listed and deleted repeatedly, even with a colon in its id', async () => {
  const id = await newTask()
  const path = `/a2a/v1/grid/tasks/${id}/pushNotificationConfigs`
  const headers = { authorization: `Bearer ${grid.alice.key}` }
  const answerOf = async (init: RequestInit, at = path) => {
    const response = await grid.request(at, { ...init, headers })
    return [response.status, await response.json()]
  }
  const config = { id: 'a:b', url: 'https://x.example/hook' }
  const json = { ...headers, 'content-type': 'application/a2a+json' }

  const set = await grid.request(path, { method: 'POST', headers: json, body: JSON.stringify(config) })
  expect(await set.json()).toEqual({ taskId: id, ...config })
  expect(await answerOf({}, `${path}/a:b`)).toEqual([200, { taskId: id, ...config }])
  expect(await answerOf({})).toEqual([200, { configs: [{ taskId: id, ...config }] }])
  expect(await answerOf({ method: 'DELETE' }, `${path}/a:b`)).toEqual([200, {}])
  expect(await answerOf({ method: 'DELETE' }, `${path}/a:b`)).toEqual([200, {}])
  expect(await answerOf({}, `${path}/a:b`)).toMatchObject([404, { error: { status: 'NOT_FOUND' } }])
  expect(await answerOf({})).toEqual([200, {}])
})

test("a task's eleventh webhook is refused, even as part of a message, but a webhook that replaces one of the ten is accepted", async () => {
  const id = await newTask()
  const url = 'https://x.example/hook'
  for (let n = 0; n < 10; n++) await set10(id, { id: `${n}`, url })

  const more = await call('CreateTaskPushNotificationConfig', { taskId: id, url })
  const configuration = { taskPushNotificationConfig: { url } }
  const withMessage = await postA2a(grid, grid.alice.key, send10({ taskId: id }, { configuration }))

  expect(more.error.code).toBe(-32602)
  expect(withMessage.body.error.code).toBe(-32602)
  expect(await set10(id, { id: '3', url: `${url}/3` })).toMatchObject({ url: `${url}/3` })
  const known = { taskPushNotificationConfig: { id: '4', url } }
  expect((await postA2a(grid, grid.alice.key, send10({ taskId: id }, { configuration: known }))).body.error)
    .toBe(undefined)
})

test("a task's webhooks do not exist for other agents, or at the endpoint of a different agent", async () => {
  const id = await newTask()
  const url = 'https://x.example/hook'
  await set10(id, { id: 'one', url })
  const carol = await grid.acme.agent('carol')
  const calls: [string, object][] = [
    ['CreateTaskPushNotificationConfig', { taskId: id, id: 'two', url }],
    ['GetTaskPushNotificationConfig', { taskId: id, id: 'one' }],
    ['ListTaskPushNotificationConfigs', { taskId: id }],
    ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'one' }],
  ]

  for (const [method, params] of calls) {
    const others = [{ key: grid.eve.key }, { key: grid.bob.key }, { path: endpointOf(carol) }]
    for (const other of others) expect((await call(method, params, other)).error?.code).toBe(-32001)
  }
  expect((await call('ListTaskPushNotificationConfigs', { taskId: id })).result.configs).toMatchObject([{ id: 'one' }])
})

test.each<[name: string, send: typeof send10, configuration: string]>([
  ['0.3', send03, 'pushNotificationConfig'],
  ['1.0', send10, 'taskPushNotificationConfig'],
])(
  'a send of %s with a webhook returns the task immediately, and its retries do not register the webhook again',
  async (_, send, name) => {
    const hook = await webhook()
    const body = send({}, { configuration: { [name]: { url: hook.url, token: 'a token' } } })
    const repeat = () => postA2a(grid, grid.alice.key, body, { 'Idempotency-Key': 'k' })
    const [first] = [await repeat(), await repeat()].map(({ body: { result } }) => result.task ?? result)

    expect(first.status.state).toMatch(/submitted/i)
    expect(await rows(grid, 'SELECT id FROM task_push_configs WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
    await answer(first.id)
    await step()

    expect(hook.taken.map(({ headers }) => headers['x-a2a-notification-token'])).toEqual(['a token', 'a token'])
  },
)

test("a follow-up message's webhook is registered before the changes that the message causes", async () => {
  const hook = await webhook()
  const id = await newTask()
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, state: 'input-required', text: 'Which?' })

  const configuration = { taskPushNotificationConfig: { url: hook.url }, returnImmediately: true }
  await postA2a(grid, grid.alice.key, send10({ taskId: id }, { configuration }))
  await step()

  expect(shown(hook)).toEqual(['working'])
})

test("a deleted agent's webhooks get no more events", async () => {
  const hook = await webhook(500)
  await set10(await newTask(), { url: hook.url })
  await inboxOf(grid, grid.bob)
  await step()

  await deleteAgent(grid.acme.store, 'alice')
  await step(minute)

  expect(shown(hook)).toEqual(['working'])
})

test('an agent that signed up cannot set a webhook before its account is claimed', async () => {
  const hook = await webhook()
  const zoe = await signUpAs(grid, 'zoe@new.example', 'zoe')
  await signUpAs(grid, 'zoe@new.example', 'mate')
  const send = (configuration: object) =>
    postA2a(
      grid,
      zoe.key,
      send10({ metadata: { to: '@mate' } }, { configuration: { returnImmediately: true, ...configuration } }),
    )
  const { id: taskId } = (await send({})).body.result.task
  const set = () => call('CreateTaskPushNotificationConfig', { taskId, url: hook.url }, { key: zoe.key })

  expect((await send({ taskPushNotificationConfig: { url: hook.url } })).body.error).toMatchObject({ code: -32000 })
  expect((await set()).error).toMatchObject({ message: expect.stringContaining('claimed') })
  await step(minute)
  expect(shown(hook)).toEqual([])

  await claimAgents(grid, zoe.link, { keep: ['zoe', 'mate'] })
  expect((await set()).result).toMatchObject({ url: hook.url })
})

test("a task's webhook is removed together with the task", async () => {
  const id = await newTask()
  await set10(id, { url: 'https://x.example' })
  await call('CancelTask', { id })

  grid.clock.now += 91 * day
  await sweep(grid.store)

  expect(await rows(grid, 'SELECT id FROM task_push_configs WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

const refused = [
  'http://x.example/hook',
  'https://10.0.0.1/hook',
  'https://[::1]/hook',
  'https://localhost/hook',
  'https://u:p@x.example/hook',
  'ftp://x.example/hook',
]

test.each(refused)('registering %s is refused, and the error names the field', async (url) => {
  await grid.close()
  grid = await testGrid()
  const id = await newTask()

  const { error } = await call('CreateTaskPushNotificationConfig', { taskId: id, url })
  const inSend = await postA2a(
    grid,
    grid.alice.key,
    send10({}, { configuration: { taskPushNotificationConfig: { url } } }),
  )
  const unknown = send10({ metadata: { to: '@nobody' } }, { configuration: { taskPushNotificationConfig: { url } } })

  expect(error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field: 'url' }] }] })
  const field = 'configuration.taskPushNotificationConfig.url'
  expect(inSend.body.error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field }] }] })
  expect((await postA2a(grid, grid.alice.key, unknown)).body.error.data[0].reason).toBe('RECIPIENT_NOT_FOUND')
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
})

test('a host that resolves to loopback at delivery time gets no request', async () => {
  await grid.close()
  grid = await testGrid()
  const { config, log } = grid.deps
  let asked = 0
  const resolve = () => Promise.resolve(asked++ === 0 ? ['127.0.0.1'] : ['::1', '93.184.216.34'])
  const safeStream = createSafeStream({ config, log, ownPorts: new Set<number>(), resolve })
  Object.assign(grid.deps, { safeStream })
  outboxes = new TestOutboxes(grid.store, outboxAttempts(grid.store))
  const id = await newTask()
  await set10(id, { url: 'https://rebinding.example/hook' })

  await inboxOf(grid, grid.bob)
  await step()
  await step(5 * second)

  expect(asked).toBe(2)
  expect(grid.logs.filter((line) => line.includes('is not allowed'))).toHaveLength(2)
  const [{ error }] = await rows(grid, 'SELECT error FROM task_push_configs WHERE account_id = ?', [grid.acme.id])
  expect(error).toBe('Its address is not allowed; private networks need ALLOW_PRIVATE_TARGETS.')
})

test.each<[string, object, string]>([
  ['no address', {}, 'url'],
  ['a token for two lines', { token: 'a\nb' }, 'token'],
  ['credentials without scheme', { authentication: { credentials: 'x' } }, 'authentication.scheme'],
  ['a scheme of two words', { authentication: { scheme: 'Bearer x' } }, 'authentication.scheme'],
])('a webhook with %s is refused', async (_, config, field) => {
  const url = field === 'url' ? {} : { url: 'https://x.example' }

  const { error } = await call('CreateTaskPushNotificationConfig', { taskId: await newTask(), ...url, ...config })

  expect(error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field }] }] })
})

test('a hanging webhook does not delay others', async () => {
  const hanging = await startWebhook(() => 'hang')
  const others = await Promise.all(Array.from({ length: 20 }, () => webhook()))
  hooks.push(hanging)
  const id = await newTask()
  await set10(id, { url: hanging.url })
  const tasks = await Promise.all(others.map(() => newTask()))
  for (const [n, task] of tasks.entries()) await set10(task, { url: others[n].url })
  const bob = storeOf(grid, grid.bob)

  for (const task of [id, ...tasks]) await updateTask(bob, { taskId: task, state: 'completed' })
  await outboxes.run()

  await waitFor('the others', () => others.every(({ taken }) => taken.length > 0))
  expect(others.map(shown)).toEqual(others.map(() => ['completed']))
  expect(hanging.taken).toHaveLength(1)
})
