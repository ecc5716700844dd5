/** Finds national identification numbers. `validator` verifies their check digits. */
import isIdentityCard from 'validator/lib/isIdentityCard.js'
import isTaxID from 'validator/lib/isTaxID.js'
import { before, type Detector, matching } from './detector.ts'

/**
 * A format, a check of the number without separators, and words that must precede a number whose format has other
 * common meanings.
 */
type NationalId = readonly [shape: RegExp, check: (id: string) => boolean, cue?: RegExp]

const tax = (locale: string) => (id: string) => isTaxID(id, locale)
const identity = (locale: string) => (id: string) => isIdentityCard(id, locale)
/** Matches a word that identifies the number or labels it as a personal number. */
const after = (names: string) =>
  new RegExp(
    `(?:${names}|national id|identity (?:number|card)|\\bid (?:number|no\\.?)|personal number)[^\\n]{0,24}$`,
    'i',
  )

const ids: readonly NationalId[] = [
  // United States, Canada.
  [/(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}/, (id) => !['078051120', '219099999'].includes(id)],
  [/(?!000|666|9)\d{3} ?(?!00)\d\d ?(?!0000)\d{4}/, () => true, /(?:ssn|social security)[^\n]{0,24}$/i],
  [/[1-79]\d\d[ -]?\d{3}[ -]?\d{3}/, tax('en-CA'), /\b(?:sin|social insurance)\b[^\n]{0,24}$/i],
  // United Kingdom, Ireland.
  [/[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]/, tax('en-GB')],
  [/\d{7}[A-W][AH]?/, tax('en-IE'), /\bpps[^\n]{0,24}$/i],
  // Germany, France, Spain, Italy, the Netherlands, Belgium.
  [/[1-9]\d ?\d{3} ?\d{3} ?\d{3}/, tax('de-DE')],
  [/[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d/, isNir],
  [/(?:\d{8}|[XYZ]-?\d{7})-?[A-HJ-NP-TV-Z]/, tax('es-ES')],
  [/[A-Z]{6}\d[0-9LMNP-V][A-EHLMPRST][0-7LMNP-T][0-9LMNP-V][A-Z][0-9LMNP-V]{3}[A-Z]/, tax('it-IT')],
  [/\d{9}/, tax('nl-NL'), after('bsn|burgerservice|sofi')],
  [/\d\d\.\d\d\.\d\d-\d{3}\.\d\d/, tax('fr-BE')],
  // Poland, Romania.
  [/\d{11}/, identity('PL'), after('pesel')],
  [/[1-8]\d{12}/, tax('ro-RO'), after('cnp|numeric personal')],
  // Sweden, Denmark, Finland, Norway.
  [/(?:19|20)?\d{6}[-+]\d{4}/, tax('sv-SE')],
  [/[0-3]\d[01]\d\d\d-?\d{4}/, tax('dk-DK'), /\bcpr[^\n]{0,24}$/i],
  [/[0-3]\d[01]\d\d\d[-+A]\d{3}[0-9A-FHJ-NPR-Y]/, (id) => tax('fi-FI')(id.replace(/^(\d{6})(.{4})$/, '$1-$2'))],
  [/[0-7]\d[0-5]\d\d\d ?\d{5}/, identity('NO')],
  // Brazil, Argentina.
  [/\d{3}\.\d{3}\.\d{3}-\d\d/, tax('pt-BR')],
  [/\d{11}/, tax('pt-BR'), /\bcpf[^\n]{0,24}$/i],
  [/(?:20|23|24|27|30|33|34)-\d{8}-\d/, tax('es-AR')],
  // India, China, Israel.
  [/[2-9]\d{3} \d{4} \d{4}/, identity('IN')],
  [/[2-9]\d{11}/, identity('IN'), /a+dha+r|आधार/i],
  [/[1-9]\d{5}(?:19|20)\d{9}[\dX]/, identity('zh-CN')],
  [/\d{9}/, identity('he-IL'), /(?:teudat|ת"?ז|זהות)[^\n]{0,24}$/i],
]

/** The French social security number. Corsican numbers contain letters. */
function isNir(id: string): boolean {
  const digits = id.replace('2A', '19').replace('2B', '18')
  return 97n - BigInt(digits.slice(0, 13)) % 97n === BigInt(digits.slice(13))
}

/** The expressions of all formats, which match only outside longer words and numbers. */
const compiled = ids.map(([{ source }, check, cue]) => {
  const shape = new RegExp(`(?<![\\p{L}\\p{N}_]|\\d[.,-])(?:${source})(?![\\p{L}\\p{N}_]|[.,-]\\d)`, 'giu')
  return { shape, check, cue }
})

export const nationalIds: Detector = {
  id: 'national_id',
  kind: 'national id number',
  find(text) {
    // Every format contains four digits close together, so other texts are not searched.
    if (!/\d(?:\D{0,5}\d){3}/.test(text)) return []
    return compiled.flatMap(({ shape, check, cue }) =>
      matching(
        text,
        shape,
        ({ text: found, start }) =>
          check(found.replace(/[ .+-]/g, '').toUpperCase()) && (!cue || cue.test(before(text, start, 60))),
      )
    )
  },
}
