/** Checks texts with Azure Prompt Shields. */
import * as z from 'zod'
import { httpUrl, provider, type ProviderTools } from '../provider.ts'
import { ask, below, headerValue, piecesOf, unusableAnswer } from './ask.ts'

/**
 * Length limit for all texts of a request together. Longer texts are split into overlapping pieces. @see
 * https://learn.microsoft.com/azure/ai-services/content-safety/overview#input-requirements
 */
const maxCharacters = 10_000
const overlap = 1_000
const maxConcurrent = 4

const shielded = z.object({ documentsAnalysis: z.array(z.object({ attackDetected: z.boolean() })) })

/**
 * `POST /contentsafety/text:shieldPrompt`. A message is sent as a document instead of a user prompt, because its
 * recipient reads it.
 * @see
 * https://learn.microsoft.com/rest/api/contentsafety/text-operations/shield-prompt?view=rest-contentsafety-2024-09-01
 */
export const azurePromptShields = provider({
  id: 'azure-prompt-shields',
  name: 'Azure Prompt Shields',
  kind: 'remote',
  address: 'endpoint',
  description: 'Asks Azure AI Content Safety for prompt attacks.',
  config: {
    endpoint: httpUrl.describe('https://<resource>.cognitiveservices.azure.com'),
  },
  needsToken: true,
  prepare(config) {
    const url = below(config.endpoint, '/contentsafety/text:shieldPrompt')
    url.search = '?api-version=2024-09-01'

    async function shield(document: string, tools: ProviderTools) {
      const { answer, raw } = await ask(tools, {
        url,
        body: { userPrompt: '', documents: [document] },
        headers: () => ({ 'Ocp-Apim-Subscription-Key': headerValue(tools.token) }),
        answer: shielded,
      })
      const [analysis] = answer.documentsAnalysis
      if (!analysis) throw unusableAnswer(url.host, 'it has no result for the document')
      return { isAttack: analysis.attackDetected, raw }
    }

    return async (guarded, tools) => {
      const pieces = piecesOf(guarded.text, maxCharacters, overlap)
      const answers: Awaited<ReturnType<typeof shield>>[] = []
      for (let i = 0; i < pieces.length && !answers.some(({ isAttack }) => isAttack); i += maxConcurrent) {
        answers.push(...await Promise.all(pieces.slice(i, i + maxConcurrent).map((piece) => shield(piece, tools))))
      }
      const raws = answers.map(({ raw }) => raw)
      return {
        kinds: answers.some(({ isAttack }) => isAttack) ? ['prompt attack'] : [],
        raw: raws.length === 1 ? raws[0] : raws,
      }
    }
  },
})
