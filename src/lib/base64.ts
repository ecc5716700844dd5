/** Base64 (RFC 4648 §4): writing, reading, and telling it from other text. */

/** Whether a text is base64 of either alphabet, with or without padding. @see RFC 4648 §4, §5 */
export function isBase64(text: string): boolean {
  return /^[\w+/-]*={0,2}$/.test(text)
}

/** Bytes as base64 with padding. For short ones: all of them are arguments of one call. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** Fails with a `DOMException` if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}
