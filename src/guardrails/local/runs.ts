/** Whether a text has a long run of certain characters: a quick look before a search for what consists of them. */

/** Characters, by ASCII code. */
export type CharSet = Uint8Array

/** The ASCII characters that match an expression for one character. */
export function charSet(pattern: RegExp): CharSet {
  return Uint8Array.from({ length: 0x80 }, (_, code) => pattern.test(String.fromCharCode(code)) ? 1 : 0)
}

/** Whether `length` of the characters follow each other. With `others`, all characters beyond ASCII belong to them. */
export function hasRun(text: string, chars: CharSet, length: number, others = false): boolean {
  // A run covers one of the places that are looked at, wherever it begins.
  for (let at = length - 1; at < text.length; at += length) {
    if (!isIn(text, at, chars, others)) continue
    let start = at
    while (start > 0 && at - start < length && isIn(text, start - 1, chars, others)) start--
    let end = at + 1
    while (end < text.length && end - start < length && isIn(text, end, chars, others)) end++
    if (end - start >= length) return true
  }
  return false
}

function isIn(text: string, at: number, chars: CharSet, others: boolean): boolean {
  const code = text.charCodeAt(at)
  return code < 0x80 ? chars[code] === 1 : others
}
