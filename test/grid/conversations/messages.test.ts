/** Messages of threads, their states, and reply chains. See docs/architecture.md, "Conversations". */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import {
  type ChainMessage,
  findMessage,
  readChain,
  readThread,
  receiptsOf,
  type ThreadPosition,
} from '../../../src/grid/conversations/messages.ts'
import { listThreads } from '../../../src/grid/conversations/threads.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let [alice, bob, desk] = [] as unknown as AccountStore[]
  beforeEach(async () => {
    grid = await open()
    ;[alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
    desk = storeOf(grid, await grid.evil.agent('desk', { visibility: 'public' }), grid.evil)
  })

  test('a thread page starts at the end, before or after a message, at a time, or around a message', async () => {
    const start = grid.clock.now
    for (let i = 0; i < 120; i++) {
      grid.clock.now = start + i * 1_000
      await sendMessage(i % 2 ? alice : bob, { to: i % 2 ? 'bob' : 'alice', text: String(i) })
      // Every tenth message is followed by a message in another thread.
      if (i % 10 === 0) await sendMessage(alice, { to: 'desk', text: 'other' })
    }
    await followLog(grid.store)
    const { threads } = await listThreads(grid.acme.store, {})
    const { id, lastSeq } = threads.find(({ agents }) => agents.every(({ isForeign }) => !isForeign))!
    const page = async (position: ThreadPosition, since?: number) => {
      const { messages, hasOlder, hasNewer } = await readThread(grid.acme.store, id, position, since)
      return [hasOlder, messages[0]?.body, messages.at(-1)?.body, messages.length, hasNewer]
    }
    const seqOf = async (text: string) =>
      (await readThread(grid.acme.store, id, { at: start + Number(text) * 1_000 })).messages[0].seq

    expect(await page({ newest: true })).toEqual([true, '70', '119', 50, false])
    expect(await page({ before: await seqOf('70') })).toEqual([true, '20', '69', 50, true])
    expect(await page({ before: await seqOf('20') })).toEqual([false, '0', '19', 20, true])
    expect(await page({ after: await seqOf('99') })).toEqual([true, '100', '119', 20, false])
    expect(await page({ at: start + 42_500 })).toEqual([true, '43', '92', 50, true])
    expect(await page({ at: start - 1 })).toEqual([false, '0', '49', 50, true])
    expect(await page({ at: grid.clock.now + 1 })).toEqual([true, '70', '119', 50, false])
    expect(await page({ around: await seqOf('60') })).toEqual([true, '35', '84', 50, true])
    expect(await page({ newest: true }, start + 100_000)).toEqual([false, '100', '119', 20, false])
    expect(await page({ before: lastSeq }, grid.clock.now + 1)).toEqual([false, undefined, undefined, 0, false])
  })

  test('a page of long texts is limited by size, includes its target, and skips no messages between pages', async () => {
    for (let i = 0; i < 40; i++) await sendMessage(alice, { to: 'bob', text: `${i} ${'漢'.repeat(1_500)}` })
    await followLog(grid.store)
    const [{ id }] = (await listThreads(grid.acme.store, {})).threads
    const page = async (position: ThreadPosition) => {
      const { messages, ...more } = await readThread(grid.acme.store, id, position)
      return { ...more, seqs: messages.map(({ seq }) => seq), numbers: messages.map(({ body }) => parseInt(body)) }
    }
    const upTo = (from: number, length: number) => Array.from({ length }, (_, n) => from + n)

    const newest = await page({ newest: true })
    const older = await page({ before: newest.seqs[0] })
    const around = await page({ around: older.seqs[5] })
    const newer = await page({ after: older.seqs.at(-1)! })

    // Each message has 4,150 bytes.
    expect(newest).toMatchObject({ hasOlder: true, hasNewer: false, numbers: upTo(26, 14) })
    expect(older).toMatchObject({ hasOlder: true, hasNewer: true, numbers: upTo(12, 14) })
    expect(around).toMatchObject({ hasOlder: true, hasNewer: true, numbers: upTo(10, 14) })
    expect(newer.numbers).toEqual(newest.numbers)
  })

  test("another account's message is shown as delivered to its recipient, and as written to its sender", async () => {
    const { id, seq } = await say(grid, desk, 'alice', 'x').catch(async () => {
      await say(grid, alice, 'desk', 'hello')
      return await say(grid, desk, 'alice', 'the original')
    })
    await rows(
      grid,
      "UPDATE deliveries SET body = 'redacted' WHERE account_id = ? AND seq IN (SELECT seq FROM v_deliveries WHERE message_id = ?)",
      [
        grid.acme.id,
        id,
      ],
    )

    const [shown, original] = [await findMessage(grid.acme.store, { seq }), await findMessage(grid.evil.store, { id })]
    expect(shown).toMatchObject({ id, body: 'redacted', isForeign: true, fromAlias: 'desk', recipient: '@alice' })
    expect(original).toMatchObject({ seq, body: 'the original', isForeign: false })
    expect((await listThreads(grid.acme.store, {})).threads[0].preview!.text).toBe('redacted')
  })

  test("receipts show a message's states", async () => {
    const { id, seq } = await say(grid, alice, 'bob', 'hi')
    const receipt = async () => (await receiptsOf(grid.acme.store, [seq])).get(seq)!.recipient

    expect(await receipt()).toMatchObject({ alias: 'bob', state: 'unread', storedAt: grid.clock.now, readAt: null })
    const first = await readMessages(bob, {})
    expect(await receipt()).toMatchObject({ state: 'leased', readAt: grid.clock.now })
    await leaseOf(bob, first.lease!.id).release()
    expect(await receipt()).toMatchObject({ state: 'unread', releaseCount: 1 })
    const second = await readMessages(bob, {})
    await bob.write([bob.change.leases.ack(second.lease!.id)])
    grid.clock.now += 5
    await say(grid, bob, 'alice', 'yes', { replyToMessageId: id })
    expect(await receipt()).toMatchObject({ state: 'read', repliedAt: grid.clock.now })
  })

  test('the receipt of a post shows how many members have read it, and which', async () => {
    await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })
    const { seq } = await say(grid, alice, '#general', 'hi')
    await readMessages(bob, {})

    expect((await receiptsOf(grid.acme.store, [seq])).get(seq)).toEqual({
      ...{ recipient: null, recipients: 2, read: 1, unread: 1, parked: 0, expired: 0, retracted: 0 },
    })
    const each = (await grid.acme.store.read.threadMessages.ofPost(seq, '', 50)).map((
      { alias, state },
    ) => [alias, state])
    expect(each.toSorted()).toEqual([['bob', 'leased'], ['carol', 'unread']])
  })

  test('a reply chain includes the replies in all threads, even if several of them were added together', async () => {
    const carol = storeOf(grid, await grid.acme.agent('carol'))
    const ask = await sendMessage(alice, { to: 'bob', text: 'ask' })
    const forward = await sendMessage(bob, { to: 'carol', text: 'forward', replyToMessageId: ask.id })
    const answer = await sendMessage(carol, { to: 'bob', text: 'answer', replyToMessageId: forward.id })
    await followLog(grid.store)
    await sendMessage(bob, { to: 'alice', text: 'result', replyToMessageId: ask.id })
    await sendMessage(bob, { to: 'carol', text: 'thanks', replyToMessageId: answer.id })
    await followLog(grid.store)

    const { rootSeq } = (await findMessage(grid.acme.store, { id: answer.id }))!
    const texts = ({ body, replies }: ChainMessage): unknown[] => [body, ...replies.map(texts)]
    expect(texts((await readChain(grid.acme.store, rootSeq))!)).toEqual(
      ['ask', ['forward', ['answer', ['thanks']]], ['result']],
    )
  })
})
