/**
 * How likely languages are by how often three letters follow each other. It tells what franc tells, by the same data,
 * in a fraction of the time: franc compares every language with the text, this goes once through the text.
 *
 * @see Cavnar, Trenkle: "N-Gram-Based Text Categorization", 1994
 */
import { data } from 'franc/data.js'
import { UnitBuffer } from './units.ts'

/** As many UTF-16 code units of a text are read. */
export const sampleLength = 2_048
/** The distance of letters that are not among the most frequent ones of a language. */
const farthest = 300

/** Bits of the class of one letter. */
const classBits = 10
const mostClasses = 2 ** classBits - 1
/** The classes of the most frequent letters have so few bits that a table may have a place for any three of them. */
const smallBits = 6
const smallClasses = 2 ** smallBits
/** White space, and the ASCII digits and signs before the letters. */
const space = 1
const asciiSpaces = /[\s!-@]/
const otherSpaces = '\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f' +
  '\u205f\u3000\ufeff'
/** Most trigrams of a text: small letters may be twice as long. */
const mostTrigrams = 2 * sampleLength + 2

/** Bits of the nearness in an entry; the language is above them. */
const nearBits = 9
const nearMask = 2 ** nearBits - 1

/** The languages of one script. */
export class LanguageModel {
  /** By code unit. Those that no language has get theirs in a text. */
  readonly #asciiClasses = new Uint16Array(0x80)
  readonly #otherClasses = new Map<number, number>([...otherSpaces].map((char) => [char.charCodeAt(0), space]))
  #classCount = space
  readonly #languages: readonly string[]
  /** By place, where the entries of three letters begin. */
  readonly #starts: Int32Array
  /** Languages, and the rank that the letters have in them, counted down: 300 for the most frequent ones. */
  readonly #entries: Uint16Array
  readonly #trigrams: Trigrams
  /** By language, of one text. */
  readonly #nearness: Int32Array

  /** `script` and `languages` as franc names them. */
  constructor(script: string, languages: readonly string[]) {
    this.#languages = languages.filter((language) => language in data[script])
    const letters = this.#languages.map((name) => data[script][name].replaceAll('|', '')).join('')
    for (const unit of unitsByFrequency(letters)) {
      if (asciiSpaces.test(String.fromCharCode(unit)) || this.#otherClasses.has(unit)) continue
      if (unit < 0x80) this.#asciiClasses[unit] = ++this.#classCount
      else this.#otherClasses.set(unit, ++this.#classCount)
    }
    for (let unit = 0; unit < 0x80; unit++) {
      if (asciiSpaces.test(String.fromCharCode(unit))) this.#asciiClasses[unit] = space
      else this.#asciiClasses[unit] ||= ++this.#classCount
    }
    const entries = new Map<string, number[]>()
    this.#languages.forEach((name, language) => {
      data[script][name].split('|').forEach((letters, rank) => {
        entries.set(letters, [...entries.get(letters) ?? [], language << nearBits | (farthest - rank)])
      })
    })
    this.#nearness = new Int32Array(this.#languages.length)
    this.#trigrams = new Trigrams(
      [...entries.keys()].map((letters) => [0, 1, 2].map((i) => this.#classOf(letters.charCodeAt(i)))),
    )
    this.#starts = new Int32Array(entries.size + 1)
    ;[...entries.values()].forEach(({ length }, place) => this.#starts[place + 1] = this.#starts[place] + length)
    this.#entries = Uint16Array.from([...entries.values()].flat())
  }

  /** The languages that are at least so likely beside the likeliest one, which has 1. */
  likely(text: string, atLeast: number): string[] {
    const sample = text.slice(0, sampleLength)
    const trigrams = this.#trigrams
    this.#count(sample.toLowerCase())
    const nearness = this.#nearness.fill(0)
    for (let i = 0; i < trigrams.seenCount; i++) {
      const place = trigrams.seen[i]
      if (place < trigrams.known) this.#addNearness(place, trigrams.counts[place])
    }
    // Each trigram that was seen is `farthest` away, less its nearness.
    const total = farthest * trigrams.seenCount
    trigrams.clear()
    const nearest = nearness.reduce((nearest, near) => Math.max(nearest, near))
    const most = sample.length * farthest - (total - nearest)
    return this.#languages.filter((_, i) => 1 - (nearest - nearness[i]) / most >= atLeast)
  }

  /** Add how near the trigram of a place, which a text has `count` times, is to the rank that each language has it in. */
  #addNearness(place: number, count: number): void {
    const [nearness, entries] = [this.#nearness, this.#entries]
    const end = this.#starts[place + 1]
    for (let at = this.#starts[place]; at < end; at++) {
      const entry = entries[at]
      const near = (entry & nearMask) + count - 1
      nearness[entry >>> nearBits] += near <= farthest ? near : 2 * farthest - near
    }
  }

  /** Count the trigrams of a text in small letters, with one space between words and around them. */
  #count(text: string): void {
    const { length } = text
    const units = buffer.read(text)
    const [asciiClasses, otherClasses, trigrams] = [this.#asciiClasses, this.#otherClasses, this.#trigrams]
    let unknown: Map<number, number> | undefined
    let first = 0
    let second = space
    for (let i = 0; i <= length; i++) {
      const unit = i < length ? units[i] : 0x20
      let third = unit < 0x80 ? asciiClasses[unit] : otherClasses.get(unit) ?? 0
      if (third === 0) {
        unknown ??= new Map()
        third = unknown.get(unit) ?? Math.min(this.#classCount + unknown.size + 1, mostClasses)
        unknown.set(unit, third)
      }
      if (third === space && second === space) continue
      if (first > 0) trigrams.add(first, second, third)
      first = second
      second = third
    }
  }

  /** 0 for a unit that no language has. */
  #classOf(unit: number): number {
    return unit < 0x80 ? this.#asciiClasses[unit] : this.#otherClasses.get(unit) ?? 0
  }
}

/** Distinct UTF-16 units, the most frequent ones first. */
function unitsByFrequency(text: string): number[] {
  const counts = new Map<number, number>()
  for (let i = 0; i < text.length; i++) counts.set(text.charCodeAt(i), (counts.get(text.charCodeAt(i)) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([unit]) => unit)
}

const buffer = new UnitBuffer()

/** Trigrams that are known, and those of one text: which it has, and how often. Each has a place. */
class Trigrams {
  /** The places before this one are of trigrams that are known. The others are given away anew for each text. */
  readonly known: number
  /** The places of those that the text has. */
  readonly seen = new Uint16Array(mostTrigrams)
  seenCount = 0
  /** By place, how often the text has them. */
  readonly counts: Uint16Array
  #places = 0
  /** By three small classes, the place, counted from 1. */
  readonly #small = new Uint16Array(smallClasses ** 3)
  #addedSmall: number[] = []
  /** By any other classes, the place. */
  readonly #others = new Map<number, number>()
  #addedOthers: number[] = []

  /** The classes of those that are known; their places are in the same order. */
  constructor(known: readonly (readonly number[])[]) {
    for (const [first, second, third] of known) this.#placeOf(first, second, third)
    this.known = this.#places
    this.counts = new Uint16Array(this.known + mostTrigrams)
    this.#addedSmall = []
    this.#addedOthers = []
  }

  add(first: number, second: number, third: number): void {
    const place = this.#placeOf(first, second, third)
    if (this.counts[place]++ === 0) this.seen[this.seenCount++] = place
  }

  /** Forget the text. */
  clear(): void {
    for (let i = 0; i < this.seenCount; i++) this.counts[this.seen[i]] = 0
    for (const key of this.#addedSmall) this.#small[key] = 0
    for (const key of this.#addedOthers) this.#others.delete(key)
    this.#addedSmall = []
    this.#addedOthers = []
    this.seenCount = 0
    this.#places = this.known
  }

  #placeOf(first: number, second: number, third: number): number {
    return (first | second | third) < smallClasses
      ? this.#placeOfSmall(first << 2 * smallBits | second << smallBits | third)
      : this.#placeOfOther(first << 2 * classBits | second << classBits | third)
  }

  #placeOfSmall(key: number): number {
    const known = this.#small[key]
    if (known > 0) return known - 1
    this.#addedSmall.push(key)
    this.#small[key] = this.#places + 1
    return this.#places++
  }

  #placeOfOther(key: number): number {
    const known = this.#others.get(key)
    if (known !== undefined) return known
    this.#addedOthers.push(key)
    this.#others.set(key, this.#places)
    return this.#places++
  }
}
