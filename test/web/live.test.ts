/** The event stream of open pages: its events, its readers, and its end. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Role } from '../../src/auth/actor.ts'
import { sessionIdleMs } from '../../src/auth/session.ts'
import { removeMember, setMemberRole } from '../../src/grid/people/team.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { minute } from '../../src/lib/time.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { following, liveOf, openLive } from '../support/live.ts'
import { sendMessage } from '../support/messaging.ts'
import { person, signedIn, signedInMember } from '../support/people.ts'
import { tripwire } from '../support/tripwire.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
let stop: AbortController
let unfollow: () => Promise<void>
/** How often an account's agents were queried. */
let looks = 0
beforeEach(async () => {
  stop = new AbortController()
  looks = 0
  const inspect = (sql: string, name: string | undefined) => {
    tripwire(sql, name)
    if (sql.includes('AS queue')) looks++
  }
  grid = await testGrid({ stopping: stop.signal, inspect })
  unfollow = following(grid.store)
})
afterEach(async () => {
  await unfollow()
})

test('the stream announces a message by account, thread and number, without its text', async () => {
  const live = await openLive(await signedInMember(grid, grid.acme, 'owner'), grid.acme.id)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'the secret word' })

  const { data, id } = await live.next('thread')
  const [thread] = (await listThreads(grid.acme.store, {})).threads
  expect(data).toEqual({ a: grid.acme.id, t: thread.id, seq: thread.lastSeq, at: grid.clock.now })
  expect(id).toBe(thread.lastSeq)
  await live.close()
})

test('the stream announces events of a message in a watched thread', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })
  const thread = await waitFor('the thread', async () => (await listThreads(grid.acme.store, {})).threads[0])
  const live = await openLive(await signedInMember(grid, grid.acme, 'owner'), `${grid.acme.id}:${thread.id}`)
  const { lease } = await readMessages(storeOf(grid, grid.bob), { limit: 10 })

  expect((await live.next('state')).data).toEqual({ a: grid.acme.id, t: thread.id, ids: [thread.lastSeq] })
  await leaseOf(storeOf(grid, grid.bob), lease!.id).release()
  expect((await live.next('state')).data.ids).toEqual([thread.lastSeq])
  await sendMessage(storeOf(grid, grid.bob), { to: 'alice', text: 'two' })
  const { data } = await live.next('thread')
  await readMessages(storeOf(grid, grid.alice), { limit: 10 })
  expect((await live.next('state')).data.ids).toEqual([data.seq])
  await live.close()
})

test("the stream announces a change in an agent's queue", async () => {
  const live = await openLive(await signedInMember(grid, grid.acme, 'viewer'), grid.acme.id)
  // The stream can report a change once it has queried the account's agents.
  await waitFor('a look at the agents', () => looks > 0)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })

  expect((await live.next('presence')).data).toEqual({
    a: grid.acme.id,
    agent: grid.bob.id,
    state: 'never seen',
    queue: 1,
  })
  await live.close()
})

test('a reopened stream reports missed events, or asks the page to reload if there are too many', async () => {
  const one = await signedInMember(grid, grid.acme, 'owner')
  const sender = storeOf(grid, grid.alice)
  const lost = await openLive(one, grid.acme.id)
  await sendMessage(sender, { to: 'bob', text: 'one' })
  const { id } = await lost.next('thread')
  await lost.close()
  await sendMessage(sender, { to: 'bob', text: 'two' })
  await sendMessage(sender, { to: 'bob', text: 'three', conversationId: 'c' })
  await placed()

  const again = await openLive(one, grid.acme.id, `&after=${id}`)
  expect([await again.next('thread', 'resync'), await again.next('thread', 'resync')].map(({ data }) => data.seq))
    .toEqual([id! + 1, id! + 2])
  await again.close()
  for (let n = 0; n < 200; n++) await sendMessage(sender, { to: 'bob', text: `${n}` })
  await placed()
  // Waits until all updates are sent, because a pending one would arrive after the start of a new stream.
  const { messages: newest } = await grid.store.global.pulses.read()
  await waitFor('the feed', async () => {
    const look = liveOf(await one.request(`/live?watch=${grid.acme.id}`))
    const { data } = await look.next('hello')
    await look.close()
    return data.seq === newest
  })
  const late = await openLive(one, grid.acme.id, `&after=${id}`)
  expect((await late.next('thread', 'resync')).name).toBe('resync')
  await late.close()
})

test('the stream ends with a reason when the session ends, the role is lost, or the process stops', async () => {
  const [ann, tom, kim] = [await member('owner'), await member('owner'), await member('member')]
  const [first, second, third] = await Promise.all([ann, tom, kim].map(({ one }) => openLive(one, grid.acme.id)))
  await grid.store.write([grid.store.global.sessions.endOthers(ann.id, '', grid.clock.now)])
  expect((await first.rest()).at(-1)).toMatchObject({ name: 'bye', data: { why: 'session' } })
  await removeMember(grid.acme.store, tom.id)
  expect((await second.rest()).at(-1)).toMatchObject({ name: 'bye', data: { why: 'account', a: grid.acme.id } })
  stop.abort()
  expect((await third.rest()).at(-1)).toMatchObject({ name: 'bye', data: { why: 'stopping' } })

  expect(grid.store.waiting.pages.count).toBe(0)
})

test('lowering a role during a stream stops events that the new role may not read', async () => {
  const { one, id } = await member('admin')
  const live = await openLive(one, grid.acme.id)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })
  await live.next('thread')
  await setMemberRole(grid.acme.store, { userId: id, role: 'viewer' })
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'two' })
  await placed()
  await live.next('presence')
  stop.abort()

  expect((await live.rest()).map(({ name }) => name)).not.toContain('thread')
})

test('the stream asks a slow reader to reload everything instead of sending each of many pending events', async () => {
  const live = await openLive(await signedInMember(grid, grid.acme, 'owner'), grid.acme.id)
  const sender = storeOf(grid, grid.alice)
  const count = 1_200
  for (let n = 0; n < count; n += 100) {
    await Promise.all(Array.from({ length: 100 }, () => sendMessage(sender, { to: 'bob', text: 'hello' })))
  }
  await placed()
  const { messages: newest } = await grid.store.global.pulses.read()
  const found = [await live.next('thread', 'resync')]
  while (found.at(-1)!.id !== newest) found.push(await live.next('thread', 'resync'))

  expect(found.map(({ name }) => name)).toContain('resync')
  expect(found.length).toBeLessThan(20)
  await live.close()
})

test("a person's fifth stream ends the oldest one", async () => {
  const one = await signedInMember(grid, grid.acme, 'member')
  const streams = []
  for (let n = 0; n < 5; n++) streams.push(await openLive(one, grid.acme.id))

  expect((await streams[0].rest()).at(-1)).toMatchObject({ name: 'bye', data: { why: 'replaced' } })
  expect(grid.store.waiting.pages.count).toBe(4)
  for (const { close } of streams.slice(1)) await close()
  await waitFor('the end of all streams', () => grid.store.waiting.pages.count === 0)
})

test('the stream reveals nothing about another account, or about a thread that the reader may not read', async () => {
  const [viewer, stranger] = [await member('viewer'), await signedInMember(grid, grid.evil, 'owner')]
  const member2 = await member('member')
  const streams = [
    await openLive(viewer.one, grid.acme.id),
    await openLive(member2.one, grid.acme.id),
    await openLive(stranger, grid.evil.id),
  ]
  const owner = await openLive((await member('owner')).one, grid.acme.id)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })
  await owner.next('thread')
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'two' })
  await owner.next('thread')
  stop.abort()

  for (const { rest } of streams) {
    expect((await rest()).map(({ name }) => name)).not.toContain('thread')
  }
})

test('missed events are sent only if the reader may read them', async () => {
  const { one } = await member('viewer')
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })
  await placed()
  const owner = await signedInMember(grid, grid.acme, 'owner')
  const watch = `/live?watch=${grid.acme.id}&after=0`
  const [streamOfOwner, streamOfViewer] = [liveOf(await owner.request(watch)), liveOf(await one.request(watch))]
  await streamOfOwner.next('thread')
  stop.abort()

  expect((await streamOfViewer.rest()).map(({ name }) => name)).not.toContain('thread')
})

test('an expired session ends the stream before any further event', async () => {
  const { one } = await member('owner')
  grid.clock.now += sessionIdleMs - minute
  const live = await openLive(one, grid.acme.id)
  await live.next('count')
  grid.clock.now += minute
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'after the end' })

  const events = await live.rest()
  expect(events.map(({ name }) => name)).not.toContain('thread')
  expect(events.at(-1)).toMatchObject({ name: 'bye', data: { why: 'session' } })
})

test('the stream continues after a failed query', async () => {
  const live = await openLive(await signedInMember(grid, grid.acme, 'owner'), grid.acme.id)
  const { livePlaces } = grid.store.global
  const failing = vi.spyOn(livePlaces, 'after').mockRejectedValueOnce(new Error('the database is away'))
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })

  expect((await live.next('thread')).data).toMatchObject({ a: grid.acme.id })
  expect(failing.mock.calls.length).toBeGreaterThan(1)
  await live.close()
})

test("the stream refuses another user's account like a missing one, and omits another account's thread", async () => {
  const one = await signedInMember(grid, grid.evil, 'owner')
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'one' })
  await placed()
  const [thread] = (await listThreads(grid.acme.store, {})).threads
  for (const id of [grid.acme.id, 'nothing']) {
    const answer = await one.request(`/live?watch=${grid.evil.id},${id}`)
    expect(await answer.text()).toMatch(
      new RegExp(`^retry: \\d+\\nevent: bye\\ndata: {"why":"account","a":"${id}"}\\n\\n$`),
    )
  }
  const live = await openLive(one, `${grid.evil.id}:${thread.id}`)
  await readMessages(storeOf(grid, grid.bob), { limit: 10 })
  await live.next('count')
  stop.abort()
  expect((await live.rest()).map(({ name }) => name)).toEqual(['bye'])
})

test.each([
  ['without a session', '', 401],
  ['without an account', '', 400],
  ['with too many', Array.from({ length: 41 }, () => 'a').join(','), 400],
  ['with something else', 'a:b', 400],
])('a stream %s is refused', async (how, watch, status) => {
  const one = await signedInMember(grid, grid.acme, 'owner')
  if (how === 'without a session') one.cookies.clear()
  const answer = await one.request(`/live?watch=${how === 'without a session' ? grid.acme.id : watch}`)

  expect(answer.status).toBe(status)
  await answer.body?.cancel()
})

test('neither the stream nor automatic requests of pages prolong the session', async () => {
  const { one, id } = await member('owner')
  grid.clock.now += 30 * minute
  const live = await openLive(one, grid.acme.id)
  await one.request(`/accounts/${grid.acme.id}/agents`, { headers: { 'X-By-Itself': 'yes' } })
  await live.close()
  const sessions = () => grid.store.global.sessions.ofUser(id, grid.clock.now, 0)

  // Wait until the use of the session is stored, which happens after the response.
  await grid.store.drained()
  expect((await sessions())[0].lastSeenAt).toBe(grid.clock.now - 30 * minute)
  await one.open(`/accounts/${grid.acme.id}/agents`)
  await waitFor('the use of the session', async () => (await sessions())[0].lastSeenAt === grid.clock.now)
})

async function member(role: Role) {
  const one = await person(grid, { account: grid.acme, role })
  return { id: one.id, one: await signedIn(grid, one) }
}

/** Resolves when every message has been assigned to its conversation. */
async function placed(): Promise<void> {
  await waitFor('the places', async () => {
    const { positions, messages } = await grid.store.global.pulses.read()
    return positions.get('conversations') === messages
  })
}
