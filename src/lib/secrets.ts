/** Keys and tokens: create, recognise and hash them. See docs/security.md, "Keys and tokens". */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { alphabet, constantTimeEqual, generateRandomString } from 'oslo/crypto'

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

/** A new key: `key` is shown to its owner once, the rest is stored. */
export interface MintedKey {
  key: string
  /** SHA-256 in hexadecimal. */
  hash: string
  last4: string
}

/** A key is a prefix, 43 base62 characters (256 random bits), and a CRC32 of both in 6 base62 characters. */
export function mintKey(kind: KeyKind): MintedKey {
  const body = keyPrefixes[kind] + generateRandomString(secretLength, base62)
  const key = body + checksum(body)
  return { key, hash: hashForLookup(key), last4: key.slice(-4) }
}

/** The kind of a well-formed key, otherwise undefined. It rejects typos and floods without a database query. */
export function keyKind(text: string): KeyKind | undefined {
  for (const [kind, prefix] of Object.entries(keyPrefixes)) {
    if (!text.startsWith(prefix)) continue
    const at = prefix.length + secretLength
    if (text.length !== at + checkLength || !/^[0-9A-Za-z_]+$/.test(text)) return undefined
    return text.slice(at) === checksum(text.slice(0, at)) ? (kind as KeyKind) : undefined
  }
  return undefined
}

/** SHA-256 in hexadecimal, as stored. Keys have 256 random bits, so they need no slow hash. */
export function hashForLookup(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isSameSecret(a: string, b: string): boolean {
  const encoder = new TextEncoder()
  return constantTimeEqual(encoder.encode(a), encoder.encode(b))
}

/** A random token of 256 bits in base62, for a link, a cookie or a code. Only its hash is stored. */
export function mintLinkToken(): { token: string; hash: string } {
  const token = generateRandomString(secretLength, base62)
  return { token, hash: hashForLookup(token) }
}

/** A recovery code: 16 characters of 31 (79 random bits), in groups of four. Without `0`, `1`, `i`, `l` and `o`. */
export function mintRecoveryCode(): string {
  return generateRandomString(16, 'abcdefghjkmnpqrstuvwxyz23456789').replace(/.{4}(?!$)/g, '$&-')
}

function checksum(text: string): string {
  let left = crc32(text)
  let out = ''
  for (let i = 0; i < checkLength; i++) {
    out = digits[left % 62] + out
    left = Math.floor(left / 62)
  }
  return out
}
