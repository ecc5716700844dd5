/** Creates, recognises and hashes keys and tokens. See docs/security.md, "Keys and tokens". */
import { crc32 } from 'node:zlib'
import { generateRandomString, type RandomReader } from '@oslojs/crypto/random'
import { sha256 } from '@oslojs/crypto/sha2'
import { constantTimeEqual } from '@oslojs/crypto/subtle'
import { encodeBase64urlNoPadding } from '@oslojs/encoding'
import { digestOf } from './digest.ts'

export const keyPrefixes = {
  agent_key: 'grid_agt_',
  admin_key: 'grid_adm_',
  access_token: 'grid_oat_',
  refresh_token: 'grid_ort_',
  client_secret: 'grid_cs_',
} as const
export type KeyKind = keyof typeof keyPrefixes

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checkLength = 6
const encoder = new TextEncoder()

/** A new key. `key` is shown to its owner once. The other members are stored. */
export interface MintedKey {
  key: string
  /** The key's SHA-256 in hexadecimal. */
  hash: string
  last4: string
}

/** Creates a key: a prefix, 43 base62 characters (256 random bits), and a CRC32 of both in 6 base62 characters. */
export function mintKey(kind: KeyKind): MintedKey {
  const body = keyPrefixes[kind] + generateRandomString(random, base62, secretLength)
  const key = body + checksum(body)
  return { key, hash: hashForLookup(key), last4: key.slice(-4) }
}

/** Returns the kind of a well-formed key, otherwise undefined. Rejects typos and floods without a database query. */
export function keyKind(text: string): KeyKind | undefined {
  for (const [kind, prefix] of Object.entries(keyPrefixes)) {
    if (!text.startsWith(prefix)) continue
    const at = prefix.length + secretLength
    if (text.length !== at + checkLength || !/^[0-9A-Za-z_]+$/.test(text)) return undefined
    return text.slice(at) === checksum(text.slice(0, at)) ? (kind as KeyKind) : undefined
  }
  return undefined
}

/** Returns the SHA-256 that is stored, in hexadecimal. Keys have 256 random bits, so they need no slow hash. */
export function hashForLookup(secret: string): string {
  return digestOf(secret)
}

export function isSameSecret(a: string, b: string): boolean {
  return constantTimeEqual(encoder.encode(a), encoder.encode(b))
}

/** Creates a random 256-bit token in base62, for a link, a cookie or a code. Only its hash is stored. */
export function mintLinkToken(): { token: string; hash: string } {
  const token = generateRandomString(random, base62, secretLength)
  return { token, hash: hashForLookup(token) }
}

/** Creates a recovery code: 16 of 31 characters (79 random bits), in groups of four. Omits `0`, `1`, `i`, `l`, `o`. */
export function mintRecoveryCode(): string {
  return generateRandomString(random, 'abcdefghjkmnpqrstuvwxyz23456789', 16).replace(/.{4}(?!$)/g, '$&-')
}

/** Returns a verifier's S256 challenge. Undefined if the verifier is malformed. @see RFC 7636 §4.1, §4.2 */
export function codeChallengeOf(verifier: string): string | undefined {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return undefined
  return encodeBase64urlNoPadding(sha256(encoder.encode(verifier)))
}

/** Unused random bytes, because the library reads one byte per character, and each system request costs 10 us. */
const stock = new Uint8Array(4096)
let used = stock.length
const random: RandomReader = {
  read(bytes) {
    for (let i = 0; i < bytes.length; i++) {
      if (used === stock.length) {
        crypto.getRandomValues(stock)
        used = 0
      }
      bytes[i] = stock[used]
      stock[used++] = 0
    }
  },
}

function checksum(text: string): string {
  let left = crc32(text)
  let out = ''
  for (let i = 0; i < checkLength; i++) {
    out = base62[left % 62] + out
    left = Math.floor(left / 62)
  }
  return out
}
