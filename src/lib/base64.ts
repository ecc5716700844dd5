/** Telling base64 from other text. */

/** Whether a text is base64 of either alphabet, with or without padding. @see RFC 4648 §4, §5 */
export function isBase64(text: string): boolean {
  return /^[\w+/-]*={0,2}$/.test(text)
}
