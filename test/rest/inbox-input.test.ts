/** Invalid inbox and message requests over REST change nothing. See docs/protocol/rest.md, "Inbox". */
import { beforeAll, expect, test } from 'vitest'
import { dump } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callInbox } from '../support/inbox.ts'
import { callTool } from '../support/mcp.ts'

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hi' })
  // Uses the key before the tests, because recording its first use changes the database.
  await callTool(grid, grid.bob.key, 'list_channels')
})

const leases = '/api/v1/inbox/leases'
const many = Array.from({ length: 51 }, (_, n) => `message ${n}`)
const message = { to: '@alice', message: 'hi' }

test.each([
  ['GET', '/api/v1/inbox?limit=0', undefined, 'limit must be at least 1.'],
  ['GET', '/api/v1/inbox?summary=yes', undefined, 'summary must be one of true, false.'],
  ['GET', '/api/v1/inbox?summery=true', undefined, 'GET /api/v1/inbox has no argument summery. Did you mean summary?'],
  ['POST', leases, { seconds: 29 }, 'seconds must be at least 30.'],
  ['POST', leases, { seconds: 30.5 }, 'seconds must be a whole number.'],
  ['POST', leases, { message_ids: many }, 'message_ids must have at most 50 entries.'],
  ['POST', leases, { message_ids: ['\ud800'] }, 'message_ids.0 must be plain Unicode text.'],
  ['POST', leases, { wait: 1 }, `POST ${leases} has no argument wait. Did you mean wait_seconds?`],
  ['POST', `${leases}/x/extend`, {}, 'seconds is missing.'],
  ['POST', `${leases}/x/ack`, { message_ids: 'x' }, 'message_ids must be an array, such as ["…"].'],
  ['POST', `${leases}/x/ack`, { message_ids: null }, 'message_ids must be an array, such as ["…"].'],
  ['POST', `${leases}/x/ack`, { message_ids: '' }, 'message_ids must be an array, such as ["…"].'],
  ['POST', `${leases}/x/ack`, { ids: ['x'] }, `POST ${leases}/{lease}/ack has no argument ids. It takes message_ids.`],
  [
    'POST',
    `${leases}/x/release`,
    { only: ['x'] },
    `POST ${leases}/{lease}/release has no argument only. It takes message_ids.`,
  ],
  ['POST', leases, { acks: { lease_id: null } }, 'acks.lease_id must be a string.'],
  [
    'POST',
    '/api/v1/messages',
    { ...message, acks: { lease_id: 'x', message_ids: null } },
    'acks.message_ids must be an array, such as ["…"].',
  ],
  ['POST', `${leases}/${'x'.repeat(201)}/release`, {}, 'The input must have at most 200 characters.'],
  ['POST', '/api/v1/messages', { to: '@alice' }, 'message is missing.'],
  ['POST', '/api/v1/messages', { ...message, acks: '' }, 'acks must be an object, such as {"lease_id":"…"}.'],
  ['POST', '/api/v1/messages', { ...message, acks: {} }, 'acks.lease_id is missing.'],
  [
    'POST',
    '/api/v1/messages',
    { ...message, acks: { lease_id: 'x', message_ids: [] } },
    'acks.message_ids must not be empty.',
  ],
])('%s %s %o', async (method, path, body, text) => {
  const before = await dump(grid, grid.acme)

  const answer = await callInbox(grid, grid.bob.key, method, path, body)

  expect([answer.status, answer.body]).toEqual([400, { error: { code: 'invalid_input', message: text } }])
  expect(await dump(grid, grid.acme)).toBe(before)
})

test.each([
  ['no JSON', '{', 'application/json', 400, 'malformed_json'],
  ['a list', '[]', 'application/json', 400, 'invalid_request'],
  ['another media type', '{}', 'text/plain', 415, 'unsupported_media_type'],
  ['too much', JSON.stringify({ x: 'x'.repeat(600_000) }), 'application/json', 413, 'payload_too_large'],
])('a body that is %s is refused', async (_, body, type, status, code) => {
  for (const path of [leases, `${leases}/x/ack`, '/api/v1/messages']) {
    const response = await grid.request(path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${grid.bob.key}`, 'Content-Type': type },
      body,
    })
    expect([response.status, (await response.json()).error.code]).toEqual([status, code])
  }
})

test('unknown fields of a route are ignored, and listed in the response', async () => {
  const peeked = await callInbox(grid, grid.bob.key, 'GET', '/api/v1/inbox?limit=1000&peek=true')
  const sent = await callInbox(grid, grid.bob.key, 'POST', '/api/v1/messages', {
    ...message,
    from: '@x',
    choices: null,
  })

  expect(peeked.body).toMatchObject({ unread: 1, ignored: ['peek'], clipped: { limit: 50 } })
  expect([sent.status, sent.body]).toMatchObject([201, { recipient: '@alice', ignored: ['from'] }])
})

test('an idempotency key must have 1 to 200 characters', async () => {
  for (const key of ['', 'x'.repeat(201)]) {
    const { body } = await callInbox(grid, grid.bob.key, 'POST', '/api/v1/messages', message, {
      'Idempotency-Key': key,
    })
    expect(body.error.code).toBe('invalid_input')
  }
})

test('null or an empty text as message_ids acks nothing, and null for acks means no ack', async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'one' })
  const { body: lease } = await callInbox(grid, grid.bob.key, 'POST', leases)
  const ids = lease.messages.map(({ message_id }: { message_id: string }) => message_id)
  const ack = (body: unknown) => callInbox(grid, grid.bob.key, 'POST', `${leases}/${lease.lease_id}/ack`, body)
  const refused = [await ack({ message_ids: null }), await ack({ message_ids: '' }), await ack({ messageIds: ids })]
  const sent = await callInbox(grid, grid.bob.key, 'POST', '/api/v1/messages', { ...message, acks: null })

  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400])
  expect(sent.status).toBe(201)
  expect((await ack({ message_ids: ids })).body).toEqual({ acked: ids.length })
})
