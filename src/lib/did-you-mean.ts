import { closestMatch } from 'leven'

/** ` Did you mean "list-accounts"?` for a word that is not one of `words`; an empty text if none of them is like it. */
export function didYouMean(word: string, words: readonly string[]): string {
  // A third of the letters may be wrong.
  const closest = closestMatch(word, words, { maxDistance: Math.ceil(word.length / 3) })
  return closest === undefined ? '' : ` Did you mean "${closest}"?`
}
