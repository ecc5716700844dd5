/** Encryption of the tokens the grid keeps for others: AES-256-GCM with a ring of keys. Security: section 3.3. */
import { GridError } from '../errors.ts'

/** A sealed text, in base64; `tokenKeyId` names the key of the ring. */
export interface Sealed {
  encryptedToken: string
  tokenIv: string
  tokenAuthTag: string
  tokenKeyId: string
}

export interface KeyRing {
  /** Seal with the first key. `place` is bound in: the result opens nowhere else. */
  seal(text: string, place: string): Promise<Sealed>
  /** Fails with `internal` when the key is not in the ring, or anything was changed or moved. */
  open(sealed: Sealed, place: string): Promise<string>
}

const ivBytes = 12
const tagBytes = 16
const keyBytes = 32

/** Whether a text is a key ring: `id:base64key`, comma-separated, the newest first. */
export function isKeyRing(text: string): boolean {
  try {
    return parseRing(text).size > 0
  } catch {
    return false
  }
}

/** A new key ring with one key, in the form of `GRID_KEYS`. Its id is random, so that two rings can be put together. */
export function newKeyRing(): string {
  return `${crypto.randomUUID().slice(0, 8)}:${toBase64(crypto.getRandomValues(new Uint8Array(keyBytes)))}`
}

/** The ring of `GRID_KEYS`. Without keys nothing can be sealed, and the error says what to set. */
export function createKeyRing(text: string | undefined): KeyRing {
  const keys = text === undefined ? new Map<string, Uint8Array<ArrayBuffer>>() : parseRing(text)

  return {
    async seal(plain, place) {
      const newest = keys.entries().next().value
      if (!newest) {
        throw new GridError(
          'invalid_input',
          'This grid has no encryption keys, so it cannot keep tokens. Set GRID_KEYS.',
        )
      }
      const [tokenKeyId, raw] = newest
      const iv = crypto.getRandomValues(new Uint8Array(ivBytes))
      const sealed = new Uint8Array(
        await crypto.subtle.encrypt(
          options(iv, place),
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
    },
    async open({ encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }, place) {
      const raw = keys.get(tokenKeyId)
      if (!raw) throw new GridError('internal', `The encryption key ${tokenKeyId} is not in GRID_KEYS.`)
      const sealed = new Uint8Array([...fromBase64(encryptedToken), ...fromBase64(tokenAuthTag)])
      try {
        const plain = await crypto.subtle.decrypt(
          options(fromBase64(tokenIv), place),
          await importKey(raw, 'decrypt'),
          sealed,
        )
        return new TextDecoder().decode(plain)
      } catch {
        throw new GridError(
          'internal',
          'A stored token does not open: it was changed, moved, or sealed with another key.',
        )
      }
    },
  }
}

function parseRing(text: string): Map<string, Uint8Array<ArrayBuffer>> {
  const keys = new Map<string, Uint8Array<ArrayBuffer>>()
  for (const entry of text.split(',')) {
    const [id, key] = entry.trim().split(':')
    const raw = fromBase64(key ?? '')
    if (!id || raw.length !== keyBytes || keys.has(id)) throw new Error('not a key ring')
    keys.set(id, raw)
  }
  return keys
}

function options(iv: Uint8Array<ArrayBuffer>, place: string) {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(place), tagLength: tagBytes * 8 }
}

function importKey(raw: Uint8Array<ArrayBuffer>, use: 'encrypt' | 'decrypt') {
  return crypto.subtle.importKey('raw', raw, 'AES-GCM', false, [use])
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}
