/** Quotes a text as one word of a POSIX shell, if necessary. */
export function shellWord(text: string): string {
  return /^[\w:./@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
