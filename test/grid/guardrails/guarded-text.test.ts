/** The texts of a message that guardrails check, and the result of a redaction. See docs/protocol/guardrails.md. */
import { beforeEach, expect, test } from 'vitest'
import {
  guardedContent,
  maxGuardedLength,
  withMasked,
  withReplacement,
} from '../../../src/grid/message/guarded-text.ts'
import type { A2aDetails } from '../../../src/grid/message/outgoing-message.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { newId } from '../../../src/lib/id.ts'
import { dump } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid(providers)
})

const id = newId()
const places: Record<string, Omit<A2aDetails, 'messageId'>> = {
  'a data part': { parts: [{ data: { list: [{ deep: `a ${secret}.` }] } }] },
  'the name of a member': { parts: [{ data: { [`a ${secret}.`]: 1 } }] },
  'metadata of the message': { metadata: { note: `a ${secret}.` } },
  'metadata of a part': { parts: [{ url: 'https://x.example', metadata: { note: `a ${secret}.` } }] },
  'a text file': { parts: [{ raw: btoa(`a ${secret}.`), mediaType: 'application/octet-stream' }] },
  'a text file in lines of base64': { parts: [{ raw: btoa(`a ${secret}.`).replace(/.{8}/g, '$&\r\n') }] },
  'a large text file': { parts: [{ raw: btoa(`${'x'.repeat(20_000)} a ${secret}.`) }] },
  'a large data part': { parts: [{ data: { fill: 'x'.repeat(20_000), note: `a ${secret}.` } }] },
  'a file name': { parts: [{ raw: btoa('x'), filename: `a ${secret}.` }] },
  'a media type': { parts: [{ raw: btoa('x'), mediaType: `a ${secret}.` }] },
  'an address': { parts: [{ url: `https://x.example/${secret}` }] },
  'the name of an extension': { extensions: [`https://x.example/${secret}`] },
  'the id of a context': { contextId: `a ${secret}.` },
}

test.each(Object.keys(places))('a guardrail sees %s', async (place) => {
  await guard(grid.acme, 'bob', { name: 'words', direction: 'inbound' })
  const a2a = { messageId: id, ...places[place] }
  const send = () =>
    sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi', conversationId: a2a.contextId, a2a })

  await expect(send()).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await send()

  const [message] = (await readMessages(storeOf(grid, grid.bob), {})).messages
  expect(message).toMatchObject({ message: 'hi', flagged: true })
  expect(JSON.stringify(message)).not.toContain(secret)
  // The word is stored only in the guardrails' configuration.
  expect(await dump(grid, grid.acme, ['guardrails'])).not.toContain(secret)
})

test("a text part is also in the message's text, and is redacted in both", async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  const parts = [{ text: 'one' }, { data: 4 }, { text: `two ${secret}` }, { text: 'three', mediaType: 'text/plain' }]

  await sendMessage(storeOf(grid, grid.alice), {
    to: 'bob',
    text: `one\ntwo ${secret}\nthree`,
    a2a: { messageId: id, parts },
  })

  expect(providers.asked.map(({ text }) => text)).toEqual([
    `one\ntwo ${secret}\nthree\n4\ntext/plain`,
    `onetwo ${secret}three`,
  ])
  const [message] = (await readMessages(storeOf(grid, grid.bob), {})).messages
  expect(message.message).toBe('one\ntwo [redacted]\nthree')
  expect(message.parts).toMatchObject([{ data: 4 }, { text: 'three', mediaType: 'text/plain' }])
})

const [first, second] = [secret.slice(0, 5), secret.slice(5)]
const texts = [{ text: `a ${first}` }, { text: `${second} b` }]

test.each([
  ['two text parts', texts],
  ['text parts with data between', [texts[0], { data: 1 }, texts[1]]],
  ['text parts with an empty one between', [texts[0], { text: '' }, texts[1]]],
  ['text parts with names', texts.map((part, n) => ({ ...part, filename: `${n}.txt` }))],
  ['three text parts', [{ text: 'a s' }, { text: 'wordf' }, { text: `${secret.slice(6)} b` }]],
])('a guardrail finds a word split over %s of a message, and redacts each piece', async (_, parts) => {
  const text = parts.flatMap((part) => 'text' in part && part.text ? [part.text] : []).join('\n')
  const send = () => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text, a2a: { messageId: newId(), parts } })
  await guard(grid.acme, 'bob', { direction: 'inbound' })

  await expect(send()).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await send()

  const [message] = (await readMessages(storeOf(grid, grid.bob), {})).messages
  expect(message.message).toMatch(/^a \[redacted\]\n(\[redacted\]\n)?\[redacted\] b$/)
  expect(await dump(grid, grid.acme, ['guardrails'])).not.toContain(second)
})

test.each([
  ['its first part', [texts[1]]],
  ['a text part behind data', [{ data: { a: 1 } }, texts[1]]],
])("a guardrail finds a word split over the message's text and %s, and redacts both pieces", async (_, parts) => {
  const send = () => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: texts[0].text, parts })
  await guard(grid.acme, 'bob', { direction: 'inbound' })

  await expect(send()).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await send()

  const [message] = (await readMessages(storeOf(grid, grid.bob), {})).messages
  expect(message.message).toBe('a [redacted]')
  expect(message.parts?.at(-1)).toMatchObject({ text: '[redacted] b' })
})

test.each(
  [
    ['of a sender', 'alice', 'outbound'],
    ['of a recipient', 'bob', 'inbound'],
  ] as const,
)('a service %s gets, in one request, all texts that readers may combine', async (_, agent, direction) => {
  const asked: string[] = []
  providers.remote.check = ({ text }) => {
    asked.push(text)
    return { kinds: [] }
  }
  await guard(grid.acme, agent, { provider: 'webhook', direction })

  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: texts[0].text, parts: [texts[1]] })

  expect(asked).toEqual([`a ${first}\n${second} b`])
})

test('texts that no reader combines are not combined for a check', () => {
  const piecesOf = (details: Record<string, unknown>, body = 'a') => guardedContent({ body, details }).pieces

  expect(guardedContent({ body: 'a' }).pieces).toBeUndefined()
  expect(piecesOf({ parts: [{ text: 'a' }], metadata: { note: 'b' } })).toBeUndefined()
  expect(piecesOf({ parts: [{ data: 'b' }, { raw: btoa('b'), filename: 'c' }] })).toBeUndefined()
  expect(piecesOf({ contextId: 'c', parts: [{ text: 'b' }, { text: newId() }] })).toEqual([
    { start: 0, end: 1 },
    { start: 4, end: 5 },
  ])
})

const unreadable: Record<string, object> = {
  'a picture': { raw: btoa('\x89PNG\x00\xff') },
  // Most decoders stop at the padding, but a model continues to read, so the file cannot be checked.
  'a file that is no base64': { raw: `${btoa('hello')} ${secret}` },
  'UTF-16': { raw: btoa('\xff\xfes\x00') },
  'a very long text': { data: 'x'.repeat(maxGuardedLength + 1) },
}

test.each(
  Object.keys(unreadable).flatMap((what) => (['closed', 'open'] as const).map((onFailure) => ({ what, onFailure }))),
)('onFailure closed blocks unreadable content, and open flags it: $what, $onFailure', async ({ what, onFailure }) => {
  await guard(grid.acme, 'bob', { name: 'words', direction: 'inbound', onFailure })
  const send = () =>
    sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi', a2a: { messageId: id, parts: [unreadable[what]] } })

  if (onFailure === 'closed') {
    await expect(send()).rejects.toThrow(
      "The guardrail 'words' of @bob blocked this message: content that cannot be checked.",
    )
  } else {
    await send()
    expect((await readMessages(storeOf(grid, grid.bob), {})).messages).toMatchObject([{ message: 'hi', flagged: true }])
  }
})

test('redacted spans are clipped to the text and merged, and never split characters', () => {
  const text = 'a😀b'
  const masked = (...spans: [number, number][]) =>
    withMasked({ body: text }, text, spans.map(([start, end]) => ({ start, end }))).body

  expect(masked([1, 2])).toBe('a[redacted]b')
  expect(masked([2, 3])).toBe('a[redacted]b')
  expect(masked([0, 1], [1, 3])).toBe('[redacted]b')
  expect(masked([3, 99], [-5, 1])).toBe('[redacted]😀[redacted]')
  expect(masked()).toBe('[redacted]')
  expect(masked([2, 2], [9, 5])).toBe('[redacted]')
})

test.each([
  ['a combining mark', 'cafe\u0301 au lait', 'cafe', '[redacted] au lait'],
  ['the family', '👩‍👩‍👧 at home', '👩', '[redacted] at home'],
  ['the rest of a family', '👩‍👧 at home', '👧', '👩[redacted] at home'],
  ['the tone of the skin', 'ok 👍🏽!', '👍', 'ok [redacted]!'],
  ['the other half of a flag', '🇩🇪 wins', '🇩', '[redacted] wins'],
  ['a vowel sign', 'नमस्ते दुनिया', 'दुन', 'नमस्ते [redacted]या'],
  ['a tone mark of Thai', 'ขอบน้ำใจ', 'ขอบน', '[redacted]ใจ'],
  ['a mark of direction that only it needed', 'a שלום\u200f b', 'שלום', 'a [redacted] b'],
  ['nothing of an ideograph whose variant is masked', '葛\u{e0100}飾', '\u{e0100}', '葛[redacted]飾'],
])('a redaction also removes %s', (_, text, found, left) => {
  const start = text.indexOf(found)

  expect(withMasked({ body: text }, text, [{ start, end: start + found.length }]).body).toBe(left)
})

test('redacting the names of several members keeps every member of the object', () => {
  const details = { metadata: { 'a@x.test': 1, 'b@x.test': { deep: 2 }, '[redacted] 2': 3, c: 4 } }
  const { text } = guardedContent({ body: 'hi', details })
  const spans = ['a@x.test', 'b@x.test'].map((name) => ({
    start: text.indexOf(name),
    end: text.indexOf(name) + name.length,
  }))

  expect(withMasked({ body: 'hi', details }, text, spans).details!.metadata)
    .toEqual({ '[redacted]': 1, '[redacted] 2': { deep: 2 }, '[redacted] 2 2': 3, c: 4 })
})

test("guardrails check the conversation id of an agent's answer, even though others chose it", async () => {
  const contextId = `about ${secret}`
  const a2a = { messageId: id, contextId }
  const asked = await sendMessage(storeOf(grid, grid.bob), {
    to: 'alice',
    text: 'a question',
    conversationId: contextId,
    a2a,
  })
  const answer = () => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi', replyToMessageId: asked.id })
  await guard(grid.acme, 'bob', { name: 'words', direction: 'inbound' })

  await expect(answer()).rejects.toMatchObject({ code: 'guardrail_blocked' })
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await answer()

  const [message] = (await readMessages(storeOf(grid, grid.bob), {})).messages
  expect(message).toMatchObject({ message: 'hi', conversation_id: 'about [redacted]', flagged: true })
})

test("a guardrail's replacement changes the message's text, and nothing else", () => {
  const replaced = (body: string, details: Record<string, unknown> | undefined, write: (text: string) => string) => {
    const content = { body, details }
    const { text } = guardedContent(content)
    return withReplacement(content, text, write(text))
  }
  const better = (text: string) => text.replace('bad', 'good')

  expect(replaced('bad', undefined, better)).toEqual({ body: 'good' })
  expect(replaced('bad', { messageId: 'm' }, better)).toEqual({ body: 'good', details: { messageId: 'm' } })
  expect(replaced('bad', { parts: [{ text: 'bad' }, { data: 1 }] }, better))
    .toEqual({ body: 'good', details: { parts: [{ text: 'good' }, { data: 1 }] } })
  expect(replaced('bad', { parts: [{ text: '' }, { text: 'bad' }] }, better))
    .toEqual({ body: 'good', details: { parts: [{ text: '' }, { text: 'good' }] } })
  expect(replaced('hi', { metadata: { a: 'bad' } }, better).body).toBe('[redacted]')
  expect(replaced('bad', undefined, () => '')).toEqual({ body: '[redacted]' })
  expect(replaced('bad', undefined, () => 'a\u202eb')).toEqual({ body: 'ab' })
})
