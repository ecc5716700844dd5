/** Generates texts like agents' messages, with the word frequencies of a natural language. */

/** The size of one text in bytes. A text has about 90 words. */
export const textBytes = 512
const vocabularySize = 8_000
/** The number of different texts in one run. Later texts repeat them. */
const texts = 4_096

/** Pseudorandom numbers from 0 to 1, the same in every run. */
function* random(): Generator<number> {
  for (let state = 42;;) {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    yield state / 2 ** 32
  }
}

const numbers = random()
const next = () => numbers.next().value as number

/** Words in descending order of frequency. As in natural languages, frequent words are short. */
function vocabulary(): string[] {
  const words = new Set<string>()
  const endings = ['', '', '', 'n', 'r', 's', 't']
  const syllables = Array.from('bdfgklmnprstvz').flatMap((one) => Array.from('aeiou', (two) => one + two))
  while (words.size < vocabularySize) {
    const length = Math.min(4, 1 + Math.floor(next() * (1 + Math.log10(1 + words.size))))
    const start = Array.from({ length }, () => syllables[Math.floor(next() * syllables.length)]).join('')
    words.add(start + endings[Math.floor(next() * endings.length)])
  }
  return [...words]
}

function makeTexts(): string[] {
  const words = vocabulary()
  // Picks a word. The word with rank n has frequency 1 / n.
  const word = () => words[Math.floor(Math.exp(next() * Math.log(vocabularySize))) - 1]
  return Array.from({ length: texts }, () => {
    let text = word()
    while (text.length < textBytes) text += ` ${word()}`
    return text.slice(0, textBytes)
  })
}

const made = makeTexts()
let used = 0

/** A different text in each call. */
export function nextText(): string {
  return made[used++ % made.length]
}
