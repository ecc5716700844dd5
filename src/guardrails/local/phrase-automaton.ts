/**
 * Finds any number of phrases in one pass over the text.
 *
 * @see Aho, Corasick: "Efficient string matching: an aid to bibliographic search", 1975
 */
export class PhraseAutomaton {
  /** An open hash table of transitions: the next state, by a state and a code unit. 0 is a free place. */
  readonly #targets: Int32Array
  /** The first state of a phrase is 0. Each other state has one transition to it. */
  #stateCount = 1
  readonly #parents: Int32Array
  readonly #units: Uint16Array
  readonly #fallback: Int32Array
  /** The phrase that ends in a state, counted from 1; otherwise 0. */
  readonly #phrases: Uint16Array
  /** The next shorter suffix of a state in which a phrase ends, otherwise 0. */
  readonly #outputs: Int32Array
  readonly #lengths: Int32Array

  /** Matches name a phrase by its index. An empty phrase is never found, and of two equal ones the first. */
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
    // The shortest prefixes first, because a state falls back to a shorter one.
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

  /** Call `onMatch` for each phrase that is found, by its end, the longest first. True skips the shorter ones. */
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

  /** Where a transition is in the table, or the free place for it. */
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
