/** Azure Prompt Shields. */
import { httpUrl } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const azurePromptShields = provider({
  id: 'azure-prompt-shields',
  name: 'Azure Prompt Shields',
  kind: 'remote',
  description: 'Asks Azure AI Content Safety for prompt attacks.',
  config: {
    endpoint: httpUrl.describe('https://<resource>.cognitiveservices.azure.com'),
  },
  needsToken: true,
  prepare: () => () => ({ kinds: [] }),
})
