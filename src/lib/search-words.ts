/**
 * Normalises texts for searching: words without case and accents. Unspaced scripts are split into pairs of characters.
 */

const word = /[\p{L}\p{N}\p{M}]+/gu
const marks = /(?![\u3099\u309a])\p{Mn}/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu
const isAscii = /^[\0-\x7f]*$/
/** Maximum length of a compared word. Longer words, such as encoded files, are truncated. */
const maxWordLength = 40
const maxQueryWords = 12

/** Returns a text's distinct words, in the form in which they are stored. */
export function searchWords(text: string): string[] {
  return [...new Set(placesOf(text).map((place) => place.word))]
}

/** Returns the words of a query. Each must begin a word of a matching text, or equal such a word if it is short. */
export function queryWords(text: string): string[] {
  const places = placesOf(text)
  // A single character marks the end of a run without spaces. Omit it unless it is the only character of the run.
  const needed = places.filter(({ isEnd }, n) => !isEnd || places[n - 1]?.end !== places[n].end)
  return [...new Set(needed.map((place) => place.word))].slice(0, maxQueryWords)
}

/** Whether a query word must match a complete word. Prefixes of one or two letters or digits match too many words. */
export function isShort(word: string): boolean {
  return /^[a-z\d]{1,2}$/.test(word)
}

function isMatch(word: string, asked: string): boolean {
  return isShort(asked) ? word === asked : word.startsWith(asked)
}

/** A part of an excerpt. */
export interface ExcerptPiece {
  text: string
  isMatch: boolean
}

/** Returns about `length` characters of a text around the first match, on one line, split at the matches. */
export function excerptOf(text: string, words: readonly string[], length = 160): ExcerptPiece[] {
  const matches = placesOf(text).filter((place) => words.some((word) => isMatch(place.word, word)))
  const from = beginOf(text, (matches[0]?.at ?? 0) - Math.floor(length / 3))
  const to = Math.min(text.length, from + length)
  const pieces: ExcerptPiece[] = []
  let at = from
  const add = (end: number, isMatch: boolean) => {
    const piece = text.slice(at, end).replace(/\s+/g, ' ').toWellFormed()
    const last = pieces.at(-1)
    if (last?.isMatch === isMatch) last.text += piece
    else if (piece !== '') pieces.push({ text: piece, isMatch })
    at = Math.max(at, end)
  }
  if (from > 0) pieces.push({ text: '…', isMatch: false })
  for (const match of matches) {
    if (match.at >= to) break
    add(match.at, false)
    add(Math.min(to, match.end), true)
  }
  add(to, false)
  if (to < text.length) pieces.push({ text: '…', isMatch: false })
  return pieces
}

/** Returns a position near `at` where a word begins. */
function beginOf(text: string, at: number): number {
  if (at <= 0) return 0
  const space = text.slice(at, at + 20).search(/\s/)
  return space < 0 ? at : at + space + 1
}

interface WordPlace {
  word: string
  at: number
  end: number
  /** Whether this is the last character of a run without spaces. */
  isEnd: boolean
}

function placesOf(text: string): WordPlace[] {
  const places: WordPlace[] = []
  for (const { 0: raw, index } of text.matchAll(word)) {
    if (isAscii.test(raw)) {
      places.push({ word: raw.toLowerCase().slice(0, maxWordLength), at: index, end: index + raw.length, isEnd: false })
    } else addFolded(places, raw, index)
  }
  return places
}

function addFolded(places: WordPlace[], raw: string, index: number): void {
  const folded = raw.normalize('NFKD').replace(marks, '').normalize('NFKC').toLowerCase()
  // If case folding changed the length of a text, all its words get the position of the complete text.
  const isSame = folded.length === raw.length
  const add = (word: string, at: number, length: number, isEnd = false) =>
    places.push({
      word,
      at: isSame ? index + at : index,
      end: isSame ? index + at + length : index + raw.length,
      isEnd,
    })
  // Case folding can turn one word into several.
  for (const { 0: part, index: start } of folded.matchAll(word)) {
    let at = 0
    for (const { 0: run, index: runAt } of part.matchAll(unspaced)) {
      if (runAt > at) addWord(part.slice(at, runAt), start + at)
      const characters = [...run]
      let place = start + runAt
      for (const [n, character] of characters.entries()) {
        const next = characters[n + 1]
        if (next === undefined) add(character, place, character.length, true)
        else add(character + next, place, character.length + next.length)
        place += character.length
      }
      at = runAt + run.length
    }
    if (at < part.length) addWord(part.slice(at), start + at)
  }
  function addWord(word: string, at: number) {
    add(word.slice(0, maxWordLength).toWellFormed(), at, word.length)
  }
}
