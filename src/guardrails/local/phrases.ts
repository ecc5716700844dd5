/** Finds listed words and phrases, and the usual wording of prompt injections. */
import * as z from 'zod'
import { once } from '../../lib/lazy.ts'
import { type GuardedText, provider, text } from '../provider.ts'
import { embedded, unescaped, withoutTags } from './encodings.ts'
import { fold, type Folded } from './fold.ts'
import { injectionRules, secretRules, templateMarks } from './injection-phrases.ts'
import { PhraseAutomaton, PhraseRules } from './phrase-search.ts'
import { type Found, isWordEdge, searchOf, spanOf, type View } from './view.ts'

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
    const check = (guarded: GuardedText) => search(guarded, (reading) => finders.flatMap((find) => find(reading)))
    return Object.assign(check, { bytes })
  },
})

interface Reading extends Folded {
  readonly view: View
}

type Finder = (reading: Reading) => Found[]

const search = searchOf((text): Reading[] => viewsOf(text).map((view) => ({ view, ...fold(view.text) })))

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

/** Compiled when they are first needed: most accounts use no preset. */
const presets = {
  injection: once(() => [ruled(injection), marks()]),
  secrets: once(() => [ruled(secrets)]),
  all: once(() => [ruled(injection, secrets), marks()]),
}
