import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { counting, echo, endless, failing, picky, silent, stubborn, waiting } from '../../support/children.ts'
import { isRunning } from '../../support/fake-client.ts'
import { type InboxServer, startInboxServer } from '../../support/inbox-server.ts'
import { runnerFolder, startRunner } from '../../support/runner.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: InboxServer
let place: ReturnType<typeof runnerFolder>
let runners: ReturnType<typeof startRunner>[]

beforeEach(async () => {
  place = runnerFolder()
  grid = await startInboxServer()
  runners = []
})

afterEach(async () => {
  await Promise.allSettled(runners.map((runner) => runner.stop()))
  await grid.close()
  place.remove()
})

function start(words: string[], options: Parameters<typeof startRunner>[3] = {}) {
  const runner = startRunner(grid.url, place.folder, words, options)
  runners.push(runner)
  return runner
}

test('a command gets a message on standard input, and its output is sent as the answer', async () => {
  const runner = start([place.program('echo', echo)])
  const id = grid.put({ conversation_id: 'sums' })
  await waitFor('the answer', () => grid.sent.length === 1)

  const [{ message, ...answer }] = grid.sent
  expect(answer).toMatchObject({ to: '@asker', reply_to_message_id: id, acks: { message_ids: [id] } })
  expect(JSON.parse(message)).toMatchObject({
    agent: '@worker',
    per: 'thread',
    thread: 'conversation sums',
    messages: [{ message_id: id, user: '@asker', message: 'What is 6 times 7?' }],
  })
  expect(grid.stateOf(id)).toBe('read')
  await runner.stop()
  // No other call ends the lease, because the call that sends the answer also ends it.
  expect(grid.calls.filter((call) => call.includes('/ID/'))).toEqual([])
  expect(grid.calls).toContain('GET /api/agents/wake-stream')
})

test('a runner acknowledges messages from the grid itself without an answer', async () => {
  start([place.program('echo', echo)], { format: 'text' })
  const id = grid.put({ type: 'system', user: '@grid' })
  await waitFor('the ack', () => grid.stateOf(id) === 'read')
  grid.put({ message: 'Six times seven?' })
  await waitFor('the answer', () => grid.sent.length === 1)

  expect(grid.sent[0].message).toBe('Six times seven?')
})

test('a runner starts one child at a time per conversation, and a single child for a batch', async () => {
  const program = place.program('count', counting)
  for (const user of ['@a', '@b', '@a']) grid.put({ user })
  const perThread = start([program])
  await waitFor('two answers', () => grid.sent.length === 2)
  await perThread.stop()
  expect(grid.sent.map(({ to, message }) => [to, message])).toEqual([['@a', '2'], ['@b', '1']])

  for (const user of ['@a', '@b']) grid.put({ user })
  start([program], { per: 'batch' })
  await waitFor('two more answers', () => grid.sent.length === 4)
  expect(grid.sent.slice(2).map(({ to, message }) => [to, message])).toEqual([['@a', 'to @a'], ['@b', 'to @b']])
})

test('when a runner sends an answer, it also leases the next conversation, which it releases if a person attends', async () => {
  const program = place.program('slow', waiting)
  const ids = ['@a', '@b', '@a', '@c'].map((user) => grid.put({ user }))
  const runner = start([program])
  await waitFor('the child', () => existsSync(join(place.folder, 'begun')))
  writeFileSync(join(place.folder, 'go'), '')
  await waitFor('three answers', () => grid.sent.length === 3)
  await runner.stop()
  const leases = grid.calls.filter((call) => call.endsWith('/leases'))
  expect(grid.sent.map(({ to, next }) => [to, next?.message_ids])).toEqual([
    ['@a', [ids[1]]],
    ['@b', [ids[3]]],
    ['@c', undefined],
  ])
  expect(leases).toHaveLength(1)

  for (const file of ['begun', 'go']) rmSync(join(place.folder, file))
  const [first, second] = ['@a', '@b'].map((user) => grid.put({ user }))
  const other = start([program])
  await waitFor('the child', () => existsSync(join(place.folder, 'begun')))
  grid.pretend({ attended: true })
  writeFileSync(join(place.folder, 'go'), '')
  await waitFor('the stand-by', () => other.log.some((line) => line.includes('A person attends')))
  await waitFor('the message', () => grid.stateOf(second) === 'unread')
  expect(grid.stateOf(first)).toBe('read')
})

test.each(['', 'NO_REPLY'])(
  'after the output "%s", a runner sends no answer and acknowledges the messages',
  async (output) => {
    start(output === '' ? [place.program('silent', silent)] : [place.program('echo', echo), output])
    const id = grid.put({})
    await waitFor('the ack', () => grid.stateOf(id) === 'read')

    expect(grid.sent).toEqual([])
  },
)

test('a runner restarts a failing child after delays, and notifies the sender after five failures', async () => {
  const program = place.program('fail', failing)
  const runner = start([program])
  const id = grid.put({})
  await waitFor('the note', () => grid.sent.length === 1)

  expect(readFileSync(join(place.folder, 'runs'), 'utf8')).toBe('.rrrr')
  expect(grid.sent[0]).toMatchObject({ to: '@asker', reply_to_message_id: id })
  expect(grid.sent[0].message).toMatch(/failed 5 times on this message. It was not answered/)
  expect(grid.sent[0].message).not.toContain('secret')
  expect(runner.log.join('\n')).toContain('exit code 3. It said: secret of this machine')
  expect(grid.stateOf(id)).toBe('read')
})

test('a runner answers other conversations while one waits for its next attempt', async () => {
  const program = place.program('pick', picky)
  start([program], { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } })
  const bad = grid.put({ user: '@bad' })
  await waitFor('the first failure', () => runners[0].log.some((line) => line.includes('failed')))
  grid.put({ user: '@good' })
  await waitFor('the answer', () => grid.sent.length === 1)

  expect(grid.sent[0].to).toBe('@good')
  expect(grid.stateOf(bad)).toBe('leased')
  await runners[0].stop()
  expect(grid.stateOf(bad)).toBe('unread')
})

test('a runner terminates a child and all its processes after the time limit', async () => {
  const program = place.program('hang', stubborn)
  const runner = start([program], {
    timeoutMs: 500,
    graceMs: 200,
    backoff: { firstMs: 3_600_000, longestMs: 3_600_000 },
  })
  grid.put({})
  await waitFor('the failure', () => runner.log.some((line) => line.includes('terminated after 0.5 s')))

  for (const pid of readFileSync(join(place.folder, 'pids'), 'utf8').split(' ').map(Number)) {
    await waitFor(`the end of ${pid}`, () => !isRunning(pid))
  }
})

test('a runner starts no more children per hour than its budget allows', async () => {
  let now = Date.now()
  const runner = start([place.program('echo', echo), 'done'], { perHour: 2, now: () => now })
  const [, , last] = ['@a', '@b', '@c'].map((user) => grid.put({ user }))
  await waitFor(
    'the budget',
    () => runner.log.some((line) => line.includes('budget is used up: 2 turns within an hour')),
  )
  expect(grid.sent).toHaveLength(2)
  expect(grid.stateOf(last)).toBe('unread')

  await runner.stop()
  now += 3_600_001
  start([place.program('echo', echo), 'done'], { perHour: 2, now: () => now })
  await waitFor('the third answer', () => grid.sent.length === 3)
})

test('a runner retries failed calls with the same idempotency key, so that the answer is stored only once', async () => {
  const unavailable = { status: 503, code: 'overloaded' }
  grid.failNext(/inbox$/)
  grid.failNext(/leases$/)
  grid.failNext(/messages$/)
  grid.failNext(/messages$/, { status: 302, code: 'moved' })
  grid.failNext(/messages$/, unavailable, true)
  start([place.program('echo', echo), 'done'])
  const id = grid.put({})
  // The third call is stored but gets 503, so the fourth call is a retry.
  await waitFor('the fourth call', () => grid.calls.filter((call) => call.endsWith('/messages')).length === 4)
  await runners[0].stop()

  expect(grid.sent.map(({ message }) => message)).toEqual(['done'])
  expect(grid.stateOf(id)).toBe('read')
})

test('an answer is not sent if its lease has expired, and the next child is told that the message is redelivered', async () => {
  const program = place.program('slow', waiting)
  const runner = start([program])
  grid.put({})
  await waitFor('the child', () => existsSync(join(place.folder, 'begun')))
  grid.expire()
  writeFileSync(join(place.folder, 'go'), '')
  await waitFor('the answer', () => grid.sent.length === 1)

  expect(JSON.parse(grid.sent[0].message).messages[0].redelivered).toBe(true)
  expect(runner.log.join('\n')).toContain('Its messages are redelivered')
})

test('if the grid refuses an answer, the sender is notified', async () => {
  grid.failNext(/messages$/, { status: 422, code: 'guardrail_blocked' })
  start([place.program('echo', echo), 'a secret'])
  const id = grid.put({})
  await waitFor('the note', () => grid.sent.length === 1)

  expect(grid.sent[0].message).toBe('My answer was not delivered: the grid refused it (guardrail_blocked).')
  expect(grid.stateOf(id)).toBe('read')
})

test("a runner that stops terminates its child, and releases the child's messages", async () => {
  const program = place.program('hang', endless)
  const runner = start([program])
  const id = grid.put({})
  await waitFor('the child', () => existsSync(join(place.folder, 'pid')))
  await runner.stop()

  expect(grid.stateOf(id)).toBe('unread')
  const child = Number(readFileSync(join(place.folder, 'pid'), 'utf8'))
  await waitFor('the end of the child', () => !isRunning(child))
  expect(runner.state.leases()).toEqual([])
})

test('a runner releases the messages that a killed runner had leased', async () => {
  const { lease_id } = await (await fetch(`${grid.url}/api/v1/inbox/leases`, { method: 'POST', body: '{}' })).json()
  expect(lease_id).toBeNull()
  const id = grid.put({})
  const lease = await (await fetch(`${grid.url}/api/v1/inbox/leases`, { method: 'POST', body: '{}' })).json()
  const killed = startRunner(grid.url, place.folder, ['true'])
  await killed.stop()
  killed.state.saveLeases([lease.lease_id, 'lease-that-has-ended'])

  start([place.program('echo', echo)])
  await waitFor('the answer', () => grid.sent.length === 1)
  expect(JSON.parse(grid.sent[0].message).messages[0]).toMatchObject({ message_id: id, redelivered: true })
})

test('a runner exits when its key is revoked', async () => {
  const runner = start([place.program('echo', echo)])
  await waitFor('the stream', () => grid.streams().length === 1)
  expect(grid.streams()).toEqual(['runner=command'])
  grid.revoke()

  await expect(runner.ended).rejects.toMatchObject({ code: 'unauthenticated' })
})
