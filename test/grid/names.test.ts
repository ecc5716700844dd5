/** Account and user names: invisible characters are refused. See docs/protocol/README.md, "Names and formats". */
import { checkName } from '../../src/grid/check-name.ts'
import { isPlainName } from '../../src/lib/names.ts'
import { cleanName } from '../../src/oauth/client-document.ts'
import { describe, expect, test } from 'vitest'

const invisible = {
  'a Hangul filler': '\u3164',
  'a half-width Hangul filler': '\uffa0',
  'a Hangul initial filler': '\u115f',
  'a soft hyphen': '\u00ad',
  'an Arabic letter mark, which changes the direction': '\u061c',
  'a grapheme joiner': '\u034f',
  'a Mongolian vowel separator': '\u180e',
  'a supplementary variation selector': '\u{e0100}',
  'a tag': '\u{e0041}',
  'a zero width space': '\u200b',
  'a zero width joiner behind a Latin letter': '\u200d',
  'a variation selector behind a Latin letter': '\ufe0f',
  'a braille blank': '\u2800',
  'an override of the direction': '\u202e',
  'an annotation mark': '\ufff9',
}

describe.each(Object.entries(invisible))('%s', (_, char) => {
  test.each([`Acme${char}`, `Ac${char}me`, char])('an invisible character is refused in a name', (name) => {
    expect(() => checkName(name, 'name')).toThrow('A name must not contain')
  })
})

test.each([
  'Acme & Söhne, Inc. (EU)',
  'محمد',
  'نمی‌خواهم',
  'क्‍ष',
  'ශ්‍රී',
  '株式会社',
  'Ünïted 🇪🇺 ❤️ 👩‍🚀 👨‍👩‍👧',
  '1️⃣ First',
  '葛\u{e0100}城市',
  'ᠤᠨ\u180b',
  '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} Ltd',
  '☎\ufe0e, 神\ufe00社',
])('the name %s is accepted', (name) => {
  expect(checkName(` ${name} `, 'name')).toBe(name)
})

describe("a client's name", () => {
  test.each([
    ['نمی\u200cخواهم', 'نمی\u200cخواهم'],
    ['👨‍👩‍👧 👩‍🚀 ❤️', '👨‍👩‍👧 👩‍🚀 ❤️'],
    ['Fa\u200dke\u202e\u{e0041} \t\n grid\u3164', 'Fake grid'],
    ['ש\u200fל \u200f!', 'של !'],
    [' \u2800\xad ', 'Unnamed client'],
    [`${'x'.repeat(79)}👩‍🚀`, `${'x'.repeat(79)}👩`],
    [`${'x'.repeat(78)}👩‍🚀`, `${'x'.repeat(78)}👩`],
  ])("a client's name %j is shown as %j", (given, shown) => {
    expect(cleanName(given)).toBe(shown)
    expect(isPlainName(shown)).toBe(true)
  })
})
