/** Text from outside. */

/**
 * Text that every store, JSON reader and model sees alike: lone surrogates
 * become U+FFFD. Undefined when it holds U+0000, which databases cut off.
 */
export function wellFormed(text: string): string | undefined {
  return text.includes('\0') ? undefined : text.toWellFormed()
}

/** Length in characters as people count them: code points, not UTF-16 units. */
export function characters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
