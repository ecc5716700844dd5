/** Checks texts with OpenAI moderation, or with a service that has a compatible interface. */
import * as z from 'zod'
import { httpUrl, provider, text, threshold } from '../provider.ts'
import { ask, bearer, below, kindsOf, piecesOf, unusableAnswer } from './ask.ts'

/** Maximum characters per input. A model reads 32,768 tokens, and a character of a rare script takes up to three. */
const maxInput = 10_000
const overlap = 500

/** Compatible services may omit `flagged`. Categories that a model does not support are null. */
const moderated = z.object({
  results: z.array(z.object({
    flagged: z.boolean().optional(),
    categories: z.record(z.string(), z.boolean().nullable()),
    category_scores: z.record(z.string(), z.number().nullable()).optional(),
  })).min(1),
})
type Result = z.output<typeof moderated>['results'][number]

/** `POST /v1/moderations`. @see https://platform.openai.com/docs/api-reference/moderations/create */
export const openaiModeration = provider({
  id: 'openai-moderation',
  name: 'OpenAI moderation',
  kind: 'remote',
  address: 'baseUrl',
  description: 'Asks the OpenAI moderation endpoint.',
  config: {
    baseUrl: httpUrl.default('https://api.openai.com'),
    model: text(100).default('omni-moderation-latest'),
    threshold: threshold.optional().describe('Score from which a category matches. By default the service decides'),
  },
  needsToken: true,
  prepare(config) {
    const url = below(config.baseUrl, '/v1/moderations')

    return async (guarded, tools) => {
      const pieces = piecesOf(guarded.text, maxInput, overlap)
      const { answer: { results }, raw } = await ask(tools, {
        url,
        body: { model: config.model, input: pieces.length === 1 ? pieces[0] : pieces },
        headers: () => bearer(tools),
        answer: moderated,
      })
      if (results.length !== pieces.length) throw unusableAnswer(url.host, 'it does not have one result for each input')
      const matching = results.flatMap((result) => matchingCategories(result, config.threshold, url.host))
      return { kinds: kindsOf(matching, 'flagged content'), raw }
    }
  },
})

function matchingCategories(result: Result, threshold: number | undefined, host: string): string[] {
  const { flagged, categories, category_scores: scores } = result
  if (threshold !== undefined) {
    if (!scores) throw unusableAnswer(host, 'it has no scores, which the threshold requires')
    return Object.keys(scores).filter((name) => (scores[name] ?? 0) >= threshold)
  }
  const named = Object.keys(categories).filter((name) => categories[name])
  if (flagged ?? named.length > 0) return named.length > 0 ? named : ['flagged content']
  return []
}
