/** Runs local guardrails, which need only their configuration and a text. */
import { LruMap } from '../lib/lru-map.ts'
import { invisibleText } from './local/invisible-text.ts'
import { language } from './local/language.ts'
import { length } from './local/length.ts'
import { patterns } from './local/patterns.ts'
import { phrases } from './local/phrases.ts'
import { pii } from './local/pii.ts'
import { inSeveral, putTogether } from './local/pieces.ts'
import { joined, oncePerText } from './local/view.ts'
import {
  type GuardedText,
  type GuardrailCheck,
  maxSpans,
  type Provider,
  type ProviderTools,
  RefusedConfig,
  type Span,
  type Verdict,
} from './provider.ts'

export const localProviders: readonly Provider[] = [phrases, patterns, pii, invisibleText, length, language]

/** Providers that search the text itself, and therefore also check its joined pieces. */
const searching = [phrases, patterns, pii].map(({ id }) => id)

/** Memory limit of all prepared checks, and the overhead of each check in addition to its `bytes`. */
const maxBytes = 64 * 1024 * 1024
const bytesOfEach = 16 * 1024

/** A local guardrail's provider id, and its configuration as stored JSON text. */
export interface LocalConfig {
  provider: string
  config: string
}

type LocalVerdict = Verdict & { spans: readonly Span[] }

/** Prepares each configuration once, because some compile expressions, and caches the most recently used ones. */
export class LocalChecks {
  readonly #providers: readonly Provider[]
  readonly #prepared = new LruMap<string, GuardrailCheck>(maxBytes)
  /** Verdicts for the last text and its joined pieces, because sender and recipient often have the same guardrail. */
  readonly #verdicts = oncePerText(() => new Map<GuardrailCheck, Promise<LocalVerdict>>())

  constructor(providers = localProviders) {
    this.#providers = providers
  }

  /** Resolves to the reason why a configuration cannot work. Undefined if it can work. */
  async prepare(given: LocalConfig): Promise<{ field: string; message: string } | undefined> {
    try {
      await Promise.resolve(this.#of(given))
    } catch (error) {
      if (error instanceof RefusedConfig) return { field: error.field, message: error.message }
      throw error
    }
  }

  /** Checks a text. Fails if the configuration cannot work, for example because an older version stored it. */
  async check({ guarded, ...given }: LocalConfig & { guarded: GuardedText }): Promise<Verdict> {
    const check = this.#of(given)
    const whole = await this.#verdictOf(check, guarded)
    const { text, pieces } = guarded
    if (!pieces || !searching.includes(given.provider)) return whole
    const together = putTogether(text, pieces)
    const { kinds, spans } = await this.#verdictOf(check, { ...guarded, text: together.text })
    const split = inSeveral(together, spans)
    // An objection without spans already applies to the complete text.
    if (split.length === 0 || (whole.kinds.length > 0 && whole.spans.length === 0)) return whole
    return { kinds: [...new Set([...whole.kinds, ...kinds])], spans: few(joined([...whole.spans, ...split]), text) }
  }

  async #verdictOf(check: GuardrailCheck, guarded: GuardedText): Promise<LocalVerdict> {
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

async function run(check: GuardrailCheck, guarded: GuardedText): Promise<LocalVerdict> {
  const { spans = [], ...verdict } = await check(guarded, {} as ProviderTools)
  return { ...verdict, spans: few(spans, guarded.text) }
}

function few(spans: readonly Span[], { length }: string): readonly Span[] {
  return spans.length > maxSpans ? [{ start: 0, end: length }] : spans
}
