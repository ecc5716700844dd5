/** Encrypts stored tokens with AES-256-GCM and a ring of keys. See docs/security.md, "What is encrypted". */
import { GridError } from '../errors.ts'
import { fromBase64, toBase64 } from './encoding.ts'

/** An encrypted token, in base64. `tokenKeyId` is the id of its key in the ring. */
export interface SealedToken {
  encryptedToken: string
  tokenIv: string
  tokenAuthTag: string
  tokenKeyId: string
}

export interface KeyRing {
  readonly ids: readonly string[]
  /** The ids of keys that stored tokens need but the ring lacks, as of the start of this process. */
  missing: readonly string[]
  /** Whether another process has such keys and may lack this process's keys. This process then encrypts nothing. */
  isForeign: boolean
  readonly canSeal: boolean
  /** Called before each `seal`. If it fails, `seal` fails. */
  beforeSeal?: () => Promise<void>
  /** Encrypts with the newest key. `context` is authenticated, so decryption requires the same `context`. */
  seal(text: string, context: string): Promise<SealedToken>
  /** Encrypts a check text with the newest key. See `wrongKeys`. Fails with `invalid_input` if there is no key. */
  sealCheck(): Promise<SealedToken>
  /** Decrypts. Fails with `internal` if the key is not in the ring, or the token or its context was changed. */
  open(sealed: SealedToken, context: string): Promise<string>
}

const ivBytes = 12
const tagBytes = 16
const keyBytes = 32

/** A shell command that generates a key. The id contains the current minute, because ids must not be reused. */
export const newKeyInShell = '$(date +k%Y%m%d-%H%M):$(openssl rand -base64 32)'

const checkText = 'agent-grid'

function checkContext(id: string): string {
  return `store_facts:key:${id}`
}

/** Returns the ids whose key in the ring differs from the key that sealed their check text. */
export async function wrongKeys(ring: KeyRing, checks: readonly SealedToken[]): Promise<string[]> {
  const wrong: string[] = []
  for (const check of checks) {
    const id = check.tokenKeyId
    if (!ring.ids.includes(id)) continue
    const text = await ring.open(check, checkContext(id)).catch(() => undefined)
    if (text !== checkText) wrong.push(id)
  }
  return wrong
}

/** Whether a text is a key ring: comma-separated `id:base64key`, newest first. */
export function isKeyRing(text: string): boolean {
  try {
    return parseKeyRing(text).size > 0
  } catch {
    return false
  }
}

/** Returns the ids of a ring's keys, newest first. Empty if the text is not a key ring. */
export function keyIdsOf(text: string | undefined): string[] {
  return text !== undefined && isKeyRing(text) ? [...parseKeyRing(text).keys()] : []
}

/** Returns a new key ring with one key, in the format of `GRID_KEYS`. Its random id allows merging two rings. */
export function newKeyRing(): string {
  return `${crypto.randomUUID().slice(0, 8)}:${toBase64(crypto.getRandomValues(new Uint8Array(keyBytes)))}`
}

/** Creates the ring from the text of `GRID_KEYS`. Without keys, `seal` fails with `invalid_input`. */
export function createKeyRing(text: string | undefined): KeyRing {
  const keys = text === undefined ? new Map<string, Uint8Array<ArrayBuffer>>() : parseKeyRing(text)

  const ring: KeyRing = {
    ids: [...keys.keys()],
    missing: [],
    isForeign: false,
    get canSeal() {
      return keys.size > 0 && !ring.isForeign
    },
    async seal(plain, context) {
      if (ring.isForeign) {
        throw new GridError('unavailable', 'This process lacks encryption keys of the grid. Correct its GRID_KEYS.')
      }
      await ring.beforeSeal?.()
      return await sealWithNewest(keys, plain, context)
    },
    sealCheck: () => sealWithNewest(keys, checkText, checkContext(ring.ids[0])),
    async open({ encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }, context) {
      const raw = keys.get(tokenKeyId)
      if (!raw) throw new GridError('internal', `The encryption key ${tokenKeyId} is not in GRID_KEYS.`)
      const sealed = new Uint8Array([...fromBase64(encryptedToken), ...fromBase64(tokenAuthTag)])
      try {
        const plain = await crypto.subtle.decrypt(
          aesOptions(fromBase64(tokenIv), context),
          await importKey(raw, 'decrypt'),
          sealed,
        )
        return new TextDecoder().decode(plain)
      } catch {
        throw new GridError(
          'internal',
          'A stored token cannot be decrypted: it was changed, moved, or encrypted with another key.',
        )
      }
    },
  }
  return ring
}

async function sealWithNewest(
  keys: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  plain: string,
  context: string,
): Promise<SealedToken> {
  const newest = keys.entries().next().value
  if (!newest) {
    throw new GridError('invalid_input', 'This grid has no encryption keys, so it cannot store tokens. Set GRID_KEYS.')
  }
  const [tokenKeyId, raw] = newest
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes))
  const sealed = new Uint8Array(
    await crypto.subtle.encrypt(
      aesOptions(iv, context),
      await importKey(raw, 'encrypt'),
      new TextEncoder().encode(plain),
    ),
  )
  return {
    encryptedToken: toBase64(sealed.subarray(0, -tagBytes)),
    tokenIv: toBase64(iv),
    tokenAuthTag: toBase64(sealed.subarray(-tagBytes)),
    tokenKeyId,
  }
}

function parseKeyRing(text: string): Map<string, Uint8Array<ArrayBuffer>> {
  const keys = new Map<string, Uint8Array<ArrayBuffer>>()
  for (const entry of text.split(',')) {
    const [id, key] = entry.trim().split(':')
    const raw = fromBase64(key ?? '')
    if (!id || raw.length !== keyBytes || keys.has(id)) throw new Error('not a key ring')
    keys.set(id, raw)
  }
  return keys
}

function aesOptions(iv: Uint8Array<ArrayBuffer>, context: string) {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(context), tagLength: tagBytes * 8 }
}

function importKey(raw: Uint8Array<ArrayBuffer>, use: 'encrypt' | 'decrypt') {
  return crypto.subtle.importKey('raw', raw, 'AES-GCM', false, [use])
}
