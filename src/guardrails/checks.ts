/** The checks of configured guardrails, ready to run. */
import { RecentMap } from '../lib/recent-map.ts'
import { second } from '../lib/time.ts'
import type { GuardrailCheck, Provider } from './provider.ts'
import { providers } from './providers.ts'

/** A guardrail as it is stored; `config` is JSON text. */
export interface ConfiguredGuardrail {
  id: string
  provider: string
  config: string
}

/** How many prepared checks are kept. */
const maxPrepared = 1_000

/** Prepares each configuration once: some compile patterns. */
export class PreparedChecks {
  /** How long all guardrails of one message may take together. */
  readonly timeoutMs: number
  readonly #providers: readonly Provider[]
  readonly #prepared = new RecentMap<string, { provider: string; config: string; check: GuardrailCheck }>(maxPrepared)

  constructor(known: readonly Provider[] = providers, timeoutMs = 3 * second) {
    this.#providers = known
    this.timeoutMs = timeoutMs
  }

  /** The check of a guardrail. Throws if its configuration cannot work, as one of an older version might not. */
  of({ id, provider: providerId, config }: ConfiguredGuardrail): GuardrailCheck {
    const known = this.#prepared.get(id)
    // A changed configuration is another text, so it is prepared again.
    if (known?.config === config && known.provider === providerId) return known.check
    const provider = this.#providers.find((provider) => provider.id === providerId)
    if (!provider) throw new Error(`There is no provider ${providerId}`)
    const check = provider.prepare(provider.config.parse(JSON.parse(config)))
    this.#prepared.set(id, { provider: providerId, config, check })
    return check
  }
}
