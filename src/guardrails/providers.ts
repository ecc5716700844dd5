/** The guardrail providers and their configuration. See docs/protocol.md, "Guardrail providers". */
import * as z from 'zod'
import { atMost } from '../lib/input.ts'

/** A kind of guardrail that accounts can configure. */
export interface Provider {
  id: string
  name: string
  description: string
  /** `local` runs in the grid, `remote` calls a service. */
  kind: 'local' | 'remote'
  config: z.ZodType
  /** Whether it needs the token of a service. */
  needsToken: boolean
}

/** A URL is shown to every admin, so it may contain no credentials. Those belong into the token. */
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_000)
  .refine((text) => !/^[a-z]+:\/\/[^/]*@/i.test(text), 'must have no user or password; use the token')
const text = (max: number) => atMost(z.string().min(1), max)
const threshold = z.number().min(0).max(1)
const words = z.array(text(200)).max(500)

function provider(
  id: string,
  name: string,
  kind: Provider['kind'],
  description: string,
  shape: z.ZodRawShape,
  needsToken = false,
): Provider {
  return { id, name, description, kind, config: z.strictObject(shape), needsToken }
}

export const providers: readonly Provider[] = [
  provider(
    'phrases',
    'Words and phrases',
    'local',
    'Finds listed words and phrases, and common injection phrases.',
    {
      phrases: words.default([]).describe('Words and phrases to find, ignoring case'),
      preset: z.enum(['none', 'injection']).default('none').describe(
        'injection: also common phrases of prompt injection',
      ),
    },
  ),
  provider('patterns', 'Regular expressions', 'local', 'Finds what matches a regular expression, in linear time.', {
    patterns: z.array(text(500)).min(1).max(50).describe(
      'RE2 expressions: no look-around, no back-references',
    ),
  }),
  provider(
    'pii',
    'Personal data',
    'local',
    'Finds email addresses, phone numbers, credit cards, IBANs, national ids and API keys.',
    {
      kinds: z.array(z.enum(['email', 'phone', 'card', 'iban', 'national_id', 'api_key'])).min(1)
        .default(['email', 'phone', 'card', 'iban', 'national_id', 'api_key']).describe('What to look for'),
    },
  ),
  provider(
    'invisible-text',
    'Invisible text',
    'local',
    'Finds Unicode tags, bidirectional controls and zero-width characters. The grid removes them before any check, so it finds those alone that a script or an emoji needs.',
    {},
  ),
  provider('length', 'Length', 'local', 'Finds messages that are longer than allowed.', {
    maxCharacters: z.int().min(1).max(10_000).describe('Longest allowed message, in characters'),
  }),
  provider('openai-moderation', 'OpenAI moderation', 'remote', 'Asks the OpenAI moderation endpoint.', {
    model: text(100).default('omni-moderation-latest'),
    threshold: threshold.optional().describe('Score from which a category matches. By default the service decides'),
  }, true),
  provider('lakera-guard', 'Lakera Guard', 'remote', 'Asks Lakera Guard for prompt attacks.', {
    baseUrl: httpUrl.default('https://api.lakera.ai'),
    projectId: text(100).optional(),
  }, true),
  provider(
    'azure-prompt-shields',
    'Azure Prompt Shields',
    'remote',
    'Asks Azure AI Content Safety for prompt attacks.',
    {
      endpoint: httpUrl.describe('https://<resource>.cognitiveservices.azure.com'),
    },
    true,
  ),
  provider('presidio', 'Presidio', 'remote', 'Asks a self-hosted Presidio analyzer for personal data.', {
    analyzerUrl: httpUrl,
    language: z.string().min(2).max(10).default('en'),
    threshold: threshold.default(0.5),
  }),
  provider('llm-judge', 'LLM judge', 'remote', 'Asks a model behind an OpenAI-compatible chat endpoint.', {
    baseUrl: httpUrl,
    model: text(200),
    policy: text(4_000).describe('What is not allowed, in plain language'),
  }, true),
  provider(
    'webhook',
    'Webhook',
    'remote',
    'Asks your own service. Requests are signed according to Standard Webhooks.',
    {
      url: httpUrl,
    },
    true,
  ),
]

/** A provider in listings, with the JSON schema of its configuration. */
export interface ListedProvider extends Omit<Provider, 'config'> {
  configSchema: Record<string, unknown>
}

/** All providers, as `admin_list_guardrail_providers` lists them. */
export const listedProviders: readonly ListedProvider[] = providers.map(({ config, ...rest }) => {
  const { $schema: _, ...configSchema } = z.toJSONSchema(config, { io: 'input' })
  return { ...rest, configSchema }
})
