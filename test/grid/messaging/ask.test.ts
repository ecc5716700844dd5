/** Sending a message and waiting for the answer in one call. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { ask, askChannel, type Asked } from '../../../src/grid/messaging/ask.ts'
import type { SendInput } from '../../../src/grid/message/outgoing-message.ts'
import { leaseMessages } from '../../../src/grid/messaging/timed-leases.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { retractMessage } from '../../../src/grid/messaging/retract-message.ts'
import { waitForMessages, type WaitOptions } from '../../../src/grid/messaging/wait-for-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { expireMessages } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { approveOne, hold, refuseOne } from '../../support/held.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let idle: ReturnType<typeof followIdle>
let alice: AccountStore
let bob: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  idle = followIdle(grid.store)
  alice = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
  // Calls do not wait for an agent that has never connected, so both are marked as seen.
  for (const { store, id } of [{ store: alice, id: grid.alice.id }, { store: bob, id: grid.bob.id }]) {
    await store.write([store.change.agents.markSeen(id, grid.clock.now)])
  }
})

test('a reply to the sent message is the answer, and is leased only to the call', async () => {
  const asking = asked({ text: 'how many?' })
  await idle(1)
  const [question] = await questions()
  await sendMessage(bob, { to: '@alice', text: 'three', replyToMessageId: question.message_id })

  const { sent, answer } = await asking
  expect(answer).toMatchObject({ messages: [{ message: 'three', reply_to_message_id: sent.id }], unread: 0 })
  expect(await textsOf(readMessages(alice, {}))).toEqual([])
  await answer!.lease!.release()
  expect((await readMessages(alice, {})).messages).toMatchObject([{ message: 'three', redelivered: true }])
})

test("without a reply id, the agent's next message is the answer, and others' messages stay unread", async () => {
  const asking = asked({ text: 'how many?' })
  await idle(1)
  const carol = storeOf(grid, await grid.acme.agent('carol'))
  await sendMessage(carol, { to: '@alice', text: 'hello' })
  await sendMessage(bob, { to: '@alice', text: 'about something else', replyToMessageId: (await earlier()).id })
  await sendMessage(bob, { to: '@alice', text: 'three' })

  expect((await asking).answer).toMatchObject({ messages: [{ message: 'three' }], unread: 2 })
})

test('two calls to one agent get their own answers, and without reply ids the older call gets the first answer', async () => {
  const [first, second, third] = ['first', 'second', 'third'].map((text) => asked({ text }))
  await idle(3)
  const byText = new Map((await questions()).map(({ message, message_id }) => [message, message_id]))
  await sendMessage(bob, { to: '@alice', text: 'to the third', replyToMessageId: byText.get('third') })
  await sendMessage(bob, { to: '@alice', text: 'to the first' })
  await sendMessage(bob, { to: '@alice', text: 'to the second' })

  const answers = await Promise.all([first, second, third].map(answerOf))
  expect(answers).toEqual([['to the first'], ['to the second'], ['to the third']])
})

test('only messages of the same conversation answer a call in a conversation', async () => {
  const asking = asked({ text: 'how many?', conversationId: 'eggs' })
  await idle(1)
  await sendMessage(bob, { to: '@alice', text: 'seven', conversationId: 'milk' })
  await sendMessage(bob, { to: '@alice', text: 'three', conversationId: 'eggs' })

  expect(await answerOf(asking)).toEqual(['three'])
})

test('a call that waits for an answer takes precedence over a waiting read, which does not get the answer', async () => {
  const reading = waitForMessages(alice, {}, { seconds: 50 })
  await idle(1)
  const asking = asked({ text: 'how many?' })
  await idle(2)
  await sendMessage(bob, { to: '@alice', text: 'three' })
  expect(await answerOf(asking)).toEqual(['three'])
  await sendMessage(bob, { to: '@alice', text: 'something else' })

  expect(await textsOf(reading)).toEqual(['something else'])
})

test('only a reply counts as the answer to a post', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  const asking = asked({ to: '#team', text: 'who?' })
  await idle(1)
  const [post] = await questions()
  await sendMessage(bob, { to: '@alice', text: 'no reply' })
  await sendMessage(bob, { to: '#team', text: 'no reply either' })
  await sendMessage(bob, { to: '#team', text: 'me', replyToMessageId: post.message_id })

  expect(await answerOf(asking)).toEqual(['me'])
})

test("a call without an answer in time describes the message's state, and a late answer stays unread", async () => {
  const asking = asked({ text: 'how many?' }, { seconds: 0.5 })
  await idle(1)
  grid.clock.now += 4_000
  await questions()
  const { answer } = await asking
  await sendMessage(bob, { to: '@alice', text: 'three' })

  expect(answer).toEqual({
    messages: [],
    unread: 0,
    note: '@bob read it 4 s after it was sent and has not answered yet. ' +
      'The answer will come to your inbox: a read with wait_seconds waits for it.',
  })
  expect(await textsOf(readMessages(alice, {}))).toEqual(['three'])
})

test.each([
  ['holds', /^@bob took it 4 s after it was sent and works on it\. The answer will come/],
  ['has not read', /^@bob has not read it yet\. The answer will come/],
])('a call without an answer notes that the recipient %s the message', async (what, note) => {
  const asking = asked({ text: 'how many?' }, { seconds: 0.2 })
  await idle(1)
  grid.clock.now += 4_000
  if (what === 'holds') await leaseMessages(bob, {})

  expect((await asking).answer!.note).toMatch(note)
})

test('a call without an answer to a post notes how many members have read it', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  const asking = asked({ to: '#team', text: 'who?' }, { seconds: 0.2 })
  await idle(1)
  await questions()

  expect((await asking).answer!.note).toMatch(/^No member has answered yet; 1 have read it\. The answer will come/)
})

test("a call notes that its message waits for a person, and gets a refusal's reason as the answer", async () => {
  await hold(grid.acme.store)
  const held = await asked({ text: 'how many?' }, { seconds: 0.05 })
  expect(held.answer!.note).toMatch(/^It is waiting for the approval of a person\. .+ The answer will come/)
  const { account: ann } = await member(grid, { role: 'owner' })
  await refuseOne(ann, 'No')

  const asking = asked({ text: 'how many?' })
  await idle(1)
  await refuseOne(ann, 'No')
  expect((await asking).answer!.messages).toMatchObject([{ type: 'system', message: expect.stringContaining('No') }])
})

test('a caller that disconnects finds the answer in its inbox', async () => {
  const connection = new AbortController()
  const asking = asked({ text: 'how many?' }, { seconds: 50, caller: connection })
  await idle(1)
  connection.abort()
  await asking
  await sendMessage(bob, { to: '@alice', text: 'three' })

  expect(await textsOf(readMessages(alice, {}))).toEqual(['three'])
})

test('a call does not wait for an agent that has never connected', async () => {
  await grid.acme.agent('carol')

  expect((await asked({ to: '@carol', text: 'how many?' })).answer!.note).toContain('@carol has never connected')
})

test('a call waits for a person and a remote agent, although neither ever makes a call', async () => {
  const { account: olga } = await personWithAlias(grid, 'olga')
  const robot = await grid.acme.agent('robot', { type: 'a2a', remoteUrl: 'https://robot.example/' })
  const asking = ['@olga', '@robot'].map((to) => asked({ to, text: 'how many?' }))
  await idle(2)
  await writeMessage(olga, { to: '@alice', text: 'three' })
  await sendMessage(storeOf(grid, robot), { to: '@alice', text: 'four' })

  expect(await Promise.all(asking.map(answerOf))).toEqual([['three'], ['four']])
})

test('a call does not wait for a paused remote agent', async () => {
  const robot = await grid.acme.agent('robot', { type: 'a2a', remoteUrl: 'https://robot.example/' })
  await grid.acme.store.write([grid.acme.store.change.remoteAgents.pause(robot.id, grid.clock.now)])

  expect((await asked({ to: '@robot', text: 'how many?' })).answer!.note).toContain('@robot is paused')
})

test("a call does not wait for an agent that waits for the caller's answer", async () => {
  const asking = asked({ text: 'how many?', conversationId: 'eggs' })
  await idle(1)
  const back = await ask(bob, callingAgent(bob.actor), { to: '@alice', text: 'of what?' }, { seconds: 50 })
  expect(back.answer!.note).toContain('@alice is waiting for your answer')
  await sendMessage(bob, { to: '@alice', text: 'three', conversationId: 'eggs' })

  expect(await answerOf(asking)).toEqual(['three'])
})

test('a call waits for an agent whose question the caller has already answered, or that waits for a third agent', async () => {
  const asBob = (to: string) => ask(bob, callingAgent(bob.actor), { to, text: 'of what?' }, { seconds: 50 })
  const carol = storeOf(grid, await grid.acme.agent('carol'))
  await carol.write([carol.change.agents.markSeen(callingAgent(carol.actor).agentId, grid.clock.now)])
  const ofAlice = asBob('@alice')
  await idle(1)
  await sendMessage(alice, { to: '@bob', text: 'of eggs' })
  expect(await answerOf(ofAlice)).toEqual(['of eggs'])
  const ofCarol = asBob('@carol')
  await idle(1)

  const asking = asked({ text: 'how many?' })
  await idle(2)
  await sendMessage(bob, { to: '@alice', text: 'three' })
  expect(await answerOf(asking)).toEqual(['three'])
  await sendMessage(carol, { to: '@bob', text: 'of eggs' })
  await ofCarol
})

test('a message that starts a task is not the answer to a call', async () => {
  // The delivery of a task has no reply id, so only its task column identifies it.
  const asking = asked({ text: 'how many?' }, { seconds: 0.1 })
  await idle(1)
  const { startTask } = await import('../../../src/grid/tasks/start-task.ts')
  await startTask(bob, callingAgent(bob.actor), {
    to: '@alice',
    message: { messageId: 'm1', parts: [{ text: 'do this' }] },
    mode: 'task',
  })

  expect(await answerOf(asking)).toEqual([])
  expect(await textsOf(readMessages(alice, {}))).toEqual(['do this'])
})

test('a repeated call gets the same receipt and answer, whether or not the answer was read', async () => {
  const input = { text: 'how many?', idempotencyKey: 'k' }
  const asking = asked(input)
  await idle(1)
  await sendMessage(bob, { to: '@alice', text: 'three' })
  const first = await asking
  // Simulates a lost response.
  await first.answer!.lease!.release()
  const second = await asked(input)
  second.answer!.lease!.ack()
  const third = await asked(input)

  expect([second.sent.id, third.sent.id]).toEqual([first.sent.id, first.sent.id])
  expect(second.answer!.messages).toMatchObject([{ message: 'three', redelivered: true }])
  expect(third.answer!.messages).toMatchObject([{ message: 'three', replayed: true }])
  expect(third.answer!.lease).toBeUndefined()
})

test('a repeated call takes a reply that arrived in the meantime, and no message from before the question', async () => {
  await sendMessage(bob, { to: '@alice', text: 'from before' })
  const input = { text: 'how many?', idempotencyKey: 'k' }
  const { sent } = await asked(input, { seconds: 0.05 })
  const again = asked(input, { seconds: 0.05 })
  expect(await answerOf(again)).toEqual([])
  await sendMessage(bob, { to: '@alice', text: 'by the way' })
  await sendMessage(bob, { to: '@alice', text: 'three', replyToMessageId: sent.id })

  expect(await answerOf(asked(input))).toEqual(['three'])
  expect(await textsOf(readMessages(alice, {}))).toEqual(['from before', 'by the way'])
})

test('a repeated call keeps waiting when the concurrent first call gives up', async () => {
  const input = { text: 'how many?', idempotencyKey: 'k' }
  const connection = new AbortController()
  const first = asked(input, { seconds: 50, caller: connection })
  await idle(1)
  const second = asked(input)
  await idle(2)
  connection.abort()
  await first
  await idle(1)
  await sendMessage(bob, { to: '@alice', text: 'three' })

  expect(await answerOf(second)).toEqual(['three'])
})

test('a call returns immediately when no recipient can read its message any more', async () => {
  const asking = asked({ text: 'how many?' }, { seconds: 50, lookEveryMs: 20 })
  await idle(1)
  await bob.write([bob.change.leases.parkUnread(grid.bob.id, grid.clock.now)])

  expect((await asking).answer!.note).toContain('@bob cannot read it any more.')
})

test.each(['expired', 'was retracted'])('a call returns immediately when its message %s', async (how) => {
  const asking = asked({ text: 'how many?', expiresInSeconds: 10 })
  await idle(1)
  if (how === 'expired') {
    grid.clock.now += 10_000
    await expireMessages(grid.store)
  } else {
    const [{ id }] = await rows(grid, 'SELECT id FROM messages WHERE account_id = ?', [grid.acme.id])
    await retractMessage(alice, callingAgent(alice.actor), String(id))
  }

  expect((await asking).answer).toMatchObject({ messages: [], note: `It ${how} before @bob read it.` })
})

test('a held answer reaches the waiting call once it is approved', async () => {
  const ann = (await personWithAlias(grid, 'ann', { role: 'owner', name: 'Ann' })).account
  const asking = asked({ text: 'may I?' })
  await idle(1)
  await hold(grid.acme.store, { fromKind: 'agent', fromId: grid.bob.id })
  await sendMessage(bob, { to: '@alice', text: 'yes' })
  await approveOne(ann)

  expect(await answerOf(asking)).toEqual(['yes'])
})

function asked(input: Partial<SendInput>, options: WaitOptions = { seconds: 50 }): Promise<Asked> {
  return ask(alice, callingAgent(alice.actor), { to: '@bob', text: '', ...input }, options)
}

/** Reads bob's unread messages. */
async function questions() {
  return (await readMessages(bob, {})).messages
}

/** Sends an earlier message from alice to bob. */
function earlier() {
  return sendMessage(alice, { to: '@bob', text: 'earlier' })
}

async function answerOf(asking: Promise<Asked>): Promise<string[]> {
  return (await asking).answer!.messages.map(({ message }) => message)
}

async function textsOf(reading: Promise<{ messages: { message: string }[] }>): Promise<string[]> {
  return (await reading).messages.map(({ message }) => message)
}

test('a post waits for the requested number of answers, and names members who have not answered', async () => {
  const carol = storeOf(grid, await grid.acme.agent('carol'))
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob', 'carol'] })
  const sender = callingAgent(alice.actor)
  const post = (answers: number, seconds = 20, to = '#team') =>
    askChannel(alice, sender, { to, text: 'who is in?' }, { answers, seconds })

  const asking = post(2)
  await idle(1)
  await sendMessage(bob, { to: '#team', text: 'me' })
  await sendMessage(bob, { to: '@alice', text: 'about something else' })
  const [question] = (await readMessages(carol, {})).messages
  await sendMessage(carol, { to: '@alice', text: 'not me', replyToMessageId: question.message_id })
  const { answer } = await asking
  expect(answer).toMatchObject({ messages: [{ message: 'me' }, { message: 'not me' }], unread: 1 })
  expect(answer!.note).toBeUndefined()
  answer!.lease!.ack()
  expect(await textsOf(readMessages(alice, {}))).toEqual(['about something else'])

  const late = await post(5, 0.2)
  expect(late.answer).toMatchObject({ messages: [], note: 'Not answered: @bob, @carol.' })
  await expect(post(2, 5, '@bob')).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(post(2, 0)).rejects.toMatchObject({ code: 'invalid_input' })
})
