/** Content that is split over several text parts. See docs/protocol/guardrails.md, "How a message is checked". */
import { expect, test } from 'vitest'
import { LocalChecks } from '../../src/guardrails/local-checks.ts'
import { oncePerText } from '../../src/guardrails/local/view.ts'
import { type GuardedText, provider } from '../../src/guardrails/provider.ts'
import { foundIn } from './local/corpus.ts'

const checks = new LocalChecks()

async function verdictOn(id: string, config: object, guarded: Pick<GuardedText, 'text' | 'pieces'>) {
  const asked = { ...guarded, direction: 'inbound', sender: '@a', recipient: '@b' } as const
  return await checks.check({ provider: id, config: JSON.stringify(config), guarded: asked })
}

/** Returns a guarded text whose pieces are these lines. */
function linesOf(...lines: string[]) {
  let end = -1
  const pieces = lines.map(({ length }) => ({ start: end + 1, end: end += 1 + length }))
  return { text: lines.join('\n'), pieces }
}

/** Returns the findings in a text whose pieces are these lines. */
async function findIn(id: string, config: object, ...lines: string[]) {
  const guarded = linesOf(...lines)
  return foundIn(guarded.text, await verdictOn(id, config, guarded))
}

const card = '4111 1111 1111 1111'
const key = `AKIA${'IOSFODNN7EXAMPLX'}`

test.each([
  ['a phrase', 'phrases', { phrases: ['password123'] }, ['my pass', 'word123 is'], ['pass', 'word123']],
  ['a phrase over many pieces', 'phrases', { phrases: ['heron'] }, ['a h', 'e', 'r', '', 'on'], ['h', 'e', 'r', 'on']],
  ['an expression', 'patterns', { patterns: ['\\bproject-\\d+\\b'] }, ['pro', 'ject-77'], ['pro', 'ject-77']],
  ['a card number', 'pii', {}, [`card ${card.slice(0, 12)}`, `${card.slice(12)} ok`], [
    card.slice(0, 12),
    card.slice(12),
  ]],
  ['a key', 'pii', {}, [`key ${key.slice(0, 9)}`, `${key.slice(9)} ok`], [key.slice(0, 9), key.slice(9)]],
])('%s split over pieces is found, with its position in each piece', async (_, id, config, lines, found) => {
  expect(await findIn(id, config, ...lines)).toEqual(found)
  expect((await verdictOn(id, config, { text: lines.join('\n') })).kinds).toEqual([])
})

test.each([
  ['a word keeps its edge', ['a heron', 'flies'], ['heron']],
  ['what is longer than a phrase is another word', ['a her', 'onry'], []],
  ['a word in the middle of a piece is found once', ['one', 'a heron here', 'two'], ['heron']],
])('a phrase in pieces: %s', async (_, lines, found) => {
  expect(await findIn('phrases', { phrases: ['heron'] }, ...lines)).toEqual(found)
})

test('only the ends of long pieces are combined', async () => {
  const far = 'x'.repeat(5_000)
  const find = (...lines: string[]) => findIn('patterns', { patterns: ['Ax*B'] }, ...lines)

  expect(await findIn('phrases', { phrases: ['heron'] }, `${far} her`, `on ${far} her`, `on ${far}`)).toEqual(
    ['her', 'on', 'her', 'on'],
  )
  expect(await find(`${far} A${'x'.repeat(900)}`, `B${far}`)).toEqual([`A${'x'.repeat(900)}`, 'B'])
  expect(await find(`${far} A${'x'.repeat(1_000)}`, `B${far}`)).toEqual([])
  const middle = 'x'.repeat(1_000)
  expect(await find('A', `${middle} ${middle}`, 'B')).toEqual([])
})

test('no phrase is found across the omitted middle of a long piece', async () => {
  const line = `${'x'.repeat(2_000)}heron `.padEnd(3_000, 'y')

  expect(await findIn('phrases', { phrases: ['heron', 'hero'] }, line, line)).toEqual([])
  expect(await findIn('phrases', { phrases: ['heron', 'hero'] }, `${line} her`, 'on')).toEqual(['her', 'on'])
})

test('a kind found both with and without line breaks between pieces is named once', async () => {
  const { text, pieces } = linesOf('bob@mail.example', `write to ${card.slice(0, 7)}`, card.slice(7))

  const { kinds } = await verdictOn('pii', {}, { text, pieces })

  expect([...kinds].sort()).toEqual(['credit card number', 'email address'])
})

test('a text is checked separately for each way in which it is split into pieces', async () => {
  const config = { phrases: ['heron'] }
  const { text, pieces } = linesOf('her', 'on')

  expect((await verdictOn('phrases', config, { text })).kinds).toEqual([])
  expect((await verdictOn('phrases', config, { text, pieces })).kinds).toEqual(['listed phrase'])
  expect((await verdictOn('phrases', config, { text })).kinds).toEqual([])
})

test.each([
  ['phrases', ['a\nb', 'ab']],
  ['patterns', ['a\nb', 'ab']],
  ['pii', ['a\nb', 'ab']],
  ['invisible-text', ['a\nb']],
  ['length', ['a\nb']],
  ['language', ['a\nb']],
])('for the pieces a and b, the guardrail %s checks the texts %j', async (id, expected) => {
  const asked: string[] = []
  const one = provider({
    ...{ id, name: '', kind: 'local', description: '', config: {} },
    prepare: () => ({ text }) => {
      asked.push(text)
      return { kinds: [] }
    },
  })

  const guarded = { ...linesOf('a', 'b'), direction: 'inbound', sender: '@a', recipient: '@b' } as const
  await new LocalChecks([one]).check({ provider: id, config: '{}', guarded })

  expect(asked).toEqual(expected)
})

test('texts derived from pieces are cached for the next guardrail, but not those of two long texts at the same time', () => {
  let made = 0
  const make = oncePerText(() => ++made)
  const ask = (...texts: string[]) => texts.map((text) => make(text))

  expect(ask('a\nb', 'ab', 'a\nb', 'ab')).toEqual([1, 2, 1, 2])
  expect(ask('c', 'd', 'ab')).toEqual([3, 4, 5])
  const [long, other] = ['x'.repeat(1_000_000), 'y'.repeat(1_000_000)]
  expect(ask(long, 'x', long, 'x')).toEqual([6, 7, 6, 7])
  expect(ask(other, long, other)).toEqual([8, 9, 10])
})

test('an expression that matches an empty string objects to all pieces', async () => {
  const { text, pieces } = linesOf('a', 'b')

  expect(await verdictOn('patterns', { patterns: ['\\b', 'ab'] }, { text, pieces })).toMatchObject({ spans: [] })
})

test('if pieces have so many spans that everything is redacted, the result is a single span', async () => {
  const { text, pieces } = linesOf(...Array(1_200).fill('on her'))

  expect((await verdictOn('phrases', { phrases: ['heron'] }, { text, pieces })).spans).toEqual([
    { start: 0, end: text.length },
  ])
})
