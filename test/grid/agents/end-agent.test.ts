/** Senders are notified that a recipient was deleted. See docs/delivery.md, "Parked messages". */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { endAgent } from '../../../src/grid/agents/end-agent.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { ask } from '../../../src/grid/messaging/ask.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { giveUpAlias } from '../../../src/grid/people/person-aliases.ts'
import { cancelTask, getTask } from '../../../src/grid/tasks/tasks.ts'
import { callingAgent } from '../../../src/auth/actor.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { failTasks } from '../../../src/worker/retention.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { claimAgents, signUpAs } from '../../support/signup.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
let alice: AccountStore

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open({ env: { SIGNUP_PER_HOUR: '1000' } })
    alice = storeOf(grid, grid.alice)
  })

  test('each sender of unread messages to a deleted agent gets one notice, as a reply to their last message', async () => {
    const desk = await grid.acme.agent('desk', { visibility: 'public' })
    await sendTo('desk', grid.alice, 'already read')
    await readMessages(storeOf(grid, desk), {})
    for (const text of ['one', 'two']) await sendTo('desk', grid.alice, text)
    const last = await sendTo('desk', grid.alice, 'three', { conversationId: 'beans' })
    const foreign = await sendTo('desk', grid.eve, 'hi')

    await deleteAgent(grid.acme.store, 'desk')

    const [notice, ...others] = await inboxOf(alice)
    expect(others).toEqual([])
    expect(notice).toMatchObject({
      user: '@desk',
      type: 'system',
      message: '@desk was deleted before reading your last 3 messages.',
      reply_to_message_id: last,
      conversation_id: 'beans',
    })
    expect(await inboxOf(storeOf(grid, grid.eve))).toMatchObject([{
      type: 'system',
      external: true,
      message: '@desk was deleted before reading your message.',
      reply_to_message_id: foreign,
    }])
  })

  test("nobody is notified of a deleted agent's unread posts and notices, and deleted or remote senders are never notified", async () => {
    const carol = await grid.acme.agent('carol')
    const far = await grid.acme.agent('far', { type: 'a2a', remoteUrl: 'https://far.example/' })
    await createChannel(grid.acme.store, { name: 'all', members: ['alice', 'bob'] })
    const { id } = await askFor(alice, 'beans', { mode: 'receipt' })
    await readMessages(storeOf(grid, grid.bob), {})
    await cancelTask(alice, id)
    await sendMessage(alice, { to: '#all', text: 'hi' })
    await sendTo('bob', carol, 'hi')
    await sendTo('bob', far, 'hi')
    await deleteAgent(grid.acme.store, 'carol')
    expect(await grid.acme.store.read.inbox.unread(grid.bob.id)).toBe(4)

    await deleteAgent(grid.acme.store, 'bob')

    for (const { id } of [grid.alice, carol, far]) {
      expect(await grid.acme.store.read.inbox.newest(id, Number.MAX_SAFE_INTEGER, 9, grid.clock.now)).toEqual([])
    }
  })

  test("a task's client sees that the task failed, and gets a notice if its replies arrive in its inbox", async () => {
    const task = await askFor(alice, 'beans')
    const carol = storeOf(grid, await grid.acme.agent('carol'))
    const receipt = await askFor(carol, 'peas', { mode: 'receipt' })

    await deleteAgent(grid.acme.store, 'bob')
    await failTasks(grid.store)

    expect(await inboxOf(alice)).toEqual([])
    expect((await getTask(alice, task.id)).status).toMatchObject({ state: 'failed' })
    expect(await inboxOf(carol)).toMatchObject([{ message: '@bob was deleted before reading your message.' }])
    expect((await getTask(carol, receipt.id)).status).toMatchObject({ state: 'failed' })
  })

  test('the notice of a deletion wakes a sender that waits for the answer', async () => {
    const idle = followIdle(grid.store)
    await grid.acme.store.write([alice.change.agents.markSeen(grid.bob.id, grid.clock.now)])
    const options = { seconds: 3_600, lookEveryMs: 3_600_000 }
    const asking = ask(alice, callingAgent(alice.actor), { to: '@bob', text: 'how many?' }, options)
    await idle(1)

    await deleteAgent(grid.acme.store, 'bob')

    expect((await asking).answer).toMatchObject({
      messages: [{ type: 'system', message: '@bob was deleted before reading your message.' }],
    })
  })

  test('an agent that writes during the deletion is also notified', async () => {
    const early = await endAgent(grid.acme.store, grid.bob, grid.clock.now)
    await sendTo('bob', grid.alice, 'hi')

    await expect(grid.acme.store.write(early)).rejects.toMatchObject({ code: 'write_conflict' })
    await deleteAgent(grid.acme.store, 'bob')

    expect(await inboxOf(alice)).toMatchObject([{ type: 'system' }])
  })

  test('senders are also notified when a person leaves, or when a claim discards the recipient', async () => {
    const max = await personWithAlias(grid, 'max')
    const zoe = await signUpAs(grid, 'zoe@new.example', 'zoe')
    const mate = await signUpAs(grid, 'zoe@new.example', 'mate')
    await sendTo('max', grid.alice, 'hi')
    await sendMessage(storeOf(grid, mate, { id: mate.home }), { to: '@zoe', text: 'hi' })

    await giveUpAlias(max.account)
    await claimAgents(grid, zoe.link, { discard: ['zoe'] })

    expect(await inboxOf(alice)).toMatchObject([{ message: '@max left before reading your message.' }])
    expect(await inboxOf(storeOf(grid, mate, { id: mate.home }))).toMatchObject([{
      message: '@zoe was deleted before reading your message.',
    }])
  })
})

async function sendTo(alias: string, from: TestAgent, text: string, more: object = {}): Promise<string> {
  return (await sendMessage(storeOf(grid, from), { to: `@${alias}`, text, ...more })).id
}

async function inboxOf(store: AccountStore) {
  return (await readMessages(store, {})).messages
}
