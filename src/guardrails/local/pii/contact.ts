/** Finds email addresses and phone numbers, in the international and common national formats. */
import type { Span } from '../../provider.ts'
import { before, type Candidate, type Detector, matching } from './detector.ts'

/** A possible account and host. The expression begins with `@`, so that few positions are searched. */
const around = /@(?<=(?<account>[\p{L}\p{N}\p{M}._%+'-]{1,64})@)(?<name>[\p{L}\p{N}\p{M}.-]{1,253})/gu
const host =
  /^(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)(?:\.(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)){0,8}\.(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]{2,59})$/u
/** Endings of file names, such as `icon@2x.png`. */
const file =
  /\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|js|mjs|cjs|ts|tsx|jsx|json|map|tgz|gz|zip|tar|md|html?|lock|ya?ml)$/i

/** Spelled addresses, such as `alice [at] example [dot] com`. */
const spelled =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}._%+-]{1,64} ?(?:\(at\)|\[at\]|\{at\}) ?[\p{L}\p{N}-]{1,63}(?: ?(?:\(dot\)|\[dot\]|\{dot\}|\.) ?[\p{L}\p{N}-]{2,63}){1,4}/giu

export const email: Detector = {
  id: 'email',
  kind: 'email address',
  find: (text) => [
    ...[...text.matchAll(around)].flatMap(({ index, groups }) => addressAt(text, index, groups!.account, groups!.name)),
    // This expression looks back from every word, so it runs only if the text contains a marker such as `[at]`.
    ...(/[([{]at[)\]}]/i.test(text) ? matching(text, spelled) : []),
  ],
}

function addressAt(text: string, at: number, before: string, after: string): Span[] {
  const account = before.replace(/^[.'%-]+/, '')
  const name = after.replace(/[.-]+$/, '')
  const end = at + 1 + name.length
  if (account === '' || account.endsWith('.') || !host.test(name) || file.test(name)) return []
  // A repository's SSH address, such as git@github.com:owner/name.
  if (account === 'git' || /^:[\w~/.-]*\//.test(text.slice(end, end + 100))) return []
  return [{ start: at - account.length, end }]
}

/** Groups of digits that are not part of a longer number, a date, an address or a version. */
const shape =
  /(?<![\p{L}\p{N}_#$€£¥]|\d[.,:/+-]|[A-Za-z][/+-]|[.,:/=-]\d{0,3}[.,:/-])(?:\+|\()?\d(?:[ \u00a0]?[-./()][ \u00a0]?|[ \u00a0]{1,2}|\) ?[-/]? ?)?(?:\(?\d\)?(?:[ \u00a0]?[-./()][ \u00a0]?|[ \u00a0])?){5,15}\d(?![\p{L}\p{N}_%€$£]|[.,:/-]\d)/gu

/** Country codes. @see ITU-T E.164, Annex to Operational Bulletin */
const countryCode =
  /^(?:1|7|2[07]|3[0123469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|21[1-368]|22\d|23\d|24\d|25[0-8]|26\d|29[01789]|35\d|37\d|38[0-35-79]|42[0134]|50\d|59\d|67[02-9]|68[0-35-9]|69[0-2]|80[08]|85[02356]|87[08]|88[0128368]|96[0-8]|97[0-79]|99[2-68])/

/** National formats that rarely have another meaning. */
const national: readonly RegExp[] = [
  /^(?:1[-. ])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ])[2-9]\d\d[-. ]\d{4}$/,
  // A trunk prefix 0, an area code, and groups of digits, as in Europe, Asia and Oceania.
  /^\(?0[1-9]\d{0,4}\)?[ /.-]{1,3}\d{2,8}(?:[ -]\d{2,5}){0,3}$/,
  /^0[1-9](?:[ .-]\d\d){4}$/,
  /^\(\d\d\) ?9? ?\d{4}-?\d{4}$/,
  /^8[ -]?\(?[3489]\d\d\)?[ -]\d{3}[ -]\d\d[ -]\d\d$/,
  /^1[3-9]\d[ -]\d{4}[ -]\d{4}$/,
  /^3[2-9]\d \d{3} \d{4}$/,
]

/** A date rather than a phone number. It may be followed by a time. */
const date =
  /^(?:\d{4}[-./](?:0?[1-9]|1[0-2])[-./](?:0?[1-9]|[12]\d|3[01])|(?:(?:0?[1-9]|1[0-2])[-./](?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])[-./](?:0?[1-9]|1[0-2]))[-./]\d{2,4})(?!\d)/

/** Words before a number that mark it as a phone number. */
const cue =
  /(?:tel(?:efon[eo]?|éfono|éphone)?|phone|mobile?|mobil|cell|celular|móvil|handy|fax|call|text|ring|sms|whats ?app|signal|portable|telemóvel|cellulare|тел(?:ефон)?|звон\p{L}*|电话|電話|手机|手機|携帯|전화|휴대폰|هاتف|جوال|फ़ोन|फोन|मोबाइल|gsm|numara)\.?(?: (?:me|us|him|her|on|at|is|number|no\.?|nr\.?|unter|au|al|под|номер))*[ :：=()]{0,3}$/iu

export const phone: Detector = {
  id: 'phone',
  kind: 'phone number',
  find: (text) => matching(text, shape, (candidate) => isPhone(text, candidate)),
}

function isPhone(text: string, { text: found, start }: Candidate): boolean {
  const digits = found.replace(/\D/g, '')
  if (digits.length > 15 || digits.length < 7 || /^(\d)\1*$/.test(digits)) return false
  if (found.startsWith('+') || found.startsWith('00')) {
    const number = digits.replace(/^00/, '')
    return number.length >= 8 && countryCode.test(number)
  }
  if (date.test(found)) return false
  if (cue.test(before(text, start))) return true
  return digits.length >= 9 && digits.length <= 12 && national.some((shape) => shape.test(found))
}
