/** A model that judges. */
import { httpUrl, text } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const llmJudge = provider({
  id: 'llm-judge',
  name: 'LLM judge',
  kind: 'remote',
  description: 'Asks a model behind an OpenAI-compatible chat endpoint.',
  config: {
    baseUrl: httpUrl,
    model: text(200),
    policy: text(4_000).describe('What is not allowed, in plain language'),
  },
  needsToken: true,
  prepare: () => () => ({ kinds: [] }),
})
