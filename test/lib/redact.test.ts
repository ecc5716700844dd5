import { expect, test } from 'vitest'
import { asRemoteError } from '../../src/lib/outbound/remote-error.ts'
import { printable, printableLine, redact, redactedJson } from '../../src/lib/redact.ts'

const key = `grid_adm_${'k'.repeat(45)}LAST`

test.each([
  ['keys that touch each other', key + key, 'grid_adm_…LASTgrid_adm_…LAST'],
  ['a key after a truncated one', key.slice(0, 30) + key, 'grid_adm_…kkkkgrid_adm_…LAST'],
  ['a key that touches another word', `${key}grid`, 'grid_adm_…grid'],
  ['the user of a URL', 'to https://ann:hush@x.example/a@b', 'to https://…@x.example/a@b'],
  ['the query of a URL', 'to https://x.example/a?key=hush&b=1#c', 'to https://x.example/a?…#c'],
  ['a claim link', 'https://x.example/claim/hush?', 'https://x.example/claim/…?'],
  ['a link of an email', `https://x.example/reset/${'k'.repeat(43)} ok`, 'https://x.example/reset/… ok'],
  ['text without secrets', 'https://x.example/@bob and ann@x.example, grid_agt_', undefined],
])('%s', (_, text, expected) => {
  expect(redact(text)).toBe(expected ?? text)
})

test('the log contains the names of secret fields, but not their values', () => {
  const call = { alias: 'far', remoteToken: 'hush', nested: [{ password: { deep: 'hush' }, tokens: 3 }], secret: '' }

  expect(redactedJson(call)).toBe(
    '{"alias":"far","remoteToken":"…","nested":[{"password":"…","tokens":3}],"secret":""}',
  )
})

test('a long text is redacted quickly', () => {
  const startedAt = performance.now()

  // A pattern that backtracks from every position would take minutes.
  redact('grid_adm_'.repeat(20_000))
  redact('://'.repeat(60_000))
  redact('https://'.repeat(20_000))
  redact(`grid_adm_${'k'.repeat(200_000)}`)

  expect(performance.now() - startedAt).toBeLessThan(20_000)
})

const unseen = ['\u001b', '\u0085', '\u200b', '\u2028', '\u202e', '\u2066', '\u{e0041}', '\u00ad', '\ufeff', '\ud800']

test("printed text and lines, JSON, and a remote server's error contain no invisible characters", () => {
  const text = `a${unseen.join(' b')}`
  const found = (shown: string) => unseen.filter((char) => shown.includes(char))
  expect(found(text)).toEqual(unseen)

  const { detail } = asRemoteError(new Error(text), 'invalid_response')
  expect([printable(text), printableLine(text, 100), redactedJson({ text }), detail].map(found)).toEqual([
    [],
    [],
    [],
    [],
  ])
  expect(JSON.parse(redactedJson({ text })).text).toBe(text)
})

test('foreign text is printed on one short line without splitting a character', () => {
  expect(printableLine(` a\n\tb \u05d0 ${'x'.repeat(500)}`, 8)).toBe('a b \u05d0 xx')
  expect(printableLine('\u{1f600}\u{1f600}', 3)).toBe('\u{1f600}\ufffd')
})

test('text for a terminal contains no escapes, direction controls or tags', () => {
  expect(printable('a\u001b[2Jb\u202ec\u{e0065}d\n\te\u2028')).toBe('a[2Jbcd\n\te')
})
