/** Names of accounts and users: invisible characters are refused. See docs/security.md, "Names and aliases". */
import { describe, expect, test } from 'vitest'
import { checkName } from '../../src/grid/accounts/accounts.ts'

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
  test.each([`Acme${char}`, `Ac${char}me`, char])('is refused', (name) => {
    expect(() => checkName(name, 'name')).toThrow('A name has')
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
])('%s is a name', (name) => {
  expect(checkName(` ${name} `, 'name')).toBe(name)
})
