/** Card numbers and IBANs. */
import { traitsOf } from '../traits.ts'
import { luhn, mod97 } from './checksums.ts'
import { type Candidate, type Detector, matching } from './detector.ts'

/** In groups of any size, with one space, hyphen or dot between them. */
const cardShape = /(?<![\p{L}\p{N}_]|\d[.,:-])\d(?:[ .-]?\d){12,18}(?![\p{L}\p{N}_]|[.,:-]\d)/gu

/** First digits and lengths of the large schemes. @see ISO/IEC 7812-1 */
const schemes: readonly RegExp[] = [
  /^4(?:\d{12}|\d{15}|\d{18})$/,
  /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)\d{11,14}$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[689])\d{11}$/,
  /^(?:6011|64[4-9]|65)\d{12,15}$/,
  /^35\d{14}$/,
  /^62\d{14,17}$/,
  /^(?:50|5[6-8]|6[37])\d{11,17}$/,
  /^220[0-4]\d{12}$/,
]

export const card: Detector = {
  id: 'card',
  kind: 'credit card number',
  find: (text) => traitsOf(text).digits < 13 ? [] : matching(text, cardShape, isCard),
}

function isCard({ text }: Candidate): boolean {
  const digits = text.replace(/[ .-]/g, '')
  const isGrouped = digits.length === text.length || /^\d{4,6}(?:[ .-]\d{3,7})+$/.test(text)
  return isGrouped && !/^(\d)\1*$/.test(digits) && schemes.some((scheme) => scheme.test(digits)) && luhn(digits)
}

/** How long the IBANs of a country are. @see SWIFT IBAN Registry */
const ibanLengths: Record<string, number> = Object.fromEntries(
  ('AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ' +
    'ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 ' +
    'LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 ' +
    'PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 ' +
    'YE30').split(' ').map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** The country, the check digits, and what may be more than the number: `take` cuts it to the length of the country. */
const ibanShape = /(?<![\p{L}\p{N}])[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]){11,29}/giu

export const iban: Detector = {
  id: 'iban',
  kind: 'bank account number',
  find: (text) => {
    if (!traitsOf(text).hasNumberedLetter) return []
    return matching(text, ibanShape).flatMap(({ text: found, start }) => {
      const length = ibanLengths[found.slice(0, 2).toUpperCase()]
      const cut = length === undefined ? undefined : take(found, length)
      if (cut === undefined || /[\p{L}\p{N}]/u.test(text[start + cut.length] ?? '')) return []
      const number = cut.replace(/[ -]/g, '').toUpperCase()
      return mod97(number.slice(4) + number.slice(0, 4)) === 1 ? [{ start, end: start + cut.length }] : []
    })
  },
}

/** The beginning with so many letters and digits. */
function take(text: string, count: number): string | undefined {
  let left = count
  for (let end = 0; end < text.length; end++) {
    if (text[end] !== ' ' && text[end] !== '-') left--
    if (left === 0) return text.slice(0, end + 1)
  }
  return undefined
}
