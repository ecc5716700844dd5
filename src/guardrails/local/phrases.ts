/** Finds listed words and phrases, and the usual wording of prompt injections. */
import * as z from 'zod'
import { once } from '../../lib/once.ts'
import { text } from '../config-fields.ts'
import { type GuardedText, provider, type Span, type Verdict } from '../provider.ts'
import { embedded, unescaped, withoutTags } from './encodings.ts'
import { fold, Folded, type FoldedText } from './fold.ts'
import { injectionRules, secretRules, templateMarks } from './injection-phrases.ts'
import { PhraseAutomaton } from './phrase-automaton.ts'
import { PhraseRules } from './phrase-rules.ts'
import { hasAny, kinds } from './traits.ts'
import { joined, spanOf, untilClean, type View } from './view.ts'
import { endsWord, startsWord } from './word-edges.ts'

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
    // Two automata, of at most 32 bytes for each letter.
    const bytes = 64 * phrases.reduce((sum, { length }) => sum + length, 0)
    return Object.assign(({ text }: GuardedText) => check(text, finders), { bytes })
  },
})

interface Found extends Span {
  readonly kind: string
}

/** Finds phrases in a view. */
interface Finder {
  /** What of a folded text it searches; `signs` is words, if the view has any of the `signs`. */
  readonly needs: 'letters' | 'words' | 'signs'
  search(view: View, folded: FoldedText, found: Found[]): void
}

/** Of these, each mark of a template has one. Beyond ASCII there are signs that are folded to them. */
const signs = kinds.tag | kinds.bracket | kinds.hash | kinds.other

/** For most texts: making new ones takes as long as folding. A check is never interrupted by another. */
const buffers = { words: new Folded(4_096), letters: new Folded(4_096) }

function check(text: string, finders: readonly Finder[]): Verdict {
  const found = untilClean(text, (text) => {
    const found: Found[] = []
    for (const view of viewsOf(text)) {
      const fitting = hasAny(view.text, signs) ? finders : finders.filter(({ needs }) => needs !== 'signs')
      const folded = fold(view.text, buffers, fitting.some(({ needs }) => needs !== 'letters'))
      for (const finder of fitting) finder.search(view, folded, found)
    }
    return found
  })
  return { kinds: [...new Set(found.map(({ kind }) => kind))], spans: joined(found) }
}

/** All readings of a text in which a phrase may stand. */
function viewsOf(text: string): View[] {
  const view = unescaped({ text })
  const plain = withoutTags(view)
  return [view, ...(plain === view ? [] : [plain]), ...embedded(view)]
}

/** Letters from which on a phrase is found also where its words are split or written together. */
const longEnough = 12
/** Such phrases have nothing but words. */
const onlyWords = /^[\p{L}\p{N}\p{M}\s]+$/u

function listed(kind: string, phrases: readonly string[], needs: Finder['needs'] = 'words'): Finder {
  const words = new PhraseAutomaton(phrases.map((phrase) => fold(phrase).words.text.trim()))
  const long = phrases.filter((phrase) => onlyWords.test(phrase)).map((phrase) => fold(phrase).letters.text)
  const letters = new PhraseAutomaton(long.filter(({ length }) => length >= longEnough))
  const search = (view: View, folded: FoldedText, found: Found[]) => {
    for (const [automaton, units] of [[words, folded.words], [letters, folded.letters]] as const) {
      automaton.search(units, (start, end) => {
        const from = units.starts[start]
        const to = units.ends[end - 1]
        if (!startsWord(view.text, from) || !endsWord(view.text, to)) return false
        found.push({ kind, ...spanOf(view, from, to) })
        return true
      })
    }
  }
  return { needs, search }
}

function ruled(sets: readonly { kind: string; rules: readonly string[] }[]): Finder {
  const kindOfRule = sets.flatMap(({ kind, rules }) => rules.map(() => kind))
  const compiled = new PhraseRules(sets.flatMap(({ rules }) => rules))
  const search = (view: View, { letters }: FoldedText, found: Found[]) =>
    compiled.search(view.text, letters, (start, end, rule) => {
      found.push({ kind: kindOfRule[rule], ...spanOf(view, start, end) })
    })
  return { needs: 'letters', search }
}

const injection = { kind: 'prompt injection', rules: injectionRules }
const secrets = { kind: 'secret', rules: secretRules }
const marks = once(() => listed(injection.kind, templateMarks, 'signs'))

/** Compiled when they are first needed: most accounts use no preset. */
const presets = {
  injection: once(() => [ruled([injection]), marks()]),
  secrets: once(() => [ruled([secrets])]),
  all: once(() => [ruled([injection, secrets]), marks()]),
}
