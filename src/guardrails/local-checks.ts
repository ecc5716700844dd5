/** Running the local guardrails, which need nothing but their configuration and a text. */
import { RecentMap } from '../lib/recent-map.ts'
import { invisibleText } from './local/invisible-text.ts'
import { language } from './local/language.ts'
import { length } from './local/length.ts'
import { patterns } from './local/patterns.ts'
import { phrases } from './local/phrases.ts'
import { pii } from './local/pii.ts'
import { oncePerText } from './local/view.ts'
import {
  type GuardedText,
  type GuardrailCheck,
  maxSpans,
  type Provider,
  type ProviderTools,
  RefusedConfig,
  type Verdict,
} from './provider.ts'

export const localProviders: readonly Provider[] = [phrases, patterns, pii, invisibleText, length, language]

/** What prepared checks may take of the memory together, and what is counted for each besides its own `bytes`. */
const maxBytes = 64 * 1024 * 1024
const bytesOfEach = 16 * 1024

/** `config` is JSON text, as it is stored. */
export interface LocalConfig {
  provider: string
  config: string
}

/** Prepares each configuration once, and keeps those that were used last: some compile expressions. */
export class LocalChecks {
  readonly #providers: readonly Provider[]
  readonly #prepared = new RecentMap<string, GuardrailCheck>(maxBytes)
  /** Of the last text: sender and recipient often have the same guardrail. */
  readonly #verdicts = oncePerText(() => new Map<GuardrailCheck, Promise<Verdict>>())

  constructor(providers = localProviders) {
    this.#providers = providers
  }

  /** Resolves to why a configuration cannot work; undefined if it can. */
  async prepare(given: LocalConfig): Promise<{ field: string; message: string } | undefined> {
    try {
      await Promise.resolve(this.#of(given))
    } catch (error) {
      if (error instanceof RefusedConfig) return { field: error.field, message: error.message }
      throw error
    }
  }

  /** Fails if the configuration cannot work, as one of an older version might not. */
  async check({ guarded, ...given }: LocalConfig & { guarded: GuardedText }): Promise<Verdict> {
    const check = this.#of(given)
    const verdicts = this.#verdicts(guarded.text)
    const verdict = verdicts.get(check) ?? run(check, guarded)
    verdicts.set(check, verdict)
    return await verdict
  }

  #of({ provider: id, config }: LocalConfig): GuardrailCheck {
    const key = `${id} ${config}`
    let check = this.#prepared.get(key)
    if (!check) {
      const provider = this.#providers.find((provider) => provider.id === id)
      if (!provider) throw new Error(`There is no local provider ${id}`)
      check = provider.prepare(provider.config.parse(JSON.parse(config)))
      this.#prepared.set(key, check, bytesOfEach + 2 * config.length + (check.bytes ?? 0))
    }
    return check
  }
}

async function run(check: GuardrailCheck, guarded: GuardedText): Promise<Verdict> {
  const { spans = [], ...verdict } = await check(guarded, {} as ProviderTools)
  return { ...verdict, spans: spans.length > maxSpans ? [{ start: 0, end: guarded.text.length }] : spans }
}
