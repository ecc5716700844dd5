/** Errors that name the fault and its remedy (docs/protocol/README.md, "Errors"). */
import { beforeEach, expect, test } from 'vitest'
import { createChannel, deleteChannel } from '../../src/grid/channels/channels.ts'
import { newId } from '../../src/lib/id.ts'
import { hour } from '../../src/lib/time.ts'
import { restRoutes } from '../../src/rest/routes.ts'
import { rows, updateTrial } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { approveOne, hold } from '../support/held.ts'
import { ack, callInbox, extend, lease, post, release } from '../support/inbox.ts'
import { callTool } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'
import { callRest } from '../support/rest.ts'
import { personWithAlias } from '../support/person-aliases.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('an unknown lease is not found, and an ended lease is stale', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'hi' })
  const { body: { lease_id, messages: [{ message_id }] } } = await lease(grid, grid.bob.key)
  const errors = async (id: string) => {
    const { key } = grid.bob
    const acked = post(grid, key, { to: '@alice', message: 'x', acks: { lease_id: id } })
    const answers = [
      ack(grid, key, id),
      ack(grid, key, id, ['m']),
      release(grid, key, id),
      extend(grid, key, id, 60),
      acked,
    ]
    return (await Promise.all(answers)).map(({ status, body: { error: { code, message } } }) => [status, code, message])
  }
  const use = 'Use the lease_id that was returned with the messages.'

  for (const id of ['lease-1', '6f1f1f0c-3f0a-4a53-9a53-5ab1a1b0e6c1']) {
    const never = [404, 'lease_not_found', `No lease with this id ever existed. ${use}`]
    expect(await errors(id)).toEqual(Array(5).fill(never))
  }
  const ofMessage = [404, 'lease_not_found', `This is the id of a message, not of a lease. ${use}`]
  expect(await errors(message_id)).toEqual(Array(5).fill(ofMessage))
  await ack(grid, grid.bob.key, lease_id)
  for (const id of [lease_id, newId()]) {
    expect((await errors(id)).map(([status, code]) => [status, code])).toEqual(Array(5).fill([409, 'stale_lease']))
  }
})

test('an error names a missing argument together with an unknown one', async () => {
  const { status, body } = await post(grid, grid.alice.key, { to: '@bob', text: 'hi' })
  const { message } = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', text: 'hi' })

  expect([status, body.error]).toEqual([400, {
    code: 'invalid_input',
    message: 'POST /api/v1/messages has no argument text, and message is missing.',
  }])
  expect(message).toBe('send_message has no argument text, and message is missing.')
})

test('broken JSON has one code on every route', async () => {
  const taking = restRoutes.filter(({ body, caller }) => body && caller !== 'agent access token')
  expect(taking.length).toBeGreaterThan(10)
  for (const { method, path, caller } of taking) {
    const key = caller === 'admin' ? grid.acme.adminKey : grid.alice.key
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
    const answer = await grid.request(path.replace(/\{\w+\}/g, newId()), { method, headers, body: '{"to": ' })
    expect([path, answer.status, (await answer.json()).error]).toEqual([path, 400, {
      code: 'malformed_json',
      message: 'The body is not valid JSON.',
    }])
  }
})

test('the error of an upload that can never fit has no retry time', async () => {
  const mebibyte = 2 ** 20
  await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 24 * hour })
  const begin = async (bytes: number, { key } = grid.alice) => {
    const response = await callRest(grid, key, 'POST /api/v1/parts', { bytes })
    const { code, retry_after_seconds } = response.body.error ?? {}
    return [response.status, code, retry_after_seconds, response.headers.get('retry-after')]
  }
  const never = [429, 'quota_exceeded', undefined, null]

  expect(await begin(mebibyte + 1)).toEqual(never)
  expect((await begin(mebibyte))[0]).toBe(201)
  expect(await begin(1)).toEqual([429, 'quota_exceeded', 3_600, '3600'])
  const sent = await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'hi' })
  await rows(grid, 'UPDATE uploads SET message_id = ? WHERE account_id = ?', [sent.id, grid.acme.id])
  expect(await begin(1)).toEqual(never)
})

test('the wake stream refuses an unknown parameter', async () => {
  const { status, body } = await callInbox(grid, grid.bob.key, 'GET', '/api/agents/wake-stream?foo=x')

  expect([status, body.error]).toEqual([400, {
    code: 'invalid_input',
    message: 'GET /api/agents/wake-stream has no argument foo. It takes attended, runner.',
  }])
})

test('a held post to a replaced channel is refused, because the channel has changed', async () => {
  const ann = (await personWithAlias(grid, 'ann', { role: 'owner' })).account
  const made = () => createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  await made()
  await hold(grid.acme.store)
  await sendMessage(storeOf(grid, grid.alice), { to: '#ops', text: 'hi' })
  await deleteChannel(grid.acme.store, 'ops')
  await made()

  expect(await approveOne(ann)).toMatchObject({ state: 'refused', reason: '#ops is another channel now.' })
})
