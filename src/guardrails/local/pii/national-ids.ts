/** Numbers by which states know people: their shapes and check digits. */
import type { Span } from '../../provider.ts'
import { traitsOf } from '../traits.ts'
import { isDate, luhn, mod11And10, mod97, verhoeff, weighted } from './checksums.ts'
import { before, type Detector, matching } from './detector.ts'

interface NationalId {
  /** Its shape, without what may stand beside it. */
  readonly shape: RegExp
  /** What the number without separators must be, in capitals. */
  readonly check: (id: string) => boolean
  /** Words of which one must stand before it, because many other numbers have its shape. */
  readonly cue?: RegExp
  /** Whether letters stand before its digits, or between them. Others have at least seven digits, close together. */
  readonly hasLetters?: true
}

/** A word that says what a number is, or that it is the number of a person. */
const after = (names: string) =>
  new RegExp(
    `(?:${names}|national id|identity (?:number|card)|\\bid (?:number|no\\.?)|personal number|citizen)[^\\n]{0,24}$`,
    'i',
  )

const letterOf = (number: string, letters: string) => letters[Number(number) % letters.length]

const ids: readonly NationalId[] = [
  // United States: Social Security number.
  {
    shape: /(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}/,
    check: (id) => !['078051120', '219099999'].includes(id),
  },
  {
    shape: /(?!000|666|9)\d{3} ?(?!00)\d\d ?(?!0000)\d{4}/,
    check: () => true,
    cue: /(?:ssn|social security)[^\n]{0,24}$/i,
  },
  // Canada: Social Insurance Number.
  { shape: /[1-79]\d\d[ -]?\d{3}[ -]?\d{3}/, check: luhn, cue: /\b(?:sin|social insurance)\b[^\n]{0,24}$/i },
  // United Kingdom: National Insurance number.
  {
    shape: /[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]/i,
    check: (id) => !/^(?:BG|GB|KN|NK|NT|TN|ZZ)/.test(id),
    hasLetters: true,
  },
  // Ireland: Personal Public Service number.
  {
    shape: /\d{7}[A-W][AH]?/,
    check: (id) => {
      const sum = weighted(id, [8, 7, 6, 5, 4, 3, 2]) + (id[8] ? 9 * (id.charCodeAt(8) - 64) : 0)
      return id[7] === 'WABCDEFGHIJKLMNOPQRSTUV'[sum % 23]
    },
    cue: /\bpps[^\n]{0,24}$/i,
  },
  // Germany: tax identification number. One digit of the first ten stands there twice or three times.
  {
    shape: /[1-9]\d ?\d{3} ?\d{3} ?\d{3}/,
    check: (id) => {
      const counts = [...'0123456789'].map((digit) => id.slice(0, 10).split(digit).length - 1)
      const repeated = counts.filter((count) => count > 1)
      return repeated.length === 1 && repeated[0] <= 3 && mod11And10(id)
    },
  },
  // Germany: pension insurance number.
  {
    shape: /\d\d ?[0-3]\d[01]\d\d\d ?[A-Z] ?\d\d ?\d/,
    check: (id) => {
      const digits = id.slice(0, 8) + String(id.charCodeAt(8) - 64).padStart(2, '0') + id.slice(9)
      const sum = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1].reduce((sum, weight, i) => {
        const product = weight * Number(digits[i])
        return sum + Math.floor(product / 10) + product % 10
      }, 0)
      return isDate('0', id.slice(4, 6), id.slice(2, 4)) && sum % 10 === Number(digits[12])
    },
  },
  // France: number of the social security (NIR).
  {
    shape: /[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d/i,
    check: (id) => {
      const number = id.replace('2A', '19').replace('2B', '18')
      return 97 - mod97(number.slice(0, 13)) === Number(number.slice(13))
    },
  },
  // Spain: DNI and NIE.
  { shape: /\d{8}-?[A-HJ-NP-TV-Z]/i, check: (id) => letterOf(id.slice(0, 8), dniLetters) === id[8] },
  {
    shape: /[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]/i,
    check: (id) => letterOf('XYZ'.indexOf(id[0]) + id.slice(1, 8), dniLetters) === id[8],
  },
  // Italy: codice fiscale.
  {
    shape: /[A-Z]{6}\d[0-9LMNP-V][A-EHLMPRST][0-7LMNP-T][0-9LMNP-V][A-Z][0-9LMNP-V]{3}[A-Z]/i,
    check: (id) => {
      const value = (char: string) => /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 65
      const odd = 'BAFHJNPRTVCESULDGIMOQKWZYX'
      const sum = [...id.slice(0, 15)].reduce(
        (sum, char, i) => sum + (i % 2 === 0 ? odd.charCodeAt(value(char)) - 65 : value(char)),
        0,
      )
      return String.fromCharCode(65 + sum % 26) === id[15]
    },
    hasLetters: true,
  },
  // Netherlands: burgerservicenummer.
  {
    shape: /\d{9}/,
    check: (id) => weighted(id, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0,
    cue: after('bsn|burgerservice|sofi'),
  },
  // Belgium: national register number.
  {
    shape: /\d\d\.(?:[024][1-9]|[135][0-2]|[024]0)\.\d\d-\d{3}\.\d\d/,
    check: (id) => [id.slice(0, 9), '2' + id.slice(0, 9)].some((number) => 97 - mod97(number) === Number(id.slice(9))),
  },
  // Poland: PESEL.
  {
    shape: /\d{11}/,
    check: (id) =>
      isDate(id.slice(0, 2), String(Number(id.slice(2, 4)) % 20), id.slice(4, 6)) &&
      weighted(id, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0,
    cue: after('pesel'),
  },
  // Romania: cod numeric personal.
  {
    shape: /[1-8]\d{12}/,
    check: (id) =>
      isDate(id.slice(1, 3), id.slice(3, 5), id.slice(5, 7)) &&
      '01234567891'[weighted(id, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11] === id[12],
    cue: after('cnp|numeric personal'),
  },
  // Sweden: personnummer. Coordination numbers add 60 to the day.
  {
    shape: /(?:19|20)?\d{6}[-+]\d{4}/,
    check: (id) => {
      const short = id.slice(-10)
      return isDate(short.slice(0, 2), short.slice(2, 4), String(Number(short.slice(4, 6)) % 60)) && luhn(short)
    },
  },
  // Denmark: CPR number, without check digits since 2007.
  {
    shape: /[0-3]\d[01]\d\d\d-?\d{4}/,
    check: (id) => isDate(id.slice(4, 6), id.slice(2, 4), id.slice(0, 2)),
    cue: /\bcpr[^\n]{0,24}$/i,
  },
  // Finland: henkilötunnus.
  {
    shape: /[0-3]\d[01]\d\d\d[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]/,
    check: (id) => {
      const digits = id.replace(/^(\d{6})[A-Z]/, '$1')
      return isDate(id.slice(4, 6), id.slice(2, 4), id.slice(0, 2)) &&
        letterOf(digits.slice(0, 9), '0123456789ABCDEFHJKLMNPRSTUVWXY') === digits[9]
    },
  },
  // Norway: fødselsnummer.
  {
    shape: /[0-7]\d[0-5]\d\d\d ?\d{5}/,
    check: (id) =>
      isDate(id.slice(4, 6), String(Number(id.slice(2, 4)) % 40), String(Number(id.slice(0, 2)) % 40)) &&
      weighted(id, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 === 0 &&
      weighted(id, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0,
  },
  // Switzerland: AHV number.
  {
    shape: /756\.?\d{4}\.?\d{4}\.?\d\d/,
    check: (id) => weighted(id, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0,
  },
  // Brazil: CPF.
  { shape: /\d{3}\.\d{3}\.\d{3}-\d\d/, check: isCpf },
  { shape: /\d{11}/, check: isCpf, cue: /\bcpf[^\n]{0,24}$/i },
  // Argentina: CUIL.
  {
    shape: /(?:20|23|24|27|30|33|34)-\d{8}-\d/,
    check: (id) => '09987654321'[weighted(id, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11] === id[10],
  },
  // Chile: RUT.
  {
    shape: /\d{1,2}\.\d{3}\.\d{3}-[\dK]/i,
    check: (id) => {
      const sum = [...id.slice(0, -1)].reverse().reduce((sum, digit, i) => sum + Number(digit) * (2 + i % 6), 0)
      return '0K987654321'[sum % 11] === id.at(-1)
    },
  },
  // Mexico: CURP.
  {
    shape: /[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{2}[B-DF-HJ-NP-TV-ZÑ]{3}[A-Z\d]\d/,
    check: (id) => {
      const sum = [...id.slice(0, 17)].reduce((sum, char, i) => sum + curpDigits.indexOf(char) * (18 - i), 0)
      return (10 - sum % 10) % 10 === Number(id[17])
    },
    hasLetters: true,
  },
  // India: Aadhaar and PAN.
  { shape: /[2-9]\d{3} \d{4} \d{4}/, check: verhoeff },
  { shape: /[2-9]\d{11}/, check: verhoeff, cue: /a+dha+r|आधार/i },
  { shape: /[A-Z]{3}P[A-Z]\d{4}[A-Z]/, check: () => true, hasLetters: true },
  // China: resident identity number.
  {
    shape: /[1-9]\d{5}(?:19|20)\d{9}[\dX]/i,
    check: (id) =>
      isDate(id.slice(6, 10), id.slice(10, 12), id.slice(12, 14)) &&
      '10X98765432'[weighted(id, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11] === id[17],
  },
  // Korea: resident registration number. Its check digit was given up in 2020.
  { shape: /\d{6}-[1-8]\d{6}/, check: (id) => isDate(id.slice(0, 2), id.slice(2, 4), id.slice(4, 6)) },
  // Japan: My Number.
  {
    shape: /\d{4}[ -]?\d{4}[ -]?\d{4}/,
    check: (id) => {
      const rest = weighted(id, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11
      return (rest <= 1 ? 0 : 11 - rest) === Number(id[11])
    },
    cue: /(?:マイナンバー|個人番号|my ?number)[^\n]{0,16}$/i,
  },
  // Singapore: NRIC.
  {
    shape: /[STFG]\d{7}[A-Z]/,
    check: (id) => {
      const sum = weighted(id.slice(1), [2, 7, 6, 5, 4, 3, 2]) + (/[TG]/.test(id[0]) ? 4 : 0)
      return (/[ST]/.test(id[0]) ? 'JZIHGFEDCBA' : 'XWUTRQPNMLK')[sum % 11] === id[8]
    },
  },
  // Turkey: T.C. kimlik no.
  {
    shape: /[1-9]\d{10}/,
    check: (id) =>
      (weighted(id, [7, -1, 7, -1, 7, -1, 7, -1, 7]) % 10 + 10) % 10 === Number(id[9]) &&
      weighted(id, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) % 10 === Number(id[10]),
    cue: after('tckn|kimlik|vatandaşlık'),
  },
  // South Africa: identity number.
  {
    shape: /\d{10}[012]\d\d/,
    check: (id) => isDate(id.slice(0, 2), id.slice(2, 4), id.slice(4, 6)) && luhn(id),
    cue: after('south african id|rsa id|sa id'),
  },
  // Israel: identity number.
  { shape: /\d{9}/, check: luhn, cue: /(?:teudat|ת"?ז|זהות)[^\n]{0,24}$/i },
  // Russia: SNILS.
  {
    shape: /\d{3}-\d{3}-\d{3}[ -]\d\d/,
    check: (id) => weighted(id, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100 === Number(id.slice(9)),
  },
  // Australia: tax file number.
  {
    shape: /\d{3} ?\d{3} ?\d{3}/,
    check: (id) => weighted(id, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0,
    cue: /\b(?:tfn|tax file)[^\n]{0,24}$/i,
  },
]

const dniLetters = 'TRWAGMYFPDXBNJZSQVHLCKE'
const curpDigits = '0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ'

function isCpf(id: string): boolean {
  if (/^(\d)\1*$/.test(id)) return false
  const digit = (length: number) => {
    const sum = [...id.slice(0, length)].reduce((sum, digit, i) => sum + Number(digit) * (length + 1 - i), 0)
    return sum * 10 % 11 % 10
  }
  return digit(9) === Number(id[9]) && digit(10) === Number(id[10])
}

/** No part of a longer word or number. */
function apart(source: string, flags: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_]|\\d[.,-])(?:${source})(?![\\p{L}\\p{N}_]|[.,-]\\d)`, flags)
}

const compiled = ids.map(({ shape: { source, flags }, ...rest }) => ({ ...rest, shape: apart(source, `${flags}gu`) }))
const withLetters = compiled.filter(({ hasLetters }) => hasLetters)
/** All of them have a digit after a letter, or four digits. */
const anyWithLetters = /[A-Z]\d|\d\d ?\d\d/iu
const manyDigits = /\d(?:\D{0,3}\d){6,}/g
const ofDigits = compiled.filter(({ hasLetters }) => !hasLetters)
/** Whether there is any of them: most numbers have no such shape. */
const anyOfDigits = apart(ids.filter(({ hasLetters }) => !hasLetters).map(({ shape }) => shape.source).join('|'), 'iu')

export const nationalIds: Detector = {
  id: 'national_id',
  kind: 'national id number',
  find: (text) => {
    const { digits, hasNumberedLetter } = traitsOf(text)
    if (digits < 4 && !hasNumberedLetter) return []
    return [
      ...(anyWithLetters.test(text) ? withLetters.flatMap((id) => findIn(text, 0, text.length, id)) : []),
      ...(digits < 7 ? [] : matching(text, manyDigits)).flatMap(({ start, end }) => {
        // With what stands around it.
        const from = Math.max(0, start - 4)
        if (!anyOfDigits.test(text.slice(from, end + 4))) return []
        return ofDigits.flatMap((id) => findIn(text, from, end + 4, id))
      }),
    ]
  },
}

/** The ids of one kind from `from` to `to`. */
function findIn(text: string, from: number, to: number, { shape, check, cue }: NationalId): Span[] {
  const found = matching(
    text.slice(from, to),
    shape,
    ({ text: found, start }) =>
      check(found.replace(/[ .+-]/g, '').toUpperCase()) && (!cue || cue.test(before(text, from + start, 60))),
  )
  return found.map(({ start, end }) => ({ start: from + start, end: from + end }))
}
