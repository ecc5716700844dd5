/** The value types of settings, each with a parser and a description of its format. */
import * as z from 'zod'
import ipaddr from 'ipaddr.js'
import { isPlainAddress } from '../lib/names.ts'
import { isKeyRing } from '../lib/key-ring.ts'

export interface Value<T> {
  format: string
  /** Parses the variable's text. The text is undefined if the variable is not set. */
  schema: z.ZodType<T>
}

export function value<T>(format: string, schema: z.ZodType<T>): Value<T> {
  return { format, schema }
}

export function wholeNumber(min: number, max: number, fallback: number): Value<number> {
  const digits = z.string().regex(/^\d+$/)
  const schema = digits.transform(Number).pipe(z.number().min(min).max(max)).prefault(String(fallback))
  return value(`a number from ${min} to ${max}`, schema)
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600 }

/** A duration such as `45m` or `8h`, parsed to seconds. */
export function duration(min: string, max: string, fallback: string): Value<number> {
  const toSeconds = (text: string) => parseInt(text) * unitSeconds[text.at(-1)!]
  const schema = z.string().regex(/^\d{1,5}[smh]$/).transform(toSeconds)
  const bounds = z.number().min(toSeconds(min)).max(toSeconds(max))
  return value(`a duration from ${min} to ${max}`, schema.pipe(bounds).prefault(fallback))
}

export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>): Value<T> {
  const format = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return value(format, z.enum(words).prefault(fallback as T))
}

/** A switch. Default: off. */
export const flag: Value<boolean> = value(
  '0 or 1',
  z.enum(['0', '1']).transform((text) => text === '1').prefault('0'),
)

/** Parses comma-separated words. */
export const words = (fallback: string) =>
  z.string().transform((text) => text.split(',').map((word) => word.trim()).filter(Boolean)).prefault(fallback)

export const addressRanges: Value<string[]> = value(
  'comma-separated addresses or CIDR ranges',
  words('').refine((list) => list.every(isCidr)),
)

const origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url && /^https?:$/.test(url.protocol) && !url.host.includes('*')
  // Accepts only an origin with an optional trailing slash, without user, path, query or fragment.
  if (isWeb && url.href === `${url.origin}/`) return url.origin
  context.addIssue('not an origin')
  return z.NEVER
})

/** A public address of the grid, parsed to an origin without a trailing slash. */
export const publicAddress: Value<string | undefined> = value(
  'an http or https address without a path',
  origin.optional(),
)

export const publicAddresses: Value<string[]> = value(
  'comma-separated http or https addresses without a path',
  words('').pipe(z.array(origin)),
)

/** The origin of an editor's or a browser extension's pages, such as `vscode-webview://1a2b`. */
const appOrigin = z.string().regex(/^(?!https?:|file:|data:|javascript:)[a-z][a-z0-9+.-]*:\/\/[\w.-]*$/)

export const origins: Value<string[]> = value(
  '* or comma-separated origins',
  words('*').pipe(z.array(z.union([z.literal('*'), origin, appOrigin]))),
)

// Accepts only file URLs with a path, without host or query. Refuses `:memory:`.
const databaseUrlPattern = /^(file:(\/\/(?=\/))?(?!\/\/|:)(%[0-9a-fA-F]{2}|[^%?#])+|(libsql|https?|wss?):\/\/.+)$/

export function databaseUrl(fallback: string): Value<string> {
  return value(
    'file:PATH, libsql://…, https://…, http://…, wss://… or ws://…',
    z.string().regex(databaseUrlPattern).prefault(fallback),
  )
}

/** Keys in the format of `lib/key-ring.ts`. */
export const keyRing: Value<string | undefined> = value(
  'comma-separated ID:BASE64 of 32 bytes, the newest first',
  z.string().refine(isKeyRing).optional(),
)

export interface NamedAddress {
  name: string
  address: string
}

/** An email address with an optional display name, parsed to lower case. `name` is the default display name. */
export function emailAddress(name: string): Value<NamedAddress | undefined> {
  return value(
    'an email address such as grid@example.com or Grid <grid@example.com>',
    z.string().transform((text) => namedAddress(text.trim(), name))
      .refine(({ name, address }) => isPlainAddress(address) && /^[^\p{C}<>"]{1,100}$/u.test(name)).optional(),
  )
}

function namedAddress(text: string, name: string): NamedAddress {
  const [, quoted, bare, address] = text.match(/^(?:"([^"]*)"|([^"<]*?))\s*<([^<>]*)>$/) ?? []
  if (address === undefined) return { name, address: text.toLowerCase() }
  return { name: quoted || bare || name, address: address.trim().toLowerCase() }
}

/** An email server's URL. A query is refused, because the email library would read options from it. */
export const emailServer: Value<string | undefined> = value(
  'smtp://HOST:PORT or smtps://HOST:PORT, optionally with USER:PASSWORD@ (percent-encoded: # is %23, / is %2F, ? is %3F)',
  z.string().refine((text) => isServer(text, /^smtps?:$/)).optional(),
)

export const proxy: Value<string | undefined> = value(
  'http://HOST:PORT or https://HOST:PORT, optionally with USER:PASSWORD@',
  z.string().refine((text) => isServer(text, /^https?:$/)).optional(),
)

/** Whether a URL has only a scheme and a host, optionally with a user and a port. */
function isServer(text: string, protocols: RegExp): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(text)
  const isPlain = hostname !== '' && /^\/?$/.test(`${pathname}${search}${hash}`)
  return protocols.test(protocol) && isPlain && isDecodable(username) && isDecodable(password)
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

function isCidr(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}
