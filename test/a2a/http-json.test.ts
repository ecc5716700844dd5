/** The HTTP+JSON binding of 1.0: its paths, media types, results and errors. */
import { beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { errorInfo, inboxOf, readStream, send10 } from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'

const shared = '/a2a/v1/grid'
const ofBob = '/a2a/v1/agents/bob'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const atOnce = { configuration: { returnImmediately: true } }
const send = (message: object = {}, params: object = {}) => send10({ ...message }, { ...params }).params

test.each([`${shared}/message:send`, `${shared}/message:send/`])(
  'over HTTP+JSON, %s returns the same confirmation as JSON-RPC',
  async (path) => {
    const { status, headers, body } = await call('POST', path, send())

    expect([status, headers.get('content-type'), headers.get('a2a-version')]).toEqual([200, 'application/json', '1.0'])
    expect(body).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'Message delivered to @bob' }] } })
    expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
  },
)

test.each([`${ofBob}/message:send`, `${shared}/bob/message:send`, `${shared}/@Bob/message:send/`])(
  'over HTTP+JSON, %s returns the task',
  async (path) => {
    const { body } = await call('POST', path, send({ metadata: undefined }))

    expect(body.task).toMatchObject({
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [{ parts: [{ text: 'hi' }] }],
    })
  },
)

test('over HTTP+JSON, a client can get, list and cancel a task', async () => {
  const { task } = (await call('POST', `${ofBob}/message:send`, send({}, atOnce))).body
  for (const base of [shared, ofBob, `${shared}/bob`]) {
    expect((await call('GET', `${base}/tasks/${task.id}`)).body).toEqual(task)
    expect((await call('GET', `${base}/tasks/${task.id}?historyLength=0`)).body).not.toHaveProperty('history')
    expect((await call('GET', `${base}/tasks?pageSize=1&includeArtifacts=true`)).body)
      .toEqual({ tasks: [task], nextPageToken: '', pageSize: 1, totalSize: 1 })
  }
  expect((await call('GET', `${shared}/alice/tasks`)).body.tasks).toEqual([])
  expect((await call('GET', `/a2a/v1/agents/alice/tasks/${task.id}`)).status).toBe(404)

  const canceled = await call('POST', `${ofBob}/tasks/${task.id}:cancel`)
  const again = await call('POST', `${shared}/tasks/${task.id}:cancel/`, {})

  expect(canceled.body).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } })
  expect(again).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 400,
        status: 'FAILED_PRECONDITION',
        details: [errorInfo('TASK_NOT_CANCELABLE', 'a2a-protocol.org', expect.anything())],
      },
    },
  })
})

test('over HTTP+JSON, streams carry results without an envelope', async () => {
  const sent = await open('POST', `${ofBob}/message:stream`, send({ metadata: undefined }))
  const { result: { task } } = (await sent.next())!
  const got = await open('GET', `${shared}/tasks/${task.id}:subscribe`)
  const posted = await open('POST', `${ofBob}/tasks/${task.id}:subscribe/`)
  const replayed = await open('GET', `${shared}/bob/tasks/${task.id}:subscribe`, undefined, { 'Last-Event-ID': '0' })
  expect((await got.next())?.result).toEqual({ task })
  expect((await posted.next())?.result).toEqual({ task })
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: task.id, text: 'done' })

  const rest = await sent.rest()
  expect(rest.map(({ result }) => Object.keys(result))).toEqual([['statusUpdate'], ['artifactUpdate'], [
    'statusUpdate',
  ]])
  expect(await got.rest()).toEqual(rest)
  expect(await posted.rest()).toEqual(rest)
  expect((await replayed.rest()).slice(1)).toEqual(rest)
  expect(sent.response.headers.get('content-type')).toBe('text/event-stream')
  expect((await call('GET', `${shared}/tasks/${task.id}:subscribe`)).body.error).toMatchObject({
    code: 400,
    details: [{ reason: 'UNSUPPORTED_OPERATION' }],
  })
})

test("the response has the media type of the request, or the media type in the request's Accept header", async () => {
  const type = async (headers: Record<string, string>, method = 'POST', path = `${shared}/message:send`) =>
    (await call(method, path, method === 'POST' ? send() : undefined, headers)).headers.get('content-type')

  expect(await type({ 'Content-Type': 'application/json' })).toBe('application/json')
  expect(await type({ 'Content-Type': 'application/a2a+json; charset=utf-8' })).toBe('application/a2a+json')
  expect(await type({ Accept: 'application/a2a+json, application/json' })).toBe('application/a2a+json')
  expect(await type({ Accept: '*/*' }, 'GET', `${shared}/tasks`)).toBe('application/json')
  expect(await type({ Accept: 'application/a2a+json' }, 'GET', `${shared}/tasks/none`)).toBe('application/a2a+json')
})

test.each([
  ['a wrong media type', 'POST', '/message:send', 'no JSON', { 'Content-Type': 'text/plain' }, 415, 'INVALID_ARGUMENT'],
  ['no JSON', 'POST', '/message:send', 'no JSON', {}, 400, 'INVALID_ARGUMENT'],
  ['a list', 'POST', '/message:send', '[]', {}, 400, 'INVALID_ARGUMENT'],
  ['no message', 'POST', '/message:send', '{}', {}, 400, 'INVALID_ARGUMENT'],
  ['a version', 'GET', '/tasks', undefined, { 'A2A-Version': '99.0' }, 400, 'UNIMPLEMENTED'],
  ['a page size in words', 'GET', '/tasks?pageSize=ten', undefined, {}, 400, 'INVALID_ARGUMENT'],
  ['a flag in words', 'GET', '/tasks?includeArtifacts=maybe', undefined, {}, 400, 'INVALID_ARGUMENT'],
  ['a missing task', 'GET', '/tasks/none', undefined, {}, 404, 'NOT_FOUND'],
  ['a path that is not served', 'GET', '/nothing', undefined, {}, 404, 'NOT_FOUND'],
  ['a method that is not served', 'DELETE', '/tasks', undefined, {}, 405, 'UNIMPLEMENTED'],
  ['push', 'GET', '/tasks/t/pushNotificationConfigs', undefined, {}, 404, 'NOT_FOUND'],
  ['push', 'DELETE', '/tasks/t/pushNotificationConfigs/c', undefined, {}, 404, 'NOT_FOUND'],
])(
  'HTTP+JSON with %s: %s %s is refused with the right status',
  async (_, method, path, body, headers, status, name) => {
    for (const base of [shared, ofBob]) {
      const answer = await call(method, base + path, body, headers)

      expect(answer.status).toBe(status)
      expect(answer.body.error).toMatchObject({ code: status, status: name, message: expect.stringMatching(/\.$/) })
    }
  },
)

test('HTTP+JSON errors about the recipient, the content and the key have different statuses', async () => {
  const error = async (body: unknown, headers?: Record<string, string>) => {
    const { error } = (await call('POST', `${shared}/message:send`, body, headers)).body
    return [error.code, error.details[0].reason]
  }
  await call('POST', `${shared}/message:send`, send(), { 'Idempotency-Key': 'k' })

  expect(await error(send({ metadata: undefined }))).toEqual([400, 'RECIPIENT_REQUIRED'])
  expect(await error(send({ metadata: { to: 'eve' } }))).toEqual([404, 'RECIPIENT_NOT_FOUND'])
  expect(await error(send({ parts: [{ raw: 'AAAA' }] }))).toEqual([400, 'CONTENT_TYPE_NOT_SUPPORTED'])
  expect(await error(send({ messageId: 'other' }), { 'Idempotency-Key': 'k' })).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
})

test("every HTTP+JSON path requires an agent's key", async () => {
  const paths = [['POST', '/message:send'], ['POST', '/message:stream'], ['GET', '/tasks'], ['GET', '/tasks/t']]
    .concat([['POST', '/tasks/t:cancel'], ['GET', '/tasks/t:subscribe'], ['GET', '/extendedAgentCard']])
  for (const [method, path] of paths) {
    for (const authorization of ['', 'Bearer nonsense', `Bearer ${grid.acme.adminKey}`]) {
      const { status, headers, body } = await call(method, ofBob + path, undefined, { Authorization: authorization })

      expect([status, body.error.status]).toEqual([401, 'UNAUTHENTICATED'])
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="agent-grid"/)
    }
  }
})

test('a HEAD request does not open a stream', async () => {
  const { task } = (await call('POST', `${ofBob}/message:send`, send({}, atOnce))).body
  const response = await grid.request(`${shared}/tasks/${task.id}:subscribe`, {
    method: 'HEAD',
    headers: { Authorization: `Bearer ${grid.alice.key}` },
  })

  expect(response.status).toBe(405)
})

async function open(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetchFrom(method, path, body, headers)
  expect(response.status).toBe(200)
  return readStream(response)
}

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetchFrom(method, path, body, headers)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function fetchFrom(method: string, path: string, body: unknown, headers: Record<string, string>) {
  return grid.request(path, {
    method,
    headers: {
      Authorization: `Bearer ${grid.alice.key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body === undefined || typeof body === 'string' ? body as string | undefined : JSON.stringify(body),
  })
}
