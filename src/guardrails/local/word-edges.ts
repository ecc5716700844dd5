/** Where words begin and end. */

const inWord = /[\p{L}\p{N}\p{M}]/u
/** Scripts without spaces between words, and Hangul, where particles follow a word directly. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}]/u

/** Whether what begins here may begin a word. Scripts without spaces have no boundaries to ask for. */
export function startsWord(text: string, start: number): boolean {
  return start === 0 || isBoundary(charBefore(text, start), charAt(text, start))
}

/** Whether what ends here may end a word. */
export function endsWord(text: string, end: number): boolean {
  return end >= text.length || isBoundary(charBefore(text, end), charAt(text, end))
}

/** Where the word ends that goes on here, within 40 code units. */
export function wordEnd(text: string, at: number): number {
  let end = at
  while (end < text.length && end - at < 40 && !endsWord(text, end)) end += charAt(text, end).length
  return end
}

function isBoundary(left: string, right: string): boolean {
  return !isWordChar(left) || !isWordChar(right) || unspaced.test(left) || unspaced.test(right)
}

function isWordChar(char: string): boolean {
  const code = char.charCodeAt(0)
  if (code < 0x80) return code >= 0x61 && code <= 0x7a || code >= 0x41 && code <= 0x5a || code >= 0x30 && code <= 0x39
  return inWord.test(char)
}

function charAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at)!)
}

function charBefore(text: string, at: number): string {
  const isPair = at > 1 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 &&
    (text.charCodeAt(at - 2) & 0xfc00) === 0xd800
  return text.slice(at - (isPair ? 2 : 1), at)
}
