import { closestMatch } from 'leven'

/** ` Did you mean "list-accounts"?` for a word that is not one of `words`; an empty text if none of them is like it. */
export function didYouMean(word: string, words: readonly string[]): string {
  // Up to a third of the letters may differ.
  const closest = closestMatch(word, words, { maxDistance: Math.ceil(word.length / 3) })
  return closest === undefined ? '' : ` Did you mean "${closest}"?`
}
