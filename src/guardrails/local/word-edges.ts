/** Where words begin and end. */

const inWord = String.raw`[\p{L}\p{N}\p{M}]`
/** Scripts without spaces between words, which have no boundaries to ask for, and Hangul, where particles follow a word. */
const unspaced = `[${
  'Han Hiragana Katakana Bopomofo Hangul Thai Lao Khmer Myanmar Tibetan'.split(' ')
    .map((script) => String.raw`\p{scx=${script}}`).join('')
}]`
const edge = new RegExp(`(?<!${inWord})|(?!${inWord})|(?<=${unspaced})|(?=${unspaced})`, 'uy')

/** Whether a word may begin or end here. */
export function isWordEdge(text: string, at: number): boolean {
  edge.lastIndex = at
  return edge.test(text)
}

/** Where the word ends that goes on here, within 40 code units. */
export function wordEnd(text: string, at: number): number {
  let end = at
  while (end < at + 40 && !isWordEdge(text, end)) end++
  return end
}
