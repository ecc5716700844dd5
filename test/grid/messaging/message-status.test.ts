import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import type { SendInput } from '../../../src/grid/message/outgoing-message.ts'
import { waitForMessages, watchInbox } from '../../../src/grid/messaging/wait-for-messages.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let startedAt: number

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    startedAt = grid.clock.now
  })

  test("the timeline lists each recipient's events in chronological order", async () => {
    const { id } = await send(grid.alice, { to: 'bob', text: 'question' })
    // This message is also read and released, but must not appear in the first message's timeline.
    await send(grid.alice, { to: 'bob', text: 'another' })
    grid.clock.now += second
    const { lease } = await readMessages(storeOf(grid, grid.bob), {})
    grid.clock.now += second
    await leaseOf(storeOf(grid, grid.bob), lease!.id).release()
    grid.clock.now += second
    await readMessages(storeOf(grid, grid.bob), {})
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

  test('the timeline shows that a waiting read or a stream woke the recipient', async () => {
    const idle = followIdle(grid.store)
    const reading = waitForMessages(storeOf(grid, grid.bob), {}, { seconds: 10 })
    const connection = { signal: new AbortController().signal }
    const stream = watchInbox(storeOf(grid, grid.alice), {
      heartbeatMs: minute,
      check: () => Promise.resolve(),
      caller: connection,
    })!
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

    // Another stream announces the message again before it is read. The timeline shows only the first wake.
    grid.clock.now += second
    const later = watchInbox(storeOf(grid, grid.alice), {
      heartbeatMs: minute,
      check: () => Promise.resolve(),
      caller: connection,
    })!
    expect((await later.next()).value).toBe('unread')
    await later.return(undefined)
    await send(grid.alice, { to: 'bob', text: 'another commit' })
    expect(await timeline(toAlice.id, grid.bob)).toEqual(['alice stored 0', 'alice woken 0'])
    await readMessages(storeOf(grid, grid.alice), {})
    expect(await timeline(toAlice.id, grid.bob)).toEqual(['alice stored 0', 'alice woken 0', 'alice leased 1'])
  })

  test('a message to another account shows only when it was leased and answered', async () => {
    const desk = await grid.evil.agent('desk', { visibility: 'public' })
    await grid.acme.agent('open-alice', { visibility: 'public' })
    const idle = followIdle(grid.store)
    const reading = waitForMessages(storeOf(grid, desk, grid.evil), {}, { seconds: 10 })
    await idle(1)
    const { id } = await send(grid.alice, { to: 'desk', text: 'hi' })
    const { lease } = await reading
    await leaseOf(storeOf(grid, desk, grid.evil), lease!.id).release()
    await readMessages(storeOf(grid, desk, grid.evil), {})
    // The sender does not see a reply to another agent.
    await sendMessage(storeOf(grid, desk, grid.evil), { to: 'eve', text: 'what is this?', replyToMessageId: id })

    expect(await timeline(id)).toEqual(['desk stored 0', 'desk leased 0'])
    await deleteAgent(grid.evil.store, 'desk')
    expect(await timeline(id)).toEqual(['desk stored 0', 'desk leased 0'])
  })

  test("a receipt reveals nothing about another account's agent", async () => {
    await grid.evil.agent('desk', { visibility: 'public' })

    const sent = await send(grid.alice, { to: 'desk', text: 'hi' })

    const { openTask, ...others } = sent
    expect(openTask).toBeNull()
    expect(Object.keys(others).sort()).toEqual(['conversationId', 'createdAt', 'hops', 'id', 'recipient', 'unread'])
  })
})

async function timeline(id: string, sender = grid.alice): Promise<string[]> {
  const status = await messageStatus(storeOf(grid, sender), id)
  return status.timeline.map(({ alias, event, at }) => `${alias} ${event} ${(at - startedAt) / second}`)
}

function send(from: TestAgent, input: SendInput) {
  return sendMessage(storeOf(grid, from), input)
}
