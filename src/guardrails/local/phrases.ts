/** Finds listed words and phrases, and common wordings of prompt injections. */
import * as z from 'zod'
import { once } from '../../lib/lazy.ts'
import { type GuardedText, provider, text } from '../provider.ts'
import { embedded, unescaped, withoutTags } from './encodings.ts'
import { fold, type Folded } from './fold.ts'
import { injectionRules, secretRules, templateMarks } from './injection-phrases.ts'
import { type Found, isWordEdge, searchOf, spanOf, type View, wordEnd } from './view.ts'

export const phrases = provider({
  id: 'phrases',
  name: 'Words and phrases',
  kind: 'local',
  description: 'Finds listed words and phrases, and common phrases of prompt injection and about secrets.',
  config: {
    phrases: z.array(text(200)).max(500).default([]).describe('Words and phrases to find, ignoring case'),
    preset: z.enum(['none', 'injection', 'secrets', 'all']).default('none').describe(
      'injection: also common phrases of prompt injection; secrets: phrases that announce a password or key; all: both',
    ),
  },
  prepare({ phrases, preset }) {
    const finders = [
      ...(phrases.length > 0 ? [listed('listed phrase', phrases)] : []),
      ...(preset === 'none' ? [] : presets[preset]()),
    ]
    // There are two automata, each with up to 32 bytes per letter.
    const bytes = 64 * phrases.reduce((sum, { length }) => sum + length, 0)
    const check = (guarded: GuardedText) => search(guarded, (reading) => finders.flatMap((find) => find(reading)))
    return Object.assign(check, { bytes })
  },
})

interface Reading extends Folded {
  readonly view: View
}

type Finder = (reading: Reading) => Found[]

const search = searchOf((text): Reading[] => viewsOf(text).map((view) => ({ view, ...fold(view.text) })))

/** Returns all readings of a text that may contain a phrase. */
function viewsOf(text: string): View[] {
  const view = unescaped({ text })
  const plain = withoutTags(view)
  return [view, ...(plain === view ? [] : [plain]), ...embedded(view)]
}

/** Minimum number of letters of a phrase that also matches if its words are split or joined. */
const longEnough = 12
/** Matches phrases that consist of words only. Other phrases must match with their words as written. */
const onlyWords = /^[\p{L}\p{N}\p{M}\s]+$/u

function listed(kind: string, phrases: readonly string[]): Finder {
  const words = new PhraseAutomaton(phrases.map((phrase) => fold(phrase).words.text.trim()))
  const long = phrases.filter((phrase) => onlyWords.test(phrase)).map((phrase) => fold(phrase).letters.text)
  const letters = new PhraseAutomaton(long.filter(({ length }) => length >= longEnough))
  return (reading) => {
    const found: Found[] = []
    for (const [automaton, folded] of [[words, reading.words], [letters, reading.letters]] as const) {
      automaton.search(folded.text, (first, last) => {
        const { start, end } = spanOf(folded, first, last)
        if (!isWordEdge(reading.view.text, start) || !isWordEdge(reading.view.text, end)) return false
        found.push({ kind, ...spanOf(reading.view, start, end) })
        return true
      })
    }
    return found
  }
}

function ruled(...sets: readonly { kind: string; rules: readonly string[] }[]): Finder {
  const kindOfRule = sets.flatMap(({ kind, rules }) => rules.map(() => kind))
  const compiled = new PhraseRules(sets.flatMap(({ rules }) => rules))
  return ({ view, letters }) =>
    compiled.search(view.text, letters).map(({ start, end, rule }) => ({
      kind: kindOfRule[rule],
      ...spanOf(view, start, end),
    }))
}

const injection = { kind: 'prompt injection', rules: injectionRules }
const secrets = { kind: 'secret', rules: secretRules }
const marks = once(() => listed(injection.kind, templateMarks))

/** Compiled on first use, because most accounts use no preset. */
const presets = {
  injection: once(() => [ruled(injection), marks()]),
  secrets: once(() => [ruled(secrets)]),
  all: once(() => [ruled(injection, secrets), marks()]),
}

/**
 * Finds any number of phrases in one pass. @see Aho, Corasick: "Efficient string matching: an aid to bibliographic
 * search", 1975
 */
class PhraseAutomaton {
  /**
   * An open-addressing hash table of transitions from a state and a code unit to the next state. 0 marks a free slot.
   */
  readonly #targets: Int32Array
  /** Number of states. Every phrase starts at state 0, and each other state has one incoming transition. */
  #stateCount = 1
  readonly #parents: Int32Array
  readonly #units: Uint16Array
  readonly #fallback: Int32Array
  /** The 1-based number of the phrase that ends in a state; otherwise 0. */
  readonly #phrases: Uint16Array
  /** A state's longest proper suffix in which a phrase ends; otherwise 0. */
  readonly #outputs: Int32Array
  readonly #lengths: Int32Array

  /** Matches refer to phrases by index. Empty phrases and later duplicates are never found. */
  constructor(phrases: readonly string[]) {
    const most = phrases.reduce((sum, { length }) => sum + length, 1)
    this.#targets = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 2)))
    this.#parents = new Int32Array(most)
    this.#units = new Uint16Array(most)
    this.#fallback = new Int32Array(most)
    this.#phrases = new Uint16Array(most)
    this.#outputs = new Int32Array(most)
    this.#lengths = Int32Array.from(phrases, ({ length }) => length)
    const states = new Int32Array(phrases.length)
    const longest = Math.max(0, ...this.#lengths)
    // Adds the shortest prefixes first, because a state falls back to a shorter one.
    for (let depth = 0; depth < longest; depth++) {
      for (const [i, phrase] of phrases.entries()) {
        if (depth < phrase.length) states[i] = this.#addState(states[i], phrase.charCodeAt(depth))
        if (depth === phrase.length - 1) this.#phrases[states[i]] ||= i + 1
      }
    }
    for (let state = 1; state < this.#stateCount; state++) {
      const suffix = this.#fallback[state]
      this.#outputs[state] = this.#phrases[suffix] > 0 ? suffix : this.#outputs[suffix]
    }
  }

  /**
   * Calls `onMatch` for each phrase found, in the order of their ends, longest first. If it returns true, shorter
   * phrases with the same end are skipped.
   */
  search(text: string, onMatch: (start: number, end: number, phrase: number) => boolean): void {
    if (this.#stateCount === 1) return
    for (let i = 0, state = 0; i < text.length; i++) {
      state = this.#next(state, text.charCodeAt(i))
      let found = this.#phrases[state] > 0 ? state : this.#outputs[state]
      while (found > 0) {
        const phrase = this.#phrases[found] - 1
        if (onMatch(i + 1 - this.#lengths[phrase], i + 1, phrase)) break
        found = this.#outputs[found]
      }
    }
  }

  #next(state: number, unit: number): number {
    for (let from = state;; from = this.#fallback[from]) {
      const to = this.#targets[this.#placeOf(from, unit)]
      if (to > 0 || from === 0) return to
    }
  }

  /** Returns the table slot of a transition, or the free slot for it. */
  #placeOf(state: number, unit: number): number {
    const last = this.#targets.length - 1
    let at = (Math.imul(Math.imul(state, 0x85ebca6b) ^ unit, 0x9e3779b1) >>> 9) & last
    for (let to; (to = this.#targets[at]) > 0; at = (at + 1) & last) {
      if (this.#parents[to] === state && this.#units[to] === unit) break
    }
    return at
  }

  #addState(parent: number, unit: number): number {
    const at = this.#placeOf(parent, unit)
    if (this.#targets[at] > 0) return this.#targets[at]
    const suffix = parent === 0 ? 0 : this.#next(this.#fallback[parent], unit)
    const state = this.#stateCount++
    this.#targets[at] = state
    this.#parents[state] = parent
    this.#units[state] = unit
    this.#fallback[state] = suffix
    return state
  }
}

/** Maximum number of letters between two terms of a rule. */
const mostBetween = 24
/** Maximum number of letters between terms that need no word boundary, because words may be run together. */
const together = 4

interface Term {
  readonly rule: number
  readonly group: number
  readonly isOpen: boolean
}

/** The terms of one rule that have been found so far. */
interface Chain {
  /** Start offset in the text. */
  readonly start: number
  /** End of the last term, as an offset in the letters. */
  readonly end: number
  readonly endsWord: boolean
}

class PhraseRules {
  /** The terms of each phrase, by the phrase's index in the automaton. */
  readonly #terms: Term[][] = []
  readonly #automaton: PhraseAutomaton
  readonly #groups: number[]

  constructor(rules: readonly string[]) {
    const indexes = new Map<string, number>()
    this.#groups = rules.map((rule, i) => {
      const groups = rule.split('>')
      for (const [group, terms] of groups.entries()) {
        for (const term of terms.split('|').map((term) => term.trim())) {
          const text = fold(term).letters.text
          const index = indexes.get(text) ?? indexes.size
          indexes.set(text, index)
          ;(this.#terms[index] ??= []).push({ rule: i, group, isOpen: term.endsWith('*') })
        }
      }
      return groups.length
    })
    this.#automaton = new PhraseAutomaton([...indexes.keys()])
  }

  /** Returns the matches of the rules in `text`, given its letters. */
  search(text: string, letters: View): { start: number; end: number; rule: number }[] {
    const found: { start: number; end: number; rule: number }[] = []
    const chains: Chain[][] = []
    this.#automaton.search(letters.text, (start, end, term) => {
      const span = spanOf(letters, start, end)
      const opens = isWordEdge(text, span.start)
      for (const { rule, group, isOpen } of this.#terms[term]) {
        const before = group > 0 ? chains[rule]?.[group - 1] : undefined
        if (!(group === 0 ? opens : before && follows(before, start, opens))) continue
        const chain = { start: before?.start ?? span.start, end, endsWord: isOpen || isWordEdge(text, span.end) }
        if (group < this.#groups[rule] - 1) (chains[rule] ??= [])[group] = chain
        else if (chain.endsWord) found.push({ start: chain.start, end: wordEnd(text, span.end), rule })
      }
      return false
    })
    return found
  }
}

function follows(chain: Chain, start: number, opens: boolean): boolean {
  const between = start - chain.end
  return between >= 0 && between <= mostBetween && (between <= together || (opens && chain.endsWord))
}
