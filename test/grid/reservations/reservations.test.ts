/** Reservations through their tools. See docs/protocol/reservations.md. */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { endReservation } from '../../../src/grid/reservations/end-reservations.ts'
import { meeting } from '../../../src/grid/reservations/names.ts'
import { KeyedMutex } from '../../../src/lib/limits/keyed-mutex.ts'
import { normaliseSpace } from '../../../src/lib/name-patterns.ts'
import { newId } from '../../../src/lib/id.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { cancelTask } from '../../../src/grid/tasks/tasks.ts'
import { lookAtReservations } from '../../../src/worker/reservations.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { callTool } from '../../support/mcp.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const reserve = (agent: TestAgent, names: string[], more: object = {}) =>
  callTool(grid, agent.key, 'reserve', { names, ...more })

async function list(agent: TestAgent, filter: Record<string, unknown> = {}) {
  const { text } = await callTool(grid, agent.key, 'list_reservations', filter)
  return text.map(({ name, agent }: Record<string, string>) => `${agent} ${name}`)
}

async function read(agent: TestAgent): Promise<{ type: string; message: string }[]> {
  const { text } = await callTool(grid, agent.key, 'read_messages')
  return text.map(({ type, message }: { type: string; message: string }) => ({ type, message }))
}

async function after(ms: number): Promise<void> {
  grid.clock.now += ms
  await lookAtReservations(grid.store)
}

test('an overlapping name is refused, and the error says who holds it, until when, and what to do', async () => {
  const { text } = await reserve(grid.bob, ['./src/auth/**', 'PROJ-12'], {
    note: 'new tokens',
    expires_in_seconds: 600,
  })
  expect(text).toEqual({ reserved: ['src/auth/**', 'PROJ-12'], ends_at: '2026-11-21T09:10:00.000Z' })

  const { code, message } = await reserve(grid.alice, ['docs/**', '**/token.ts'])
  expect(code).toBe('already_reserved')
  expect(message).toBe(
    '@bob (seen just now) has src/auth/** until 2026-11-21T09:10:00.000Z, note: "new tokens". Work on something else, ' +
      'call again with wait_seconds, or write to them. You get a message when it is free.',
  )
  // A call reserves all names or none.
  expect(await list(grid.alice)).toEqual(['@bob src/auth/**', '@bob PROJ-12'])
})

test("shared names can overlap other shared names, names of other spaces, and the agent's own names", async () => {
  await reserve(grid.bob, ['src/**'], { shared: true, space: 'git@GitHub.com:acme/app.git' })
  const space = 'https://github.com/acme/app'
  expect((await reserve(grid.alice, ['src/a.ts'], { shared: true, space })).code).toBeUndefined()
  expect((await reserve(grid.alice, ['src/a.ts'], { space })).code).toBe('already_reserved')
  expect((await reserve(grid.alice, ['src/**'], { space: 'github.com/acme/site' })).code).toBeUndefined()
  expect((await reserve(grid.alice, ['src/b.ts', 'src/*'], { space: 'github.com/acme/site' })).code).toBeUndefined()

  expect(await list(grid.alice, { names: ['src/a.ts'] })).toEqual([
    '@bob src/**',
    '@alice src/a.ts',
    '@alice src/**',
    '@alice src/*',
  ])
  expect(await list(grid.alice, { mine: true, names: ['src/b.ts'] })).toEqual([
    '@alice src/**',
    '@alice src/b.ts',
    '@alice src/*',
  ])
})

test.each([
  ['', ''],
  ['git@GitHub.com:acme/app.git', 'github.com/acme/app'],
  ['https://me:secret@github.com/acme/app/', 'github.com/acme/app'],
  ['https://me:p@ss@github.com/acme/app.git/', 'github.com/acme/app'],
  ['ssh://git@host.example:2222/acme/app.git', 'host.example/acme/app'],
  ['git@host.example:/acme/app.git', 'host.example/acme/app'],
  ['the kitchen', 'the kitchen'],
])('the space %j is normalised to %j', (given, space) => expect(normaliseSpace(given)).toBe(space))

test('an agent releases some or all of its names, and every refused agent gets one message', async () => {
  await reserve(grid.bob, ['a', 'b', 'c'])
  await reserve(grid.alice, ['a'])
  await reserve(grid.alice, ['a', 'b'])
  expect((await reserve(grid.bob, ['a', 'b', 'd'], { release: true })).text).toEqual({ released: ['a', 'b'] })

  expect(await read(grid.alice)).toEqual([
    { type: 'system', message: '@bob has released a, b. If you still need it, call reserve.' },
  ])
  expect(await read(grid.bob)).toEqual([])
  expect((await callTool(grid, grid.bob.key, 'reserve', { release: true })).text).toEqual({ released: ['c'] })
  expect(await read(grid.alice)).toEqual([])
})

test('an agent that was refused more than an hour ago gets no message when the name is released', async () => {
  await reserve(grid.bob, ['a'], { expires_in_seconds: 7200 })
  await reserve(grid.alice, ['a'])
  grid.clock.now += hour + 1
  await reserve(grid.bob, ['a'], { release: true })
  expect(await read(grid.alice)).toEqual([])
})

test("an agent's last refusal replaces its earlier ones", async () => {
  await reserve(grid.bob, ['a'], { expires_in_seconds: 7200 })
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => grid.acme.agent(`asks-${n}`)))
  for (const agent of others) await reserve(agent, ['a'])
  // The list of refused agents is full, so alice is not added.
  await reserve(grid.alice, ['a'])
  grid.clock.now += hour - minute
  await reserve(others[0], ['a'])
  grid.clock.now += 2 * minute
  await reserve(grid.alice, ['a'])
  await reserve(grid.bob, ['a'], { release: true })
  expect(await Promise.all([others[0], others[1], grid.alice].map(async (agent) => (await read(agent)).length)))
    .toEqual([
      1,
      0,
      1,
    ])
})

test('a reservation is extended while its agent calls tools, for at most a day, and the agent is notified when the reservation ends', async () => {
  await reserve(grid.bob, ['a', 'b'])
  for (let n = 1; n <= 24; n++) {
    grid.clock.now += 30 * minute
    await callTool(grid, grid.bob.key, 'list_channels')
    await after(30 * minute)
    expect(await list(grid.alice)).toEqual(['@bob a', '@bob b'])
  }
  grid.clock.now += minute
  await callTool(grid, grid.bob.key, 'list_channels')
  await after(hour)
  expect(await list(grid.alice)).toEqual([])
  expect(await read(grid.bob)).toEqual([{
    type: 'system',
    message: 'The time is over of your reservation of a, b. If you still work on it, call reserve again.',
  }])
})

test('waiting for messages does not extend a reservation', async () => {
  await reserve(grid.bob, ['a'])
  grid.clock.now += 30 * minute
  await callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 1 })
  await after(30 * minute)
  expect(await list(grid.alice)).toEqual([])
})

test('a reservation is refused at the commit if another process has added a reservation since the names were compared', async () => {
  const { change, read } = grid.acme.store
  const terms = { space: '', shared: false, note: '', task: null, home: null, at: grid.clock.now, lengthMs: hour }
  const reserveAt = (agent: TestAgent, seen: number) =>
    grid.acme.store.write([
      change.reservations.requireNoNewer('', seen),
      change.reservations.add({ ...terms, agent: agent.id }, [{ id: newId(), name: 'a' }]),
    ])
  await reserveAt(grid.bob, 0)
  await expect(reserveAt(grid.alice, 0)).rejects.toMatchObject({ code: 'write_conflict' })
  const [{ n }] = await read.reservations.inSpace('')
  await reserveAt(grid.alice, n)
})

test('a reservation ends with the task that it names', async () => {
  const client = storeOf(grid, grid.alice)
  const { id } = await askFor(client, 'build it')
  await reserve(grid.bob, ['src/**', id])
  await reserve(grid.eve, [id])
  await after(minute)
  expect(await list(grid.bob)).toEqual(['@bob src/**', `@bob ${id}`])
  await cancelTask(client, id)
  await after(0)
  expect(await list(grid.bob)).toEqual([])
  expect((await read(grid.bob)).at(-1)!.message).toMatch(/^Its task has ended, and so has your reservation of src/)
  expect(await list(grid.eve)).toEqual([`@eve ${id}`])
})

test("a deleted agent's reservation ends immediately, and every refused agent gets a message", async () => {
  await reserve(grid.bob, ['a'])
  await reserve(grid.alice, ['a'])
  await deleteAgent(grid.acme.store, 'bob')
  expect((await reserve(grid.alice, ['a'])).code).toBeUndefined()
  await after(0)
  expect((await read(grid.alice)).map(({ message }) => message)).toEqual([
    '@bob has released a. If you still need it, call reserve.',
  ])
})

test('a person can end a reservation, and its agent is notified', async () => {
  await reserve(grid.bob, ['a'])
  const [{ id }] = await grid.acme.store.read.reservations.inSpace('')
  await expect(endReservation(grid.evil.store, id)).rejects.toMatchObject({ code: 'reservation_not_found' })
  expect(await endReservation(grid.acme.store, id)).toBe('a')
  expect((await read(grid.bob))[0].message).toMatch(/^A person has ended your reservation of a\./)
})

test('reserve with wait_seconds waits until the name is free', async () => {
  const idle = followIdle(grid.store)
  await reserve(grid.bob, ['src/**'])
  // An agent that was refused earlier and now waits gets no message.
  await reserve(grid.alice, ['src/a'])
  const waiting = reserve(grid.alice, ['src/a'], { wait_seconds: 20 })
  await idle(1)
  await reserve(grid.bob, ['src/**'], { release: true })
  expect((await waiting).text).toMatchObject({ reserved: ['src/a'] })
  expect(await read(grid.alice)).toEqual([])
})

test('agents of other accounts neither conflict with nor see each other', async () => {
  await reserve(grid.bob, ['a'])
  expect((await reserve(grid.eve, ['a'])).code).toBeUndefined()
  expect(await list(grid.eve)).toEqual(['@eve a'])
})

test('an agent can reserve 20 names per call and 200 in total, and ** needs a note', async () => {
  const names = (n: number, count = 20) => Array.from({ length: count }, (_, i) => `${n}/${i}`)
  expect((await reserve(grid.bob, names(0, 21))).code).toBe('invalid_input')
  expect((await reserve(grid.bob, ['**'])).message).toMatch(/note/)
  expect((await reserve(grid.bob, ['../x'])).message).toMatch(/names\.0/)
  expect((await reserve(grid.bob, [])).code).toBe('invalid_input')
  for (let n = 0; n < 10; n++) expect((await reserve(grid.bob, names(n))).code).toBeUndefined()
  expect((await reserve(grid.bob, ['one more'])).code).toBe('reservation_limit_reached')
  // Renewed reservations do not count again.
  expect((await reserve(grid.bob, names(0))).code).toBeUndefined()
})

test('of several parallel agents, only one gets an exclusive name', async () => {
  const agents = await Promise.all(Array.from({ length: 8 }, (_, n) => grid.acme.agent(`worker-${n}`)))
  const results = await Promise.all(
    agents.map((agent, n) => reserve(agent, [n % 2 ? 'src/**' : `src/${n}/*`, `own/${n}`])),
  )
  const held = await list(grid.alice, { names: ['src/**'] })
  const wide = held.filter((name: string) => name.endsWith('src/**'))
  expect(wide.length === 0 || held.length === 1).toBe(true)
  expect(results.filter(({ code }) => code === undefined)).toHaveLength(held.length)
})

test('slow comparisons of names do not block other work, and run for one caller at a time', async () => {
  const waiting = { reservations: new KeyedMutex() }
  const slow = Array.from({ length: 200 }, (_, n) => ({ name: `${'a'.repeat(190)}${n}` }))
  const order: string[] = []
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  count()

  const callers = ['first', 'second'].map(async (caller) => {
    expect(await meeting({ waiting }, [`*${'a'.repeat(99)}b*`, '*17'], slow)).toHaveLength(2)
    order.push(`${caller} after ${turns}`)
  })
  await Promise.all(callers)
  isOver = true

  const [first, second] = order.map((text) => Number(text.split(' ').at(-1)))
  expect(order.map((text) => text.split(' ')[0])).toEqual(['first', 'second'])
  expect(first).toBeGreaterThan(3)
  expect(second).toBeGreaterThan(first + 3)
})
