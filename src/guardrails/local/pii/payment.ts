/** Finds card numbers and IBANs. */
import isCreditCard from 'validator/lib/isCreditCard.js'
import { type Candidate, type Detector, matching } from './detector.ts'

/** Digits in groups of any size, separated by one space, hyphen or dot. */
const cardShape = /(?<![\p{L}\p{N}_]|\d[.,:-])\d(?:[ .-]?\d){12,18}(?![\p{L}\p{N}_]|[.,:-]\d)/gu

/** Digits in the groups of a card number, with identical separators, such as a line feed, `/` or brackets. */
const groupedShape =
  /(?<![\p{L}\p{N}])\d{4}(?<signs>[\s./_|()[\]{}*-]{1,4})(?:\d{4}\k<signs>\d{4}\k<signs>\d{4}|\d{6}\k<signs>\d{4,5})(?!\k<signs>\d|[\p{L}\p{N}])/gu

export const card: Detector = {
  id: 'card',
  kind: 'credit card number',
  find: (text) => [
    ...matching(text, cardShape, isCard),
    ...matching(text, groupedShape, ({ text }) => isCreditCard(text.replace(/\D/g, ''))),
  ],
}

function isCard({ text }: Candidate): boolean {
  const digits = text.replace(/[ .-]/g, '')
  const isGrouped = digits.length === text.length || /^\d{4,6}(?:[ .-]\d{3,7})+$/.test(text)
  return isGrouped && isCreditCard(digits)
}

/** Countries by the length of their IBANs. @see SWIFT IBAN Registry */
const countries: Record<number, string> = {
  15: 'NO',
  16: 'BE',
  18: 'DK|FI|FK|FO|GL|NL|SD',
  19: 'MK|SI',
  20: 'AT|BA|EE|KZ|LT|LU|MN|XK',
  21: 'CH|HR|LI|LV',
  22: 'BG|BH|CR|DE|GB|GE|IE|ME|RS|VA',
  23: 'AE|GI|IL|IQ|OM|SO|TL',
  24: 'AD|CZ|ES|MD|PK|RO|SA|SE|SK|TN|VG',
  25: 'LY|PT|ST',
  26: 'IS|TR',
  27: 'BI|DJ|FR|GR|IT|MC|MR|SM',
  28: 'AL|AZ|BY|CY|DO|GT|HN|HU|LB|NI|PL|SV',
  29: 'BR|EG|PS|QA|UA',
  30: 'JO|KW|MU|YE',
  31: 'MT|SC',
  32: 'LC',
  33: 'RU',
}
const ibanShapes = Object.entries(countries).map(([length, names]) =>
  String.raw`(?:${names})\d\d(?:[ -]?[A-Z0-9]){${Number(length) - 4}}`
)
const ibanShape = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${ibanShapes.join('|')})(?![\p{L}\p{N}])`, 'giu')

export const iban: Detector = {
  id: 'iban',
  kind: 'bank account number',
  find: (text) => matching(text, ibanShape, hasCheckDigits),
}

/** @see ISO 7064, MOD 97-10 */
function hasCheckDigits({ text }: Candidate): boolean {
  const number = text.replace(/[ -]/g, '').toUpperCase()
  const digits = (number.slice(4) + number.slice(0, 4)).replace(/[A-Z]/g, (letter) => `${Number.parseInt(letter, 36)}`)
  return BigInt(digits) % 97n === 1n
}
