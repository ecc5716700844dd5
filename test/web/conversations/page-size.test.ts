/** How large the page of a conversation is, for readers with and without an alias. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { replyToMessage, writeMessage } from '../../../src/grid/conversations/write.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/threads.ts'
import { as, say } from '../../support/conversations.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signedIn } from '../../support/people.ts'
import { member, seated, type SeatedPerson } from '../../support/seats.ts'

const kB = 1_000
/** The messages of a page. */
const perPage = 50
const text = 'p95 was 84 ms in the last hour, 12 % less than before. Checkout had no errors; search had 3.'

let grid: TestGrid
let alice: AccountStore
let bob: AccountStore
let ann: SeatedPerson
beforeAll(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '0' } })
  alice = as(grid, grid.acme, grid.alice)
  bob = as(grid, grid.acme, grid.bob)
  ann = await seated(grid, 'ann-the-owner', { role: 'owner', name: 'Ann Example' })
  // The list beside the conversation is full.
  const others = await Promise.all(Array.from({ length: 12 }, (_, n) => grid.acme.agent(`a-usual-name-${n}`)))
  const agents = others.map((agent) => as(grid, grid.acme, agent))
  for (let n = 0; n < 60; n++) {
    const line = `A line of usual length, as agents write them: this is number ${n} of them.`
    await say(grid, agents[n % 12], `@${others[(n + 1 + Math.floor(n / 12)) % 12].alias}`, line)
  }
})
afterAll(() => grid.close())

/** The size of the conversation of a message, as an owner sees it. */
async function sizeOf({ seq }: { seq: number }, reader: SeatedPerson['person']): Promise<number> {
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])
  const browser = await signedIn(grid, reader)
  const { html } = await browser.open(`/accounts/${grid.acme.id}/conversations/${threadId}`)
  expect(html.match(/<li id="m\d+"/g)).toHaveLength(perPage)
  const bytes = Buffer.byteLength(html)
  console.log(`A page of ${perPage} messages: ${Math.round(bytes / 100) / 10} kB`)
  return bytes
}

type Turn = (text: string, answered?: string) => Promise<{ id: string; seq: number }>

const turnOf = (from: AccountStore, to: string): Turn => (text, replyToMessageId) =>
  say(grid, from, to, text, { replyToMessageId })

/** Ann writes in her browser. */
const annsTurn: Turn = async (text, answered) => {
  const { id } = answered
    ? await replyToMessage(ann.account, { messageId: answered, text })
    : await writeMessage(ann.account, { to: '@alice', text })
  await followLog(grid.store)
  const [seq] = await ann.account.read.threadMessages.seqsOf([id])
  return { id, seq }
}

/** Two write by turns, and answer every third message. Resolves to the last one. */
async function talk(turns: [Turn, Turn]) {
  let last = await turns[1](text)
  for (let n = 0; n < perPage; n++) last = await turns[n % 2](`${text} ${n}`, n % 3 === 0 ? last.id : undefined)
  return last
}

test('what two agents say to each other has at most 60 kB, for an owner without an alias and for one with an alias', async () => {
  const last = await talk([turnOf(bob, '@alice'), turnOf(alice, '@bob')])
  await readMessages(alice, {})
  const { person } = await member(grid, { role: 'owner', name: 'Olga Example' })

  expect(await sizeOf(last, person)).toBeLessThanOrEqual(60 * kB)
  expect(await sizeOf(last, ann.person)).toBeLessThanOrEqual(60 * kB)
})

test('so has the conversation of an owner with an agent', async () => {
  const last = await talk([annsTurn, turnOf(alice, '@ann-the-owner')])
  await readMessages(alice, {})

  expect(await sizeOf(last, ann.person)).toBeLessThanOrEqual(60 * kB)
})
