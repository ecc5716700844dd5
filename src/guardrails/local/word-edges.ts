/** Where words begin and end. */

const inWord = /[\p{L}\p{N}\p{M}]/u
/** Scripts without spaces between words, and Hangul, where particles follow a word directly. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}]/u

/** Whether what begins here may begin a word. Scripts without spaces have no boundaries to ask for. */
export function startsWord(text: string, start: number): boolean {
  return start === 0 || isBoundaryAt(text, start)
}

/** Whether what ends here may end a word. */
export function endsWord(text: string, end: number): boolean {
  return end >= text.length || isBoundaryAt(text, end)
}

/** Where the word ends that goes on here, within 40 code units. */
export function wordEnd(text: string, at: number): number {
  let end = at
  while (end < text.length && end - at < 40 && !endsWord(text, end)) end += charAt(text, end).length
  return end
}

function isBoundaryAt(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  if (before < 0x80 && after < 0x80) return asciiInWord[before] + asciiInWord[after] < 2
  const [left, right] = [charBefore(text, at), charAt(text, at)]
  return !inWord.test(left) || !inWord.test(right) || unspaced.test(left) || unspaced.test(right)
}

/** By ASCII unit, whether it may be in a word. */
const asciiInWord = Uint8Array.from({ length: 0x80 }, (_, unit) => inWord.test(String.fromCharCode(unit)) ? 1 : 0)

function charAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at)!)
}

function charBefore(text: string, at: number): string {
  const isPair = at > 1 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 &&
    (text.charCodeAt(at - 2) & 0xfc00) === 0xd800
  return text.slice(at - (isPair ? 2 : 1), at)
}
