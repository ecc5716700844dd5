/** The guardrail providers. See docs/protocol/guardrails.md, "Providers". */
import * as z from 'zod'
import { RecentMap } from '../lib/recent-map.ts'
import { second } from '../lib/time.ts'
import { invisibleText } from './local/invisible-text.ts'
import { language } from './local/language.ts'
import { length } from './local/length.ts'
import { patterns } from './local/patterns.ts'
import { phrases } from './local/phrases.ts'
import { pii } from './local/pii.ts'
import type { GuardrailCheck, Provider } from './provider.ts'
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

export interface ListedProvider extends Omit<Provider, 'config' | 'address' | 'prepare' | 'checkToken'> {
  configSchema: Record<string, unknown>
}

export const listedProviders: readonly ListedProvider[] = providers.map(
  ({ config, address: _address, prepare: _, checkToken: _check, ...rest }) => {
    const { $schema: _schema, ...configSchema } = z.toJSONSchema(config, { io: 'input' })
    return { ...rest, configSchema }
  },
)

/** A guardrail as it is stored; `config` is JSON text. */
interface ConfiguredGuardrail {
  id: string
  provider: string
  config: string
}

/** What prepared checks may take of the memory together, and what is counted for each besides its own `bytes`. */
const maxBytes = 64 * 1024 * 1024
const bytesOfEach = 16 * 1024

/** Prepares each configuration once, and keeps those that were used last: some compile patterns. */
export class PreparedChecks {
  /** How long all guardrails of one message may take together. */
  readonly timeoutMs: number
  readonly #providers: ReadonlyMap<string, Provider>
  readonly #prepared = new RecentMap<string, { provider: string; config: string; check: GuardrailCheck }>(maxBytes)

  constructor(known: readonly Provider[] = providers, timeoutMs = 3 * second) {
    this.#providers = new Map(known.map((provider) => [provider.id, provider]))
    this.timeoutMs = timeoutMs
  }

  /** The check of a guardrail. Throws if its configuration cannot work, as one of an older version might not. */
  of({ id, provider: providerId, config }: ConfiguredGuardrail): GuardrailCheck {
    const known = this.#prepared.get(id)
    // A changed configuration is another text, so it is prepared again.
    if (known?.config === config && known.provider === providerId) return known.check
    const provider = this.#providerOf(providerId)
    const check = provider.prepare(provider.config.parse(JSON.parse(config)))
    this.#prepared.set(
      id,
      { provider: providerId, config, check },
      bytesOfEach + 2 * config.length + (check.bytes ?? 0),
    )
    return check
  }

  /** The check of a configuration that was read, for one use. Throws a `RefusedConfig` for one that cannot work. */
  prepare(provider: string, config: unknown): GuardrailCheck {
    return this.#providerOf(provider).prepare(config)
  }

  isLocal({ provider }: ConfiguredGuardrail): boolean {
    return this.#providers.get(provider)?.kind === 'local'
  }

  #providerOf(id: string): Provider {
    const provider = this.#providers.get(id)
    if (!provider) throw new Error(`There is no provider ${id}`)
    return provider
  }
}
