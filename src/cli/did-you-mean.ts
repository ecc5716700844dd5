import { closestMatch } from 'leven'

const mostSuggestions = 3

/** ` Did you mean "list-accounts"?` for a word that is not one of `words`; an empty text if none of them is like it. */
export function didYouMean(word: string, words: readonly string[]): string {
  // A third of the letters may be wrong.
  const closest = closestMatch(word, words, { maxDistance: Math.ceil(word.length / 3) })
  const withSharedWords = words.filter((known) => sharedWords(known, word) > 0)
    .sort((a, b) => sharedWords(b, word) - sharedWords(a, word))
  const found = closest === undefined ? withSharedWords : [closest]
  const quoted = found.slice(0, mostSuggestions).map((known) => `"${known}"`)
  return quoted.length === 0 ? '' : ` Did you mean ${quoted.join(' or ')}?`
}

/** How many words they share: `account` one with `list-accounts`, `accounts-list` two. */
function sharedWords(known: string, word: string): number {
  const parts = (text: string) => text.split(/[-_ ]/).filter(Boolean).map((part) => part.replace(/s$/, ''))
  return parts(word).filter((part) => parts(known).includes(part)).length
}
