/** UTF-16 code units of a text: the first `length` of `units`. */
export interface Units {
  readonly units: Uint16Array
  readonly length: number
}

/** Most entries of the table of transitions that need no search. */
const mostDirect = 16_384

/**
 * Finds any number of phrases in one pass over the text.
 *
 * @see Aho, Corasick: "Efficient string matching: an aid to bibliographic search", 1975
 */
export class PhraseAutomaton {
  /** By code unit, from 1 on. Units that no phrase has are 0. */
  readonly #asciiClasses = new Int32Array(0x80)
  readonly #otherClasses = new Map<number, number>()
  #classCount = 1
  /**
   * By state and class, the next state: of the shortest prefixes, in which a text is nearly all of the time, by ASCII
   * units.
   */
  #direct = new Int32Array(0)
  readonly #directClasses: number
  /** An open hash table of transitions: `state * classes + class`, and the next state. 0 is a free place. */
  readonly #keys: Int32Array
  readonly #targets: Int32Array
  /** The first state of a phrase is 0. */
  #stateCount = 1
  readonly #fallback: Int32Array
  /** The phrase that ends in a state, counted from 1; otherwise 0. */
  readonly #phrases: Int32Array
  /** The next shorter suffix of a state in which a phrase ends, otherwise 0. */
  readonly #outputs: Int32Array
  readonly #lengths: Int32Array

  /** Matches name a phrase by its index. An empty phrase is never found, and of two equal ones the first. */
  constructor(phrases: readonly string[]) {
    const units = new Set(phrases.flatMap((phrase) => phrase.split('')).map((unit) => unit.charCodeAt(0)))
    for (const unit of units) if (unit < 0x80) this.#asciiClasses[unit] = this.#classCount++
    this.#directClasses = this.#classCount
    for (const unit of units) if (unit >= 0x80) this.#otherClasses.set(unit, this.#classCount++)
    const most = phrases.reduce((sum, { length }) => sum + length, 1)
    const size = 2 ** Math.ceil(Math.log2(2 * most + 2))
    this.#keys = new Int32Array(size)
    this.#targets = new Int32Array(size)
    this.#fallback = new Int32Array(most)
    this.#phrases = new Int32Array(most)
    this.#outputs = new Int32Array(most)
    this.#lengths = Int32Array.from(phrases, ({ length }) => length)
    this.#addAll(phrases)
    const states = Math.min(this.#stateCount, Math.floor(mostDirect / this.#directClasses))
    const direct = new Int32Array(states * this.#directClasses)
    for (let state = 0; state < states; state++) {
      for (let cls = 1; cls < this.#directClasses; cls++) {
        direct[state * this.#directClasses + cls] = this.#next(state, cls)
      }
    }
    this.#direct = direct
  }

  /** Call `onMatch` for each phrase that is found, by its end, the longest first. True skips the shorter ones. */
  search({ units, length }: Units, onMatch: (start: number, end: number, phrase: number) => boolean): void {
    if (this.#stateCount === 1) return
    const direct = this.#direct
    const directClasses = this.#directClasses
    const asciiClasses = this.#asciiClasses
    const phrases = this.#phrases
    const outputs = this.#outputs
    let state = 0
    for (let i = 0; i < length; i++) {
      const unit = units[i]
      const cls = unit < 0x80 ? asciiClasses[unit] : this.#otherClasses.get(unit) ?? 0
      if (cls === 0) {
        state = 0
        continue
      }
      const at = state * directClasses + cls
      state = cls < directClasses && at < direct.length ? direct[at] : this.#next(state, cls)
      if (state === 0) continue
      let found = phrases[state] > 0 ? state : outputs[state]
      while (found > 0) {
        const phrase = phrases[found] - 1
        if (onMatch(i + 1 - this.#lengths[phrase], i + 1, phrase)) break
        found = outputs[found]
      }
    }
  }

  #classOf(unit: number): number {
    return unit < 0x80 ? this.#asciiClasses[unit] : this.#otherClasses.get(unit) ?? 0
  }

  #next(state: number, cls: number): number {
    let from = state
    while (true) {
      const at = from * this.#directClasses + cls
      if (cls < this.#directClasses && at < this.#direct.length) return this.#direct[at]
      const to = this.#targets[this.#placeOf(from, cls)]
      if (to > 0 || from === 0) return to
      from = this.#fallback[from]
    }
  }

  /** Where a transition is in the table, or the free place for it. */
  #placeOf(state: number, cls: number): number {
    const key = state * this.#classCount + cls
    const last = this.#keys.length - 1
    let at = (Math.imul(key, 0x9e3779b1) >>> 9) & last
    while (this.#keys[at] !== 0 && this.#keys[at] !== key) at = (at + 1) & last
    return at
  }

  /** Make the states of all phrases, the shortest prefixes first, because a state falls back to a shorter one. */
  #addAll(phrases: readonly string[]): void {
    const states = new Int32Array(phrases.length)
    const longest = phrases.reduce((most, { length }) => Math.max(most, length), 0)
    for (let depth = 0; depth < longest; depth++) {
      for (const [i, phrase] of phrases.entries()) {
        if (depth < phrase.length) states[i] = this.#addState(states[i], this.#classOf(phrase.charCodeAt(depth)))
        if (depth === phrase.length - 1) this.#phrases[states[i]] ||= i + 1
      }
    }
    for (let state = 1; state < this.#stateCount; state++) {
      const suffix = this.#fallback[state]
      this.#outputs[state] = this.#phrases[suffix] > 0 ? suffix : this.#outputs[suffix]
    }
  }

  #addState(parent: number, cls: number): number {
    const at = this.#placeOf(parent, cls)
    if (this.#keys[at] !== 0) return this.#targets[at]
    const suffix = parent === 0 ? 0 : this.#next(this.#fallback[parent], cls)
    const state = this.#stateCount++
    this.#keys[at] = parent * this.#classCount + cls
    this.#targets[at] = state
    this.#fallback[state] = suffix
    return state
  }
}
