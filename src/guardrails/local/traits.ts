/** What one look at a text tells. Most texts have nothing that most searches need, so that one look is enough. */
import { UnitBuffer } from './units.ts'

/** Kinds of characters, to be added up. */
export const kinds = {
  digit: 1,
  /** `&`, `%` and `\`, with which escapes begin. */
  escape: 2,
  /** `@` */
  at: 4,
  /** `<` */
  tag: 8,
  /** `[`, `(` and `{` */
  bracket: 16,
  /** A control of ASCII. */
  control: 32,
  /** Anything beyond ASCII. */
  other: 64,
  /** `#` */
  hash: 128,
} as const

export interface Traits {
  /** Its UTF-16 units, and perhaps more after them. Only until the next look at another text. */
  readonly units: Uint16Array
  /** The sum of the `kinds` that the text has. */
  readonly kinds: number
  /** Most ASCII digits that follow each other with at most `widestGap` other UTF-16 units between two of them. */
  readonly digits: number
  /** A digit follows a letter, or something beyond ASCII. */
  readonly hasNumberedLetter: boolean
}

/** No number that is searched for has more between two of its digits. */
const widestGap = 5

/** By ASCII unit. */
const kindsOf = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  const char = String.fromCharCode(unit)
  return (/\d/.test(char) ? kinds.digit : 0) | (/[&%\\]/.test(char) ? kinds.escape : 0) |
    (char === '@' ? kinds.at : 0) | (char === '<' ? kinds.tag : 0) | (/[[({]/.test(char) ? kinds.bracket : 0) |
    (/\p{Cc}/u.test(char) ? kinds.control : 0) | (char === '#' ? kinds.hash : 0)
})

const buffer = new UnitBuffer()

let last = { text: '', traits: look('') }

/** The traits of a text. Those of the last one are kept, because several checks ask about the same text. */
export function traitsOf(text: string): Traits {
  if (text !== last.text) last = { text, traits: look(text) }
  return last.traits
}

/** Whether a text has characters of any of these kinds. */
export function hasAny(text: string, some: number): boolean {
  return (traitsOf(text).kinds & some) !== 0
}

function look(text: string): Traits {
  const { length } = text
  const units = buffer.read(text)
  let all = 0
  let digits = 0
  let most = 0
  let lastDigit = 0
  let hasNumberedLetter = false
  for (let i = 0; i < length; i++) {
    const unit = units[i]
    const kind = unit < 0x80 ? kindsOf[unit] : kinds.other
    all |= kind
    if (kind !== kinds.digit) continue
    digits = i - lastDigit <= widestGap + 1 ? digits + 1 : 1
    if (digits > most) most = digits
    lastDigit = i
    hasNumberedLetter ||= i > 0 && isLetter(units[i - 1])
  }
  return { units, kinds: all, digits: most, hasNumberedLetter }
}

function isLetter(unit: number): boolean {
  const small = unit | 0x20
  return unit >= 0x80 || (small >= 0x61 && small <= 0x7a)
}
