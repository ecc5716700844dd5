/** Finds sequences of terms, as `injection-phrases.ts` has them, in one pass over a folded text. */
import { fold } from './fold.ts'
import { PhraseAutomaton } from './phrase-automaton.ts'
import { spanOf, type View } from './view.ts'
import { isWordEdge, wordEnd } from './word-edges.ts'

/** Most letters between two terms of a rule. */
const mostBetween = 24
/** Terms that are so close need no word boundary between them: words may be written together. */
const together = 4

interface Term {
  readonly rule: number
  /** The place of its group in the rule. */
  readonly group: number
  /** Whether the word may go on. */
  readonly isOpen: boolean
}

/** The terms of one rule that were found so far. */
interface Chain {
  /** Where it begins in the text. */
  readonly start: number
  /** Where its last term ends in the letters. */
  readonly end: number
  readonly endsWord: boolean
}

export class PhraseRules {
  /** By the index of its phrase in the automaton. */
  readonly #terms: Term[][] = []
  readonly #automaton: PhraseAutomaton
  /** How many groups each rule has. */
  readonly #groups: number[]

  /** The syntax of a rule is that of `injection-phrases.ts`. */
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

  /** Where the rules match in `text`, whose letters are given. */
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
