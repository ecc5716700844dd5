/** Checks texts with Presidio. */
import * as z from 'zod'
import { httpUrl, provider, threshold } from '../provider.ts'
import { ask, below, kindsOf, spansOfCodePoints, unusableAnswer } from './ask.ts'

const analyzed = z.array(z.object({
  entity_type: z.string(),
  start: z.number().int(),
  end: z.number().int(),
  score: z.number(),
}))

/** `POST /analyze`. @see https://microsoft.github.io/presidio/api-docs/api-docs.html */
export const presidio = provider({
  id: 'presidio',
  name: 'Presidio',
  kind: 'remote',
  address: 'analyzerUrl',
  description: 'Asks a self-hosted Presidio analyzer for personal data.',
  config: {
    analyzerUrl: httpUrl,
    language: z.string().min(2).max(10).default('en'),
    threshold: threshold.default(0.5),
  },
  prepare(config) {
    const url = below(config.analyzerUrl, '/analyze')

    return async (guarded, tools) => {
      const { answer, raw } = await ask(tools, {
        url,
        body: { text: guarded.text, language: config.language, score_threshold: config.threshold },
        answer: analyzed,
        // Large, so that a text that lists thousands of addresses does not pass because its response is too large.
        maxBytes: 1024 * 1024,
        maxTokens: 100_000,
      })
      const found = answer.filter(({ score }) => score >= config.threshold)
      // Presidio counts code points, as Python strings do.
      const spans = spansOfCodePoints(guarded.text, found)
      if (!spans) throw unusableAnswer(url.host, 'it names places outside of the text')
      return { kinds: kindsOf(found.map(({ entity_type }) => entity_type), 'personal data'), spans, raw }
    }
  },
})
