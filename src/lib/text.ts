/** Maximum size of a message's text in UTF-8. Over A2A, the body limit of the request applies instead. */
export const maxTextBytes = 256 * 1024

/**
 * Replaces lone surrogates with U+FFFD, so that databases, JSON parsers and models all read the same text. Undefined if
 * the text contains U+0000, because databases truncate text there.
 */
export function wellFormed(text: string): string | undefined {
  return text.includes('\0') ? undefined : text.toWellFormed()
}

/** Whether a text has at most `max` characters. Avoids counting the characters of long texts. */
export function hasAtMost(text: string, max: number): boolean {
  return text.length <= max || (text.length <= 2 * max && characterCount(text) <= max)
}

/** Counts characters as code points, not as UTF-16 code units. */
export function characterCount(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/**
 * Converts an untrusted value to a number. NaN if it is neither a number nor a text, because `Number` of an object may
 * throw.
 */
export function numberOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : NaN
}

/** Converts an untrusted value to a text. Avoids `String`, which may throw for an object. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}
