/** Messages that wait for a person's answer. docs/web.md, "Attention". */
import { beforeEach, expect, test } from 'vitest'
import { choose } from '../../../src/grid/conversations/choose.ts'
import { markRead } from '../../../src/grid/conversations/marks.ts'
import { dismissQuestion, maxQuestions, questionsOf } from '../../../src/grid/conversations/questions.ts'
import { replyToMessage, writeMessage } from '../../../src/grid/conversations/write.ts'
import { retractMessage } from '../../../src/grid/messaging/retract-message.ts'
import { hour } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let ann: PersonWithAlias
  let alice: AccountStore
  beforeEach(async () => {
    grid = await open()
    ann = await personWithAlias(grid, 'ann-lee')
    alice = storeOf(grid, grid.alice)
  })

  const waiting = async (of = ann) =>
    (await questionsOf(of.account)).map(({ sender, messages, text, since }) => ({ sender, messages, text, since }))
  async function write(to: string, text: string, more = {}) {
    await writeMessage(ann.account, { to, text, ...more })
    await followLog(grid.store)
  }

  test("an agent's message waits until it is answered, even after it was read", async () => {
    const since = grid.clock.now
    const { id } = await say(grid, alice, 'ann-lee', 'which one?')
    await markRead(ann.account, [id])
    grid.clock.now += hour
    await say(grid, alice, 'ann-lee', 'the first?')
    await say(grid, storeOf(grid, grid.bob), 'ann-lee', 'and mine?')
    expect(await waiting()).toEqual([
      { sender: 'alice', messages: 2, text: 'which one?', since },
      { sender: 'bob', messages: 1, text: 'and mine?', since: grid.clock.now },
    ])

    await write('alice', 'the first')
    expect((await waiting()).map(({ sender }) => sender)).toEqual(['bob'])

    grid.clock.now += 1
    await say(grid, alice, 'ann-lee', 'and now?')
    expect((await waiting()).map(({ text, messages }) => [text, messages])).toEqual([['and mine?', 1], ['and now?', 1]])
  })

  const choices = ['Monday', 'Tuesday']
  const ask = async (text: string, more = {}) => {
    const { id } = await sendMessage(alice, { to: 'ann-lee', text, choices, ...more })
    await followLog(grid.store)
    const [{ seq }] = await alice.read.threadMessages.byIds([id])
    return { id, seq }
  }

  test('an open choice waits until an option is chosen, whatever either side writes in the meantime', async () => {
    const since = grid.clock.now
    await say(grid, alice, 'ann-lee', 'I plan the week')
    const { seq } = await ask('Which day?', { parts: [{ text: 'of the first week' }] })
    grid.clock.now += hour
    await say(grid, alice, 'ann-lee', 'FYI: the room is booked')
    const before = await questionsOf(ann.account)
    expect(before).toMatchObject([{ text: 'Which day?', seq, messages: 3, since }])
    expect(JSON.parse(before[0].choices!)).toEqual(choices)

    await write('alice', 'Let me look at my calendar')
    expect(await questionsOf(ann.account)).toMatchObject([{ text: 'Which day?', seq, messages: 1 }])
    await say(grid, alice, 'ann-lee', 'Take your time')
    expect(await questionsOf(ann.account)).toMatchObject([{ text: 'Which day?', seq, messages: 2 }])
    const awaited = await grid.acme.store.read.questions.people(grid.clock.now - hour, grid.clock.now)
    expect(awaited).toMatchObject([{ alias: 'ann-lee', messages: 2, since }])

    await choose(ann.account, before[0].threadId, { seq, index: 1 })
    await followLog(grid.store)
    expect(await waiting()).toEqual([])
  })

  test('of two open choices the newer one is shown, and after an answer or dismissal the older one', async () => {
    const first = await ask('Which day?')
    const second = await ask('Which hour?')
    await write('alice', 'Hm')
    const [{ seq, threadId, messages, upTo }] = await questionsOf(ann.account)
    expect([seq, messages]).toEqual([second.seq, 2])
    await replyToMessage(ann.account, { messageId: second.id, text: 'At nine' })
    await followLog(grid.store)
    expect(await questionsOf(ann.account)).toMatchObject([{ seq: first.seq, messages: 1 }])

    await dismissQuestion(ann.account, threadId, upTo)
    expect(await waiting()).toEqual([])
  })

  test("an expired choice and another person's choice do not wait for an answer", async () => {
    const bea = await personWithAlias(grid, 'bea-lee')
    await ask('Soon?', { expiresInSeconds: 60 })
    await ask('Bea?', { to: 'bea-lee' })
    await write('alice', 'Wait')
    expect(await waiting()).toMatchObject([{ text: 'Soon?' }])
    grid.clock.now += 60_000

    expect(await waiting()).toEqual([])
    expect(await waiting(bea)).toMatchObject([{ text: 'Bea?' }])
  })

  test('an answer ends only the wait of its own conversation', async () => {
    await say(grid, alice, 'ann-lee', 'one', { conversationId: 'a-1' })
    await say(grid, alice, 'ann-lee', 'two', { conversationId: 'a-2' })
    await write('alice', 'of the second', { conversationId: 'a-2' })

    expect((await waiting()).map(({ text }) => text)).toEqual(['one'])
  })

  test("a dismissal applies to one person's conversation until a new message arrives", async () => {
    await personWithAlias(grid, 'bea-lee')
    await say(grid, alice, 'ann-lee', 'one')
    await say(grid, alice, 'ann-lee', 'two')
    const [{ threadId, seq }] = await questionsOf(ann.account)
    await dismissQuestion(ann.account, threadId, seq + 1_000)
    expect(await waiting()).toEqual([])
    // This dismissal comes from a page that was opened earlier.
    await dismissQuestion(ann.account, threadId, seq - 1)
    expect(await waiting()).toEqual([])

    // Rebuilding the conversation data keeps the dismissal.
    await grid.store.write([grid.store.global.conversations.startAgain(), grid.store.global.traffic.startAgain()])
    await followLog(grid.store)
    expect(await waiting()).toEqual([])

    await say(grid, alice, 'ann-lee', 'three')
    expect((await waiting()).map(({ text, messages }) => [text, messages])).toEqual([['three', 1]])
  })

  test('no message waits for a viewer, and a viewer cannot dismiss any', async () => {
    await say(grid, alice, 'ann-lee', 'one')
    const [{ threadId, seq }] = await questionsOf(ann.account)
    const viewer = grid.store.account(grid.acme.id, ann.person.actor('viewer'))

    expect(await questionsOf(viewer)).toEqual([])
    await expect(dismissQuestion(viewer, threadId, seq)).rejects.toMatchObject({ code: 'not_allowed' })
    expect(await waiting()).toHaveLength(1)
  })

  test('a dismissal affects only the person who made it', async () => {
    const bea = await personWithAlias(grid, 'bea-lee')
    await say(grid, alice, 'bea-lee', 'for bea')
    const [{ threadId, seq }] = await questionsOf(bea.account)
    await dismissQuestion(ann.account, threadId, seq)

    expect((await waiting(bea)).map(({ text }) => text)).toEqual(['for bea'])
  })

  test('expired and retracted messages do not wait for an answer', async () => {
    const { id } = await say(grid, alice, 'ann-lee', 'never mind')
    await sendMessage(alice, { to: 'ann-lee', text: 'soon', expiresInSeconds: 60 })
    await followLog(grid.store)
    expect((await waiting()).map(({ messages }) => messages)).toEqual([2])

    await retractMessage(alice, { agentId: grid.alice.id, alias: 'alice' }, id)
    expect((await waiting()).map(({ text, messages }) => [text, messages])).toEqual([['soon', 1]])
    grid.clock.now += 60_000
    expect(await waiting()).toEqual([])
  })

  test('an older message keeps waiting for an answer after the newest one has expired', async () => {
    await say(grid, alice, 'ann-lee', 'well?')
    await sendMessage(alice, { to: 'ann-lee', text: 'soon', expiresInSeconds: 60 })
    await followLog(grid.store)
    grid.clock.now += 60_000

    expect((await waiting()).map(({ text, messages }) => [text, messages])).toEqual([['well?', 1]])
  })

  test("many open conversations do not hide another person's waiting message, and many expired ones do not hide an older waiting message", async () => {
    const bea = await personWithAlias(grid, 'bea-lee')
    const many = (to: string, more = {}) =>
      Promise.all(Array.from({ length: maxQuestions }, (_, n) => {
        return sendMessage(alice, { to, text: 'one of many', conversationId: `${to}-${n}`, ...more })
      }))
    const until = grid.clock.now += 1
    await say(grid, alice, 'ann-lee', 'the oldest')
    await say(grid, alice, 'bea-lee', 'for bea')
    grid.clock.now += hour
    await many('ann-lee')
    await many('bea-lee', { expiresInSeconds: 60 })
    await followLog(grid.store)
    grid.clock.now += 2 * hour

    expect((await waiting(bea)).map(({ text }) => text)).toEqual(['for bea'])
    // Only the newest conversations are listed.
    expect(new Set((await waiting()).map(({ text }) => text))).toEqual(new Set(['one of many']))
    const awaited = await grid.acme.store.read.questions.people(until, grid.clock.now)
    expect(awaited.map(({ alias, messages }) => [alias, messages]).sort()).toEqual([['ann-lee', 1], ['bea-lee', 1]])
  })

  test('messages from a person and messages between others do not wait for an answer', async () => {
    const bea = await personWithAlias(grid, 'bea-lee')
    await write('bea-lee', 'from a person')
    await say(grid, alice, 'bob', 'between agents')

    expect([...await waiting(), ...await waiting(bea)]).toEqual([])
  })
})
