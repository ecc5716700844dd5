import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import type { SendInput } from '../../../src/grid/messaging/outgoing-message.ts'
import { waitForMessages, watchInbox } from '../../../src/grid/messaging/wait-for-messages.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let startedAt: number

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    startedAt = grid.clock.now
  })
  afterEach(() => grid.close())

  test('the timeline tells of each recipient what happened when, in the order of time', async () => {
    const { id } = await send(grid.alice, { to: 'bob', text: 'question' })
    // Read and released with it, and no part of its timeline.
    await send(grid.alice, { to: 'bob', text: 'another' })
    grid.clock.now += second
    const { lease } = await readMessages(as(grid.bob), {})
    grid.clock.now += second
    await leaseOf(as(grid.bob), lease!.id).release()
    grid.clock.now += second
    await readMessages(as(grid.bob), {})
    grid.clock.now += second
    await send(grid.bob, { to: 'alice', text: 'answer', replyToMessageId: id })

    expect(await timeline(id)).toEqual([
      'bob stored 0',
      'bob leased 1',
      'bob released 2',
      'bob leased 3',
      'bob replied 4',
    ])
  })

  test('a recipient that waited with a read or a stream was woken', async () => {
    const idle = followIdle(grid.store)
    const reading = waitForMessages(as(grid.bob), {}, { seconds: 10 })
    const connection = { signal: new AbortController().signal }
    const stream = watchInbox(as(grid.alice), { heartbeatMs: minute, check: () => Promise.resolve(), connection })!
    await stream.next()
    await idle(1)

    const toBob = await send(grid.alice, { to: 'bob', text: 'hi' })
    await reading
    const toAlice = await send(grid.bob, { to: 'alice', text: 'hi' })
    expect((await stream.next()).value).toBe('unread')
    await send(grid.alice, { to: 'bob', text: 'another commit' })

    expect(await timeline(toBob.id)).toEqual(['bob stored 0', 'bob woken 0', 'bob leased 0'])
    expect(await timeline(toAlice.id, grid.bob)).toEqual(['alice stored 0', 'alice woken 0'])
    await stream.return(undefined)

    // Another stream announces it again, and then it is read. It was woken by the first.
    grid.clock.now += second
    const later = watchInbox(as(grid.alice), { heartbeatMs: minute, check: () => Promise.resolve(), connection })!
    expect((await later.next()).value).toBe('unread')
    await later.return(undefined)
    await send(grid.alice, { to: 'bob', text: 'another commit' })
    expect(await timeline(toAlice.id, grid.bob)).toEqual(['alice stored 0', 'alice woken 0'])
    await readMessages(as(grid.alice), {})
    expect(await timeline(toAlice.id, grid.bob)).toEqual(['alice stored 0', 'alice woken 0', 'alice leased 1'])
  })

  test('what waits for a remote agent is pending', async () => {
    await grid.acme.agent('remote', { type: 'a2a', remoteUrl: 'https://remote.example/' })
    const { id } = await send(grid.alice, { to: 'remote', text: 'hi' })

    expect(await messageStatus(as(grid.alice), id)).toMatchObject({ delivery: 'pending', readBy: [] })
  })

  test('of another account it tells when it was leased and answered, and nothing else', async () => {
    const desk = await grid.evil.agent('desk', { visibility: 'public' })
    await grid.acme.agent('open-alice', { visibility: 'public' })
    const idle = followIdle(grid.store)
    const reading = waitForMessages(as(desk, grid.evil), {}, { seconds: 10 })
    await idle(1)
    const { id } = await send(grid.alice, { to: 'desk', text: 'hi' })
    const { lease } = await reading
    await leaseOf(as(desk, grid.evil), lease!.id).release()
    await readMessages(as(desk, grid.evil), {})
    // A reply to another agent is not shown to the sender.
    await sendMessage(as(desk, grid.evil), { to: 'eve', text: 'what is this?', replyToMessageId: id })

    expect(await timeline(id)).toEqual(['desk stored 0', 'desk leased 0'])
    await deleteAgent(grid.evil.store, 'desk')
    expect(await timeline(id)).toEqual(['desk stored 0', 'desk leased 0'])
  })

  test('replies of a recipient to somebody else are not shown, in the same account either', async () => {
    const carol = await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })
    const { id } = await send(grid.alice, { to: '#general', text: 'question' })
    grid.clock.now += second
    await send(grid.bob, { to: 'carol', text: 'psst', replyToMessageId: id })
    await send(carol, { to: 'bob', text: 'psst', replyToMessageId: id })

    expect(await timeline(id)).toEqual(['bob stored 0', 'carol stored 0'])
    await send(carol, { to: 'alice', text: 'answer', replyToMessageId: id })
    expect(await timeline(id)).toEqual(['bob stored 0', 'carol stored 0', 'carol replied 1'])
  })

  test('what was read counts as unread nowhere, until it is released', async () => {
    const carol = await grid.acme.agent('carol')
    await send(grid.bob, { to: 'alice', text: 'to the sender' })
    await send(carol, { to: 'bob', text: 'one' })
    await readMessages(as(grid.alice), {})
    const { lease } = await readMessages(as(grid.bob), {})
    expect(await unread()).toEqual({ sender: 0, recipient: 1, inboxes: [0, 1] })

    await leaseOf(as(grid.bob), lease!.id).release()
    await send(grid.bob, { to: 'alice', text: 'to the sender' })
    expect(await unread()).toEqual({ sender: 1, recipient: 3, inboxes: [1, 3] })
  })

  test('a message that is released after its agent is deleted is parked too', async () => {
    const { id } = await send(grid.alice, { to: 'bob', text: 'hi' })
    const { lease } = await readMessages(as(grid.bob), {})
    await deleteAgent(grid.acme.store, 'bob')

    await leaseOf(as(grid.bob), lease!.id).release()

    expect((await timeline(id)).at(-1)).toMatch(/^bob parked/)
  })

  test('what an agent never read is parked when it is deleted', async () => {
    const { id } = await send(grid.alice, { to: 'bob', text: 'hi' })
    grid.clock.now += second
    await deleteAgent(grid.acme.store, 'bob')

    expect(await timeline(id)).toEqual(['bob stored 0', 'bob parked 1'])
    expect(await messageStatus(as(grid.alice), id)).toMatchObject({ delivery: 'failed', readBy: [] })
  })

  test('a timeline has the newest 200 entries and says how many it leaves out', async () => {
    const members = await Promise.all(Array.from({ length: 201 }, (_, n) => grid.acme.agent(`member-${n}`)))
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', ...members.map(({ alias }) => alias)] })
    const { id } = await send(grid.alice, { to: '#general', text: 'hi' })
    grid.clock.now += second
    await readMessages(as(members[7]), {})

    const status = await messageStatus(as(grid.alice), id)

    expect(status.timeline).toHaveLength(200)
    expect(status.leftOut).toBe(2)
    expect(status.timeline.at(-1)).toEqual({ alias: 'member-7', event: 'leased', at: startedAt + second })
  }, 300_000)

  test('a send tells when its recipient was last seen and how much waits for it', async () => {
    const first = await send(grid.alice, { to: 'bob', text: 'one' })
    await grid.acme.store.write([grid.acme.store.change.agents.markSeen(grid.bob.id, startedAt)])
    const second = await send(grid.alice, { to: 'bob', text: 'two' })

    expect(first).toMatchObject({ recipientUnread: 1, recipientSeenAt: null })
    expect(second).toMatchObject({ recipientUnread: 2, recipientSeenAt: startedAt })
    expect(second).not.toHaveProperty('recipients')
  })

  test('100 stands for 100 or more unread messages', async () => {
    await Promise.all(Array.from({ length: 105 }, (_, n) => send(grid.alice, { to: 'bob', text: `${n}` })))

    expect((await send(grid.alice, { to: 'bob', text: 'one more' })).recipientUnread).toBe(100)
  }, 300_000)

  test('a post tells how many got it, and how many of them were seen within 10 minutes', async () => {
    const carol = await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })
    const { agents } = grid.acme.store.change
    await grid.acme.store.write([
      agents.markSeen(grid.bob.id, startedAt),
      agents.markSeen(carol.id, startedAt - 10 * minute),
    ])

    const post = await send(grid.alice, { to: '#general', text: 'hi' })

    expect(post).toMatchObject({ recipients: 2, recipientsActive: 1 })
    expect(post).not.toHaveProperty('recipientUnread')
  })

  test('about an agent of another account a send tells nothing', async () => {
    await grid.evil.agent('desk', { visibility: 'public' })

    const sent = await send(grid.alice, { to: 'desk', text: 'hi' })

    expect(Object.keys(sent).sort()).toEqual(['conversationId', 'createdAt', 'hops', 'id', 'recipient', 'unread'])
  })

  test('a repeat under the same key gets the first receipt, whatever happened since', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    await grid.evil.agent('desk', { visibility: 'public' })
    for (const to of ['bob', '#general', 'desk']) {
      const first = await send(grid.alice, { to, text: 'hi', idempotencyKey: to })
      await send(grid.bob, { to: 'alice', text: 'ho' })
      await send(grid.alice, { to, text: 'more' })
      await grid.acme.store.write([grid.acme.store.change.agents.markSeen(grid.bob.id, startedAt)])

      expect(await send(grid.alice, { to, text: 'hi', idempotencyKey: to })).toEqual(first)
    }
  })
})

async function timeline(id: string, sender = grid.alice): Promise<string[]> {
  const status = await messageStatus(as(sender), id)
  return status.timeline.map(({ alias, event, at }) => `${alias} ${event} ${(at - startedAt) / second}`)
}

/** What a send of alice to bob tells, and what their inboxes and pages count after it. */
async function unread() {
  const sent = await send(grid.alice, { to: 'bob', text: 'hi' })
  const { agentSettings, inbox, overview } = grid.acme.store.read
  const agents = [grid.alice, grid.bob]
  const inboxes = await Promise.all(agents.map(({ id }) => inbox.unread(id)))
  const listed = await agentSettings.list({ order: 'alias', limit: 50 })
  expect(agents.map(({ id }) => listed.find((agent) => agent.id === id)!.unread)).toEqual(inboxes)
  expect(await overview.unread()).toBe(inboxes[0] + inboxes[1])
  return { sender: sent.unread, recipient: sent.recipientUnread, inboxes }
}

function as({ id, alias }: TestAgent, account = grid.acme) {
  return grid.store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

function send(from: TestAgent, input: SendInput) {
  return sendMessage(as(from), input)
}
