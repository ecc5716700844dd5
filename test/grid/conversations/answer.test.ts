/** The recipient of an answer that a person writes in a conversation. */
import { beforeEach, expect, test } from 'vitest'
import {
  addresseeIn,
  canAnswer,
  findAnswered,
  replyToMessage,
  writeInConversation,
  writeMessage,
} from '../../../src/grid/conversations/write.ts'
import { openConversation } from '../../../src/grid/conversations/open.ts'
import { chooseAlias, giveUpAlias } from '../../../src/grid/people/person-aliases.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let ann: PersonWithAlias
let ben: PersonWithAlias
beforeEach(async () => {
  grid = await testGrid()
  ann = await personWithAlias(grid, 'ann')
  ben = await personWithAlias(grid, 'ben')
})

const placeOf = async (id: string) => {
  await followLog(grid.store)
  return (await grid.acme.store.read.threadMessages.byIds([id]))[0]
}
const opened = (account: AccountStore, thread: number) =>
  openConversation(account, thread, { newest: true }, { requestId: null })
const recipients = async (id: string) =>
  (await rows(grid, 'SELECT agent_id FROM v_deliveries WHERE account_id = ? AND message_id = ?', [grid.acme.id, id]))
    .map(
      (row) => row.agent_id,
    )

test("a reply goes to the person in the conversation, even if that person's alias now belongs to somebody else", async () => {
  const asked = await writeMessage(ann.account, { to: '@ben', text: 'ready?' })
  const told = await writeMessage(ben.account, { to: '@ann', text: 'not yet' })
  await chooseAlias(ann.account, { alias: 'annabel' })
  const carl = await personWithAlias(grid, 'ann')

  const answer = await replyToMessage(ben.account, { messageId: asked.id, text: 'now' })
  const more = await replyToMessage(ben.account, { messageId: told.id, text: 'still not' })

  expect([answer.recipient, more.recipient]).toEqual(['@annabel', '@annabel'])
  expect(await recipients(answer.id)).toEqual([ann.personAlias.agentId])
  expect(await recipients(more.id)).toEqual([ann.personAlias.agentId])
  const { threadId } = await placeOf(asked.id)
  const { reader, thread } = await opened(ben.account, threadId)
  expect(addresseeIn(reader, thread)).toEqual({ to: '@annabel' })
  expect(carl.personAlias.alias).toBe('ann')
})

test("a deleted person cannot be answered, even if the person's alias now belongs to somebody else", async () => {
  const asked = await writeMessage(ann.account, { to: '@ben', text: 'ready?' })
  const { threadId, seq } = await placeOf(asked.id)
  const before = await opened(ben.account, threadId)
  expect(canAnswer(before.reader, before.thread, before.messages[0])).toBe(true)
  await giveUpAlias(ann.account)
  await personWithAlias(grid, 'ann')

  const { reader, thread, messages } = await opened(ben.account, threadId)
  expect(canAnswer(reader, thread, messages[0])).toBe(false)
  expect(addresseeIn(reader, thread)).toBeUndefined()
  for (const answers of [undefined, seq]) {
    await expect(writeInConversation(ben.account, threadId, { text: 'now', answers })).rejects.toMatchObject({
      code: answers ? 'recipient_not_found' : 'not_allowed',
    })
  }
})

test("if several agents write under one conversation id, a person's answer must name the message that it answers", async () => {
  const [alice, zed] = [storeOf(grid, grid.alice), storeOf(grid, await grid.acme.agent('zed'))]
  const conversationId = 'order-1'
  await say(grid, zed, '@ann', 'for you', { conversationId })
  const { seq } = await say(grid, alice, '@zed', 'between us', { conversationId })
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])

  const { reader, thread } = await opened(ann.account, threadId)
  expect(thread.agents).toHaveLength(3)
  expect(addresseeIn(reader, thread)).toBeUndefined()
})

test('a person can neither answer nor quote a message between others', async () => {
  const between = await say(grid, storeOf(grid, grid.alice), '@bob', 'between us')
  const { threadId } = await placeOf(between.id)

  expect(await findAnswered(ann.account, threadId, between.seq)).toBeUndefined()
  await expect(writeInConversation(ann.account, threadId, { text: 'Hi', answers: between.seq })).rejects.toMatchObject({
    code: 'message_not_found',
  })
})
