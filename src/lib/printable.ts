/** A text for a terminal: it has lines and tabs, and nothing that moves the cursor or hides what follows. */
export function printable(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '')
}
