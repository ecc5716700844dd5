/** One guardrail of each local provider, as an account may have them, and what agents write to each other. */

export const localGuardrails: readonly { provider: string; config: Record<string, unknown> }[] = [
  { provider: 'phrases', config: { preset: 'all' } },
  {
    provider: 'patterns',
    config: {
      patterns: [
        '(?i)\\b(?:secret|internal|confidential)\\b',
        '[\\w.+-]+@[\\w-]+\\.[a-z]{2,}',
        '\\d{3}-\\d{2}-\\d{4}',
        'PROJ-\\d{4,6}',
        '(a+)+!',
      ],
    },
  },
  { provider: 'pii', config: {} },
  { provider: 'invisible-text', config: {} },
  { provider: 'length', config: { maxCharacters: 5_000 } },
  { provider: 'language', config: { languages: ['en', 'de'] } },
]

/** Sentences in which none of these guardrails finds anything. `#` is a number, `@` a name. */
const sentences = [
  'The deployment of build # works again since @ looked at the logs of the cluster in Berlin.',
  'Could you run the tests for the new version once more before we merge it on Friday?',
  'About # orders of last week still wait for the answer of the warehouse.',
  '@ asked whether the meeting can move to 10:30, because two of us are travelling.',
  'I have read the report, and I think that the third chart is wrong: the cache was cold.',
  'Please tell @ when the migration is done, so that the next step can begin.',
  'The customer wrote that the invoice has the wrong address; we sent a new one.',
  'It takes 1.5 seconds now, which is twice as fast as before.',
  'There are # open questions, and nobody has decided yet who owns the service.',
  'Thanks for your help with the review!',
  'As far as I can see, the error comes from the parser and not from the network.',
  'We should write this down for the colleagues who join the team next month.',
]
const names = ['Ann', 'Bob', 'Carla', 'Deniz', 'Emil', 'Farah', 'Goran', 'Hana']

/** A text of 512 bytes, another one for each number. */
export function messageOf(n: number): string {
  const random = randomOf(n)
  let text = ''
  while (text.length < 512) {
    const sentence = sentences[random(sentences.length)]
    text += sentence.replace('#', String(2 + random(900))).replace('@', names[random(names.length)]) + ' '
  }
  return text.slice(0, 511).replace(/\S+$/, '').trimEnd().padEnd(512, '.')
}

/** Numbers below a bound, the same ones for each seed. @see Numerical Recipes, "Quick and Dirty Generators" */
function randomOf(seed: number): (below: number) => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}
