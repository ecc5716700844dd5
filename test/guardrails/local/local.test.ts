/** Properties of all local guardrails, and tests of the small ones. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joined } from '../../../src/guardrails/local/view.ts'
import { maxGuardedLength } from '../../../src/grid/message/guarded-text.ts'
import { isLong } from '../../support/long.ts'
import { corpus, foundIn, localGuardrails, prepared, verdictOn } from './corpus.ts'

/**
 * Random texts: from all of Unicode with lone surrogates, from characters that matter to the guardrails, and from
 * pieces of the corpus.
 */
const pieces = corpus().map(({ text }) => text).filter((text) => text.length < 200)
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit))).map((units) => units.join('')),
  fc.array(
    fc.oneof(
      fc.constantFrom(...pieces),
      fc.constantFrom(...'0123456789+-. @/%&#;<>=_\\\n\u200b\u0301'),
      fc.string({ unit: 'grapheme', maxLength: 5 }),
    ),
    { maxLength: 8 },
  ).map((parts) => parts.join('')),
)

test.each(localGuardrails)('$id never throws, and its spans are ordered ranges of the text', ({ check }) => {
  fc.assert(fc.property(anyText, (text) => {
    const { kinds, spans = [] } = verdictOn(check, text)
    if (kinds.length === 0) expect(spans).toEqual([])
    expect(joined(spans)).toEqual(spans)
    for (const { start, end } of spans) expect(start >= 0 && start < end && end <= text.length).toBe(true)
  }))
})

test.each(localGuardrails.filter(({ id }) => ['phrases', 'patterns', 'pii', 'invisible-text'].includes(id)))(
  '$id finds nothing in a text that it has redacted',
  ({ check }) => {
    fc.assert(fc.property(anyText, (text) => {
      const { spans = [] } = verdictOn(check, text)
      let masked = text
      for (const { start, end } of [...spans].reverse()) {
        masked = masked.slice(0, start) + '[redacted]' + masked.slice(end)
      }
      expect(foundIn(masked, verdictOn(check, masked))).toEqual([])
    }))
  },
)

/** The length of repeated texts: a quarter of the longest text that guardrails see, and in the long form all of it. */
const repeatedLength = isLong ? maxGuardedLength : maxGuardedLength / 4

test.each([
  'a',
  '1',
  '1 ',
  '@',
  'a@',
  '<',
  '<!--',
  '&amp;',
  'é',
  'x (at) ',
  '+49 ',
  'DE89-',
  'sk-',
  '```',
  'YWJj',
  'heron ',
])(
  'repeating %j does not slow down any guardrail',
  (piece) => {
    const text = piece.repeat(repeatedLength).slice(0, repeatedLength)
    const listed = prepared('phrases', { phrases: ['heron', 'a'.repeat(12), 'heron heron heron'] })

    for (const check of [...localGuardrails.map(({ check }) => check), listed]) {
      const startedAt = process.cpuUsage()
      verdictOn(check, text)
      // The limit can be generous, because quadratic algorithms take many times as long.
      expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(isLong ? 6_000 : 2_000)
    }
  },
)

test('the guardrail length counts characters, and redacts the excess', () => {
  const check = prepared('length', { maxCharacters: 3 })

  expect(verdictOn(check, '👍é👍').kinds).toEqual([])
  expect(verdictOn(check, '👍é👍!?')).toEqual({ kinds: ['message that is too long'], spans: [{ start: 5, end: 7 }] })
})

test.each([
  ['ab\u200bcd', ['\u200b']],
  ['x\u{e0041}\u{e0042}y', ['\u{e0041}\u{e0042}']],
  ['\u202eabc', ['\u202e']],
  ['a\rb', ['\r']],
  ['می‌خواهم', []],
  ['👨‍👩‍👧‍👦 ❤️‍🔥', []],
  ['葛' + '葛\u{e0100}'.repeat(10), Array(10).fill('\u{e0100}')],
])('the invisible-text guardrail finds in %j exactly %j', (text, found) => {
  expect(foundIn(text, verdictOn(prepared('invisible-text', {}), text))).toEqual(found)
})

test('the language guardrail redacts only words in a foreign script, and ignores short texts and code', () => {
  const check = prepared('language', { languages: ['en'] })
  const mixed = 'The report: все проверки прошли. Thanks for your help with this!'

  expect(foundIn(mixed, verdictOn(check, mixed))).toEqual(['все', 'проверки', 'прошли'])
  expect(verdictOn(check, 'Kurz: alles gut').kinds).toEqual([])
  expect(verdictOn(check, 'const größe = breite * höhe; // für die Anzeige der Karte im Fenster\n'.repeat(1)).kinds)
    .toEqual([])
})
