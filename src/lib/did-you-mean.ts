import { closestMatch } from 'leven'

/** Returns ` Did you mean "list-accounts"?` for an unknown word, or an empty text if no word in `words` is similar. */
export function didYouMean(word: string, words: readonly string[]): string {
  // Up to a third of the letters may differ.
  const closest = closestMatch(word, words, { maxDistance: Math.ceil(word.length / 3) })
  return closest === undefined ? '' : ` Did you mean "${closest}"?`
}
