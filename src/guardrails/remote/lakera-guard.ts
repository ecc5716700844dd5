/** Checks texts with Lakera Guard. */
import * as z from 'zod'
import { joined } from '../local/view.ts'
import { httpUrl, provider, type Span, text } from '../provider.ts'
import { ask, bearer, below, kindsOf, spansOfCodePoints } from './ask.ts'

const match = z.object({
  start: z.number().int(),
  end: z.number().int(),
  text: z.string().nullish(),
  detector_type: z.string().nullish(),
  message_id: z.number().int().nullish(),
})
const screened = z.object({
  flagged: z.boolean(),
  breakdown: z.array(z.object({ detector_type: z.string(), detected: z.boolean() })).nullish(),
  payload: z.array(match).nullish(),
})
type Match = z.output<typeof match>

/** `POST /v2/guard`. @see https://docs.lakera.ai/api-reference/api/endpoints/guard/screen-content */
export const lakeraGuard = provider({
  id: 'lakera-guard',
  name: 'Lakera Guard',
  kind: 'remote',
  address: 'baseUrl',
  description: 'Asks Lakera Guard for prompt attacks.',
  config: {
    baseUrl: httpUrl.default('https://api.lakera.ai'),
    projectId: text(100).optional(),
  },
  needsToken: true,
  prepare(config) {
    const url = below(config.baseUrl, '/v2/guard')

    return async (guarded, tools) => {
      const { answer, raw } = await ask(tools, {
        url,
        body: {
          messages: [{ role: 'user', content: guarded.text }],
          project_id: config.projectId,
          breakdown: true,
          payload: true,
        },
        headers: () => bearer(tools),
        answer: screened,
        maxBytes: 512 * 1024,
        maxTokens: 50_000,
      })
      if (!answer.flagged) return { kinds: [], raw }
      const detected = (answer.breakdown ?? []).filter(({ detected }) => detected)
        .map(({ detector_type }) => detector_type)
      const kinds = kindsOf(detected.length > 0 ? detected : ['flagged content'], 'flagged content')
      const matches = (answer.payload ?? []).filter(({ message_id }) => (message_id ?? 0) === 0)
      return { kinds, spans: spansOf(guarded.text, matches, detected), raw }
    }
  },
})

/** Returns spans only if every detection has a position. Otherwise masking would leave an attack in the text. */
function spansOf(text: string, matches: Match[], detected: string[]): Span[] | undefined {
  const located = new Set(matches.map(({ detector_type }) => detector_type))
  if (detected.length === 0 || !detected.every((type) => located.has(type))) return undefined
  const spans = matches.map((match) => spanOf(text, match))
  return spans.every((span) => span !== undefined) ? joined(spans) : undefined
}

/** The documentation does not say if offsets count code points or UTF-16 code units. The matched text shows which. */
function spanOf(text: string, { start, end, text: matched }: Match): Span | undefined {
  const asCodePoints = spansOfCodePoints(text, [{ start, end }])?.[0]
  const asUnits = start >= 0 && start < end && end <= text.length ? { start, end } : undefined
  if (matched == null) return asCodePoints
  return [asCodePoints, asUnits].find((span) => span && text.slice(span.start, span.end) === matched)
}
