/** Encodings: base64 (RFC 4648 §4), UTF-8 and canonical JSON. */
import { Buffer } from 'node:buffer'

/** Whether a text is base64 in either alphabet, with or without padding. @see RFC 4648 §4, §5 */
export function isBase64(text: string): boolean {
  return /^[\w+/-]*={0,2}$/.test(text)
}

/** Converts base64 to the standard alphabet with padding. Removes line breaks. Undefined if the text is not base64. */
export function canonicalBase64(text: string): string | undefined {
  const digits = text.replace(/[\r\n]/g, '')
  if (!isBase64(digits) || digits.replace(/=+$/, '').length % 4 === 1) return undefined
  return Buffer.from(digits, 'base64').toString('base64')
}

/** Decodes UTF-8. Undefined for invalid bytes, and for text with U+0000, which indicates UTF-16 or binary data. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** Encodes bytes as padded base64. Use only for short arrays, because each byte becomes an argument of one call. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** Decodes base64. Fails with a `DOMException` if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/** Returns canonical JSON: no white space, members sorted by the UTF-16 units of their names. @see RFC 8785 §3.2 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
