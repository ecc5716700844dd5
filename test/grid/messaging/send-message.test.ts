import { beforeEach, expect, test } from 'vitest'
import { GridError } from '../../../src/errors.ts'
import { listAgents } from '../../../src/grid/agents/find-agent.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import type { SendInput } from '../../../src/grid/message/outgoing-message.ts'
import { peekInbox } from '../../../src/grid/messaging/read-again.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { updateTrial } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

/** Retries, as clients do, a call that a busy machine refused without executing it. */
async function untilTaken<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof GridError && error.details.notExecuted)) throw error
    }
  }
}

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('a message is leased only once, and reading deletes nothing', async () => {
    const sent = await send(grid.alice, { to: '@Bob ', text: 'hi' })

    const first = await read(grid.bob)
    const second = await read(grid.bob)

    expect(first.messages).toEqual([{
      message_id: sent.id,
      channel: 'direct',
      user: '@alice',
      type: 'agent',
      message: 'hi',
      reply_to: '@alice',
      timestamp: '2026-11-21T09:00:00.000Z',
    }])
    expect(second.messages).toEqual([])
    expect(second.cursor).toBeUndefined()
  })

  test('a batch ends at its limit, and reports the number of remaining messages', async () => {
    for (let n = 1; n <= 5; n++) await send(grid.alice, { to: 'bob', text: `message ${n}` })

    const first = await read(grid.bob, 2)
    const rest = await read(grid.bob)

    expect(first.messages.map((message) => message.message)).toEqual(['message 1', 'message 2'])
    expect(first.remaining).toBe(3)
    expect(rest.messages.map((message) => message.message)).toEqual(['message 3', 'message 4', 'message 5'])
    expect(rest.remaining).toBe(0)
  })

  test('a batch is limited by size, but always includes one message', async () => {
    const long = 'x'.repeat(9_000)
    for (let n = 0; n < 12; n++) await send(grid.alice, { to: 'bob', text: long })

    const peeked = await peekInbox(storeOf(grid, grid.bob), {})
    const first = await read(grid.bob)

    expect([peeked.messages.length, peeked.has_more]).toEqual([8, true])
    expect(first.messages).toHaveLength(8)
    expect(first.remaining).toBe(4)
  })

  test('50 parallel reads of 1,000 messages get each message once', async () => {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => untilTaken(() => send(grid.alice, { to: 'bob', text: `${n}` }))),
    )

    const batches = await Promise.all(Array.from({ length: 50 }, () => untilTaken(() => read(grid.bob))))
    const texts = batches.flatMap((batch) => batch.messages.map((message) => message.message))

    expect(texts).toHaveLength(1_000)
    expect(new Set(texts).size).toBe(1_000)
  }, 300_000)

  test('a post reaches every other member and no other agent', async () => {
    const carol = await grid.acme.agent('carol')
    const dave = await grid.acme.agent('dave')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })

    await send(grid.alice, { to: '#general', text: 'hello all' })

    const [message] = (await read(grid.bob)).messages
    expect(message).toMatchObject({ channel: '#general', user: '@alice', reply_to: '#general' })
    expect((await read(carol)).messages).toHaveLength(1)
    expect((await read(grid.alice)).messages).toHaveLength(0)
    expect((await read(dave)).messages).toHaveLength(0)
  })

  test('agents of other accounts can be messaged only if they are public and their policy allows it', async () => {
    const missing = await failure(send(grid.eve, { to: 'nobody-here', text: 'hi' }))
    const hidden = await failure(send(grid.eve, { to: 'alice', text: 'hi' }))
    await grid.acme.agent('open-desk', { visibility: 'public' })
    await grid.acme.agent('closed-desk', { visibility: 'public', accessPolicy: 'allow_list' })

    await send(grid.eve, { to: 'open-desk', text: 'hi' })
    const refused = await failure(send(grid.eve, { to: 'closed-desk', text: 'hi' }))

    expect(hidden).toBe(missing.replace('nobody-here', 'alice'))
    expect(refused).toBe(missing.replace('nobody-here', 'closed-desk'))
  })

  test.each(
    [
      ['allow_list', ['eve'], true],
      ['allow_list', ['somebody-else'], false],
      ['block_list', ['@Eve'], false],
      ['block_list', ['somebody-else'], true],
      ['block_list', [], true],
    ] as const,
  )('eve can find and message a public agent with %s %j: %j', async (accessPolicy, accessList, isAllowed) => {
    await grid.evil.agent('somebody-else')
    await grid.acme.agent('front-desk', { visibility: 'public', accessPolicy, accessList: [...accessList] })

    const listed = await listAgents(storeOf(grid, grid.eve), { public: true })
    const sent = await send(grid.eve, { to: 'front-desk', text: 'hi' }).then(() => true, (error) => error.code)

    expect(listed.agents.map((agent) => agent.alias)).toEqual(isAllowed ? ['@front-desk'] : [])
    expect(sent).toBe(isAllowed ? true : 'recipient_not_found')
  })

  test('a trial allows 10 messages, and 200 parallel sends store exactly 10', async () => {
    await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt: grid.clock.now + 1_000 })

    const sends = await Promise.allSettled(
      Array.from({ length: 200 }, (_, n) => untilTaken(() => send(grid.alice, { to: 'bob', text: `${n}` }))),
    )

    const refused = sends.flatMap((sent) => sent.status === 'rejected' ? [sent.reason.code] : [])
    expect(refused).toEqual(Array(190).fill('trial_expired'))
    expect((await read(grid.bob)).messages).toHaveLength(10)
  })

  test.each([[-1, 'ok'], [0, 'trial_expired'], [1, 'trial_expired']])(
    'a trial ends at its expiry time (%i ms after it: %s)',
    async (ms, outcome) => {
      const expiresAt = grid.clock.now + 1_000
      await updateTrial(grid, grid.alice, { used: 0, max: 10, expiresAt })
      grid.clock.now = expiresAt + ms

      const result = await send(grid.alice, { to: 'bob', text: 'hi' }).then(() => 'ok', (error) => error.code)

      expect(result).toBe(outcome)
    },
  )

  test('a reply must name a message that the agent received, and stays in its conversation', async () => {
    const sent = await send(grid.alice, { to: 'bob', text: 'question', conversationId: 'c-1' })
    await send(grid.bob, { to: 'alice', text: 'answer', replyToMessageId: sent.id })

    const [reply] = (await read(grid.alice)).messages
    expect(reply).toMatchObject({ reply_to_message_id: sent.id, conversation_id: 'c-1' })
    await expect(send(grid.eve, { to: 'eve', text: 'x', replyToMessageId: sent.id })).rejects
      .toMatchObject(
        {
          code: 'message_not_found',
        },
      )
  })
})

function send(from: TestAgent, input: SendInput) {
  return sendMessage(storeOf(grid, from), input)
}

function read(agent: TestAgent, limit?: number) {
  return readMessages(storeOf(grid, agent), { limit })
}

function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => 'no failure', (error) => `${error.code} ${error.message}`)
}
