/** A model that judges. */
import * as z from 'zod'
import { httpUrl, text } from '../config-fields.ts'
import { type GuardedText, provider, type ProviderTools } from '../provider.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { ask, bearer, below, unusableAnswer } from './ask.ts'
import { judgeMessages, readJudgement } from './judgement.ts'

/** Some models refuse to answer, which says nothing of the text: then there is no content. */
const completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
})

const responseFormat = {
  type: 'json_schema',
  json_schema: {
    name: 'judgement',
    strict: true,
    schema: {
      type: 'object',
      properties: { violation: { type: 'boolean' }, reason: { type: 'string' } },
      required: ['violation', 'reason'],
      additionalProperties: false,
    },
  },
}

/**
 * `POST /chat/completions` with a structured answer. A server that refuses this request gets a plain one: without
 * `response_format`, and with all instructions in one user message, because the templates of some models know no
 * other.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 * @see https://platform.openai.com/docs/guides/structured-outputs
 */
export const llmJudge = provider({
  id: 'llm-judge',
  name: 'LLM judge',
  kind: 'remote',
  description: 'Asks a model behind an OpenAI-compatible chat endpoint.',
  config: {
    baseUrl: httpUrl.describe('Up to /chat/completions, such as https://api.openai.com/v1'),
    model: text(200),
    policy: text(4_000).describe('What is not allowed, in plain language'),
  },
  needsToken: true,
  prepare(config) {
    const url = below(config.baseUrl, '/chat/completions')
    let takesFormat = true

    function judge({ text }: GuardedText, tools: ProviderTools, isStructured: boolean) {
      const { system, user } = judgeMessages(config.policy, text)
      const messages = isStructured
        ? [{ role: 'system', content: system }, { role: 'user', content: user }]
        : [{ role: 'user', content: `${system}\n\n${user}` }]
      return ask(tools, {
        url,
        body: { model: config.model, messages, ...(isStructured ? { response_format: responseFormat } : {}) },
        headers: () => bearer(tools),
        answer: completion,
      })
    }

    async function judgeEitherWay(guarded: GuardedText, tools: ProviderTools) {
      if (takesFormat) {
        try {
          return await judge(guarded, tools, true)
        } catch (error) {
          if (!(error instanceof ProviderFailure) || error.reason !== 'rejected') throw error
        }
      }
      const answered = await judge(guarded, tools, false)
      // Known now, so the next check asks once.
      takesFormat = false
      return answered
    }

    return async (guarded, tools) => {
      const { answer, raw } = await judgeEitherWay(guarded, tools)
      const found = readJudgement(answer.choices[0].message.content ?? '')
      if (!found) throw unusableAnswer(url.host, 'the model gave no judgement')
      return { kinds: found, raw }
    }
  },
})
