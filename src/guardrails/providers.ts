/** The guardrail providers. See docs/protocol.md, "Guardrail providers". */
import * as z from 'zod'
import { invisibleText } from './local/invisible-text.ts'
import { language } from './local/language.ts'
import { length } from './local/length.ts'
import { patterns } from './local/patterns.ts'
import { phrases } from './local/phrases.ts'
import { pii } from './local/pii.ts'
import type { Provider } from './provider.ts'
import { azurePromptShields } from './remote/azure-prompt-shields.ts'
import { lakeraGuard } from './remote/lakera-guard.ts'
import { llmJudge } from './remote/llm-judge.ts'
import { openaiModeration } from './remote/openai-moderation.ts'
import { presidio } from './remote/presidio.ts'
import { webhook } from './remote/webhook.ts'

export const providers: readonly Provider[] = [
  phrases,
  patterns,
  pii,
  invisibleText,
  length,
  language,
  openaiModeration,
  lakeraGuard,
  azurePromptShields,
  presidio,
  llmJudge,
  webhook,
]

/** A provider in listings, with the JSON schema of its configuration. */
export interface ListedProvider extends Omit<Provider, 'config' | 'prepare' | 'checkToken'> {
  configSchema: Record<string, unknown>
}

/** All providers, as `admin_list_guardrail_providers` lists them. */
export const listedProviders: readonly ListedProvider[] = providers.map(
  ({ config, prepare: _, checkToken: _check, ...rest }) => {
    const { $schema: _schema, ...configSchema } = z.toJSONSchema(config, { io: 'input' })
    return { ...rest, configSchema }
  },
)
