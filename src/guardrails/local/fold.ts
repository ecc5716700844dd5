/** What phrases are compared by: text without the differences that a reader does not mind. */
import { lookalikes } from './lookalikes.ts'
import type { Units } from './phrase-automaton.ts'
import { hasAny, kinds, traitsOf } from './traits.ts'

/** A folded text, and where each of its code units begins and ends in the text. */
export class Folded implements Units {
  units: Uint16Array
  starts: Int32Array
  ends: Int32Array
  length = 0

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity)
    this.starts = new Int32Array(capacity)
    this.ends = new Int32Array(capacity)
  }

  addUnit(unit: number, start: number, end: number): void {
    if (this.length === this.units.length) this.#grow()
    this.units[this.length] = unit
    this.starts[this.length] = start
    this.ends[this.length++] = end
  }

  add(text: string, start: number, end: number): void {
    for (let i = 0; i < text.length; i++) this.addUnit(text.charCodeAt(i), start, end)
  }

  /** What does not show belongs to the character before it. */
  extend(end: number): void {
    if (this.length > 0) this.ends[this.length - 1] = end
  }

  get text(): string {
    let text = ''
    for (let i = 0; i < this.length; i++) text += String.fromCharCode(this.units[i])
    return text
  }

  #grow(): void {
    const { units, starts, ends } = this
    const capacity = 2 * units.length + 16
    this.units = new Uint16Array(capacity)
    this.starts = new Int32Array(capacity)
    this.ends = new Int32Array(capacity)
    this.units.set(units)
    this.starts.set(starts)
    this.ends.set(ends)
  }
}

/** A text folded in both ways. Without its words, if nobody asked for them: those are empty then. */
export interface FoldedText {
  /** Words with one space between them, and with their punctuation. */
  readonly words: Folded
  /** Letters and digits alone, with `l` as `i`. For long phrases, which need no word boundaries inside. */
  readonly letters: Folded
}

const space = 0x20

/**
 * Fold a text: case, width and styles of letters (NFKD), accents, letters that look like Latin ones, digits and signs
 * that stand for letters in a word, runs of white space, characters that do not show.
 *
 * `buffers` may be used for the result, if it fits: it is then valid until they are used again. Without `withWords`,
 * the words of most texts are left out.
 */
export function fold(text: string, buffers?: FoldedText, withWords = true): FoldedText {
  if (hasAny(text, kinds.other)) return foldAny(text)
  const fits = buffers && text.length <= buffers.words.units.length
  const folded = fits ? buffers : { words: new Folded(text.length), letters: new Folded(text.length) }
  foldLetters(text, folded.letters)
  if (withWords) foldWords(text, folded.words)
  else folded.words.length = 0
  return folded
}

/** The letters that `foldAny` makes of a text of ASCII characters, each of which becomes one or none. */
function foldLetters(text: string, letters: Folded): void {
  const given = traitsOf(text).units
  const { units, starts, ends } = letters
  let count = 0
  let wordEnd = 0
  let hasLetter = false
  for (let i = 0; i < text.length; i++) {
    const code = given[i]
    let unit = asciiLetters[code]
    if (unit === 0) continue
    if (unit === dependsOnWord) {
      if (i >= wordEnd) ({ end: wordEnd, hasLetter } = wordAt(text, wordStart(text, i)))
      unit = mergedLetters[hasLetter ? letterFolds[code] : asciiFolds[code]]
      if (unit === 0) continue
    }
    units[count] = unit
    starts[count] = i
    ends[count++] = i + 1
  }
  letters.length = count
}

/** The words that `foldAny` makes of a text of ASCII characters, each of which becomes one unit or none. */
function foldWords(text: string, words: Folded): void {
  const given = traitsOf(text).units
  const { units, starts, ends } = words
  let count = 0
  let wordEnd = 0
  let hasLetter = false
  let wasSpace = false
  for (let i = 0; i < text.length; i++) {
    const code = given[i]
    let unit = asciiFolds[code]
    if (letterFolds[code] !== unit) {
      if (i >= wordEnd) ({ end: wordEnd, hasLetter } = wordAt(text, wordStart(text, i)))
      if (hasLetter) unit = letterFolds[code]
    }
    if (unit === 0) continue
    if (unit === space && wasSpace) {
      ends[count - 1] = i + 1
      continue
    }
    wasSpace = unit === space
    units[count] = unit
    starts[count] = i
    ends[count++] = i + 1
  }
  words.length = count
}

function foldAny(text: string): FoldedText {
  const words = new Folded(text.length)
  const letters = new Folded(text.length)
  let wordEnd = 0
  let hasLetter = false
  for (let i = 0; i < text.length;) {
    const code = text.codePointAt(i)!
    const end = i + (code > 0xffff ? 2 : 1)
    if (i >= wordEnd) ({ end: wordEnd, hasLetter } = wordAt(text, i))
    if (code < 0x80) {
      const unit = hasLetter && i < wordEnd ? letterFolds[code] : asciiFolds[code]
      if (unit === space) addSpace(words, i, end)
      else if (unit > 0) words.addUnit(unit, i, end)
      if (mergedLetters[unit] > 0) letters.addUnit(mergedLetters[unit], i, end)
    } else {
      const folded = foldOf(code)
      if (folded.words === '') {
        words.extend(end)
        letters.extend(end)
      } else if (folded.words === ' ') addSpace(words, i, end)
      else words.add(folded.words, i, end)
      letters.add(folded.letters, i, end)
    }
    i = end
  }
  return { words, letters }
}

function addSpace(words: Folded, start: number, end: number): void {
  if (words.length > 0 && words.units[words.length - 1] === space) words.extend(end)
  else words.addUnit(space, start, end)
}

/** Where the word begins that goes on here. */
function wordStart(text: string, at: number): number {
  let start = at
  while (start > 0 && wordUnit(text.charCodeAt(start - 1)) > 0) start--
  return start
}

/** ASCII letters, digits, `@` and `$` from here on, and whether there is a letter. Other letters count as letters. */
function wordAt(text: string, start: number): { end: number; hasLetter: boolean } {
  let end = start
  let hasLetter = false
  for (; end < text.length; end++) {
    const kind = wordUnit(text.charCodeAt(end))
    if (kind === 0) break
    hasLetter ||= kind === 2
  }
  return { end, hasLetter }
}

/** 2 for a letter, 1 for a digit and a sign in a word, 0 for anything else. */
function wordUnit(code: number): 0 | 1 | 2 {
  if (code >= 0x61 && code <= 0x7a || code >= 0x41 && code <= 0x5a || code > 0xbf) return 2
  return code >= 0x30 && code <= 0x39 || code === 0x40 || code === 0x24 ? 1 : 0
}

/** ASCII characters folded. 0 leaves one out. */
const asciiFolds = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const char = String.fromCharCode(code)
  return /\s/.test(char) ? space : code < 0x20 || code === 0x7f ? 0 : char.toLowerCase().charCodeAt(0)
})

/** The same in a word with letters, where digits and signs stand for letters. */
const letterFolds = asciiFolds.map((folded) => {
  const at = '013457@$'.indexOf(String.fromCharCode(folded))
  return at < 0 ? folded : 'oieastas'.charCodeAt(at)
})

/** Folded letters and digits, with `l` as `i`, which it is taken for. 0 is something else. */
const mergedLetters = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const char = String.fromCharCode(code)
  return char === 'l' ? 0x69 : /[a-z0-9]/.test(char) ? code : 0
})

/** ASCII characters as letters and digits, where the word that they are in makes no difference. */
const dependsOnWord = 0xff
const asciiLetters = asciiFolds.map((folded, code) =>
  folded === letterFolds[code] ? mergedLetters[folded] : dependsOnWord
)

interface FoldedChar {
  readonly words: string
  readonly letters: string
}

const folds = new Map<number, FoldedChar>()
/** Most code points that are remembered. The others are folded each time. */
const mostFolds = 20_000

function foldOf(code: number): FoldedChar {
  let folded = folds.get(code)
  if (!folded) {
    const words = foldChar(code)
    folded = { words, letters: lettersOf(words, code) }
    if (folds.size < mostFolds) folds.set(code, folded)
  }
  return folded
}

/** Accents, and the vowel signs of Hebrew and Arabic, which texts have or leave out; and what does not show. */
const ignored =
  /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u20d0-\u20f0\p{Default_Ignorable_Code_Point}\p{Cc}]/gu

function foldChar(code: number): string {
  const char = String.fromCodePoint(code)
  // The blank of Braille shows nothing.
  if (/[\p{White_Space}\u2800]/u.test(char)) return ' '
  const styled = styledLetter(code)
  if (styled) return styled
  // Upper case first, so that ß is ss and all sigmas are one, as in full case folding.
  const plain = char.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD').replace(ignored, '')
  return [...plain].map((letter) => lookalikes.get(letter) ?? letter).join('')
    .replace(/æ/g, 'ae').replace(/œ/g, 'oe').replace(/\s+/g, ' ')
}

/** Letters in black circles and squares, which NFKD keeps. */
function styledLetter(code: number): string | undefined {
  for (const first of [0x1f150, 0x1f170]) {
    if (code >= first && code < first + 26) return String.fromCharCode(0x61 + code - first)
  }
  return undefined
}

/** A folded character without punctuation. Regional indicators are letters here only: two of them are a flag. */
function lettersOf(folded: string, code: number): string {
  const letters = code >= 0x1f1e6 && code <= 0x1f1ff ? String.fromCharCode(0x61 + code - 0x1f1e6) : folded
  return letters.replace(/[^\p{L}\p{N}\p{M}]/gu, '').replace(/l/g, 'i')
}
