/** OpenAI moderation. */
import { text, threshold } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const openaiModeration = provider({
  id: 'openai-moderation',
  name: 'OpenAI moderation',
  kind: 'remote',
  description: 'Asks the OpenAI moderation endpoint.',
  config: {
    model: text(100).default('omni-moderation-latest'),
    threshold: threshold.optional().describe('Score from which a category matches. By default the service decides'),
  },
  needsToken: true,
  prepare: () => () => ({ kinds: [] }),
})
