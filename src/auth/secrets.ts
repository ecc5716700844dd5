/** Keys and tokens: mint, recognise and hash. All use of oslo's primitives for them is here. */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { alphabet, constantTimeEqual, generateRandomString, sha256 } from 'oslo/crypto'
import { encodeHex } from 'oslo/encoding'

export const keyPrefixes = {
  agent_key: 'grid_agt_',
  admin_key: 'grid_adm_',
  access_token: 'grid_oat_',
  refresh_token: 'grid_ort_',
  client_secret: 'grid_cs_',
} as const
export type KeyKind = keyof typeof keyPrefixes

const base62 = alphabet('0-9', 'A-Z', 'a-z')
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checkLength = 6

/** A key as its owner sees it once, and what is stored of it. */
export interface MintedKey {
  key: string
  /** SHA-256, hexadecimal. */
  hash: string
  last4: string
}

/** Prefix, 43 base62 characters (256 random bits) and a 6-character CRC32 of both. */
export async function mintKey(kind: KeyKind): Promise<MintedKey> {
  const body = keyPrefixes[kind] + generateRandomString(secretLength, base62)
  const key = body + check(body)
  return { key, hash: await hashSecret(key), last4: key.slice(-4) }
}

/** The kind of a well-formed key; undefined for anything else. No database is asked: typos and floods end here. */
export function keyKind(text: string): KeyKind | undefined {
  for (const [kind, prefix] of Object.entries(keyPrefixes)) {
    if (!text.startsWith(prefix)) continue
    const at = prefix.length + secretLength
    if (text.length !== at + checkLength || !/^[0-9A-Za-z_]+$/.test(text)) return undefined
    return text.slice(at) === check(text.slice(0, at)) ? (kind as KeyKind) : undefined
  }
  return undefined
}

/** SHA-256 in hexadecimal, as stored. Keys have 256 random bits and need no slow hash. */
export async function hashSecret(secret: string): Promise<string> {
  return encodeHex(await sha256(new TextEncoder().encode(secret)))
}

/**
 * The same digest for the look-up of every request. The synchronous call saves the
 * 20 to 80 microseconds that WebCrypto takes to leave and re-enter the event loop.
 */
export function hashForLookup(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** Whether two secrets are equal; the time it takes does not tell where they differ. */
export function isSameSecret(a: string, b: string): boolean {
  const encoder = new TextEncoder()
  return constantTimeEqual(encoder.encode(a), encoder.encode(b))
}

/** A random token for a link, a form or a code, for example a claim link: 256 bits, base62. Stored as its hash. */
export async function mintLinkToken(): Promise<{ token: string; hash: string }> {
  const token = generateRandomString(secretLength, base62)
  return { token, hash: await hashSecret(token) }
}

function check(text: string): string {
  let left = crc32(text)
  let out = ''
  for (let i = 0; i < checkLength; i++) {
    out = digits[left % 62] + out
    left = Math.floor(left / 62)
  }
  return out
}
