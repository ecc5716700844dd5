/** The guardrail providers. See docs/protocol/guardrails.md, "Providers". */
import * as z from 'zod'
import { JobTooLong } from '../lib/run-on-thread.ts'
import { SharedThread, type SharedThreadOptions } from '../lib/shared-thread.ts'
import { second } from '../lib/time.ts'
import { LocalChecks, type LocalConfig, localProviders } from './local-checks.ts'
import {
  type GuardedText,
  type Provider,
  ProviderFailure,
  type ProviderTools,
  RefusedConfig,
  runCheck,
  serviceOf,
  type Verdict,
} from './provider.ts'
import { azurePromptShields } from './remote/azure-prompt-shields.ts'
import { lakeraGuard } from './remote/lakera-guard.ts'
import { llmJudge } from './remote/llm-judge.ts'
import { openaiModeration } from './remote/openai-moderation.ts'
import { presidio } from './remote/presidio.ts'
import { webhook } from './remote/webhook.ts'

export const providers: readonly Provider[] = [
  ...localProviders,
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

/** Time limits of a local check and of its preparation. Preparation gets less time, so that the check has enough. */
const checkMs = 1_500
const prepareMs = 900
const thread = { program: 'guardrails', maxMegabytes: 192, maxWaitMs: 4 * second } as const

/** Runs guardrail checks. Local ones run on a thread, because users' expressions can take seconds. */
export class GuardrailChecks {
  /** Total time limit for a message's remote guardrails. */
  readonly timeoutMs: number
  readonly #providers: ReadonlyMap<string, Provider>
  readonly #local: LocalChecks
  readonly #thread: SharedThread

  constructor(known: readonly Provider[] = providers, timeoutMs = 3 * second, build?: SharedThreadOptions['build']) {
    this.#thread = new SharedThread({ ...thread, build })
    this.#providers = new Map(known.map((provider) => [provider.id, provider]))
    this.#local = new LocalChecks(known)
    this.timeoutMs = timeoutMs
  }

  /**
   * Returns the verdict on a text by a guardrail of the account `owner`. Calls `toolsOf` only for a remote guardrail.
   * Fails with a `ProviderFailure`, with `NoTurn` if others kept the thread busy, or if the configuration cannot work
   * because an older version stored it.
   */
  async check(
    owner: string,
    { provider: id, config }: LocalConfig,
    guarded: GuardedText,
    toolsOf: () => Promise<ProviderTools>,
  ): Promise<Verdict> {
    const provider = this.#providerOf(id)
    if (provider.kind === 'local') {
      const check = this.#local.check.bind(this.#local)
      const limits = { size: guarded.text.length, maxMs: checkMs }
      return await this.#thread.run(owner, 'check', check, { provider: id, config, guarded }, limits).catch(orTooSlow)
    }
    return await runCheck(provider.prepare(provider.config.parse(JSON.parse(config))), guarded, await toolsOf())
  }

  /** Prepares a configuration of the right shape. Fails with a `RefusedConfig` if it cannot work, or with `NoTurn`. */
  async requirePreparable(owner: string, provider: Provider, config: unknown): Promise<void> {
    if (provider.kind === 'remote') return void provider.prepare(config)
    const prepare = this.#local.prepare.bind(this.#local)
    const given = { provider: provider.id, config: JSON.stringify(config) }
    const limits = { size: given.config.length, maxMs: prepareMs }
    const refused = await this.#thread.run(owner, 'prepare', prepare, given, limits).catch((error) => {
      if (!(error instanceof JobTooLong)) throw error
      return { field: '', message: 'These expressions take too long to compile. Use fewer or smaller ones.' }
    })
    if (refused) throw new RefusedConfig(refused.field, refused.message)
  }

  has(id: string): boolean {
    return this.#providers.has(id)
  }

  /**
   * Returns the service to which a guardrail sends texts. Undefined if there is none. Throws if its address is not
   * configured.
   */
  serviceOf({ provider, config }: LocalConfig): URL | undefined {
    return serviceOf(this.#providerOf(provider), JSON.parse(config))
  }

  #providerOf(id: string): Provider {
    const provider = this.#providers.get(id)
    if (!provider) throw new Error(`There is no provider ${id}`)
    return provider
  }
}

function orTooSlow(error: unknown): never {
  if (!(error instanceof JobTooLong)) throw error
  throw new ProviderFailure('too_slow', 'The check took too long.')
}
