/** Trying a guardrail on a text, without sending anything. */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { failureForTenants, type GuardedText, ProviderFailure, type Verdict } from '../../guardrails/provider.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { NoTurn } from '../../lib/shared-thread.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import { withMasked, withReplacement } from '../message/guarded-text.ts'
import { checkConfig, checkToken, findProvider, noTurn } from './guardrails.ts'

/** The maximum text length in characters, the same as for a message with its parts. */
const maxTextLength = 250_000

export type TriedGuardrail =
  | { guardrail: string }
  | { provider: string; config?: unknown; token?: string }

export interface GuardrailTrial {
  provider: string
  milliseconds: number
  verdict?: Omit<Verdict, 'raw'>
  /** Why there is no verdict. Tenants see less detail about an unreachable address than the operator. */
  failure?: { reason: string; message: string }
  raw?: unknown
}

/** Runs a guardrail on a text, even if it is off. A failure of the provider is a result too. Nothing is stored. */
export async function tryGuardrail(
  account: AccountStore,
  tried: TriedGuardrail,
  text: string,
): Promise<GuardrailTrial> {
  requireAdmin(account.actor)
  const guarded: GuardedText = {
    text: triedText(text),
    direction: 'inbound',
    sender: '@sender',
    recipient: '@recipient',
  }
  const { provider, config, token } = 'guardrail' in tried
    ? await stored(account, tried.guardrail)
    : await notStored(account, tried)
  return await run(account, { provider: provider.id, config: JSON.stringify(config) }, guarded, token)
}

async function run(
  account: AccountStore,
  configured: { provider: string; config: string },
  guarded: GuardedText,
  token: string | undefined,
): Promise<GuardrailTrial> {
  const { actor, deps: { guardrailChecks, safeFetch: fetch, now } } = account
  const signal = AbortSignal.timeout(guardrailChecks.timeoutMs)
  const toolsOf = () => Promise.resolve({ fetch, token, signal, now })
  const startedAt = performance.now()
  const result = () => ({
    provider: configured.provider,
    milliseconds: Math.round(performance.now() - startedAt),
  })
  try {
    const { raw, ...verdict } = await guardrailChecks.check(account.owner, configured, guarded, toolsOf)
    return { ...result(), verdict, ...(raw === undefined ? {} : { raw }) }
  } catch (error) {
    if (error instanceof NoTurn) throw noTurn()
    if (!(error instanceof ProviderFailure)) throw error
    const { reason, message } = error
    return { ...result(), failure: actor.type === 'system' ? { reason, message } : failureForTenants(error) }
  }
}

async function stored(account: AccountStore, ref: string) {
  const guardrail = await account.read.guardrails.byRef(ref.trim())
  if (!guardrail) throw new GridError('guardrail_not_found', `Guardrail '${ref}' not found`, { field: 'guardrail' })
  const provider = findProvider(guardrail.provider)
  const sealed = await account.read.guardrails.sealedToken(guardrail.id)
  const token = sealed?.encryptedToken
    ? await account.open('guardrails', guardrail.id, sealed as SealedToken)
    : undefined
  checkToken(provider, token, true)
  // Validated again, because a newer version may have more settings, with defaults.
  return { provider, config: await checkConfig(account, provider, guardrail.config), token }
}

async function notStored(account: AccountStore, tried: { provider: string; config?: unknown; token?: string }) {
  const provider = findProvider(tried.provider)
  const token = tried.token || undefined
  checkToken(provider, token, true)
  return { provider, config: await checkConfig(account, provider, tried.config ?? {}), token }
}

/** Returns the text as it would be delivered if an objecting guardrail redacted it. */
export function redactedText(text: string, { spans = [], replacement }: Omit<Verdict, 'raw'>): string {
  const content = { body: text }
  const { body } = replacement === undefined
    ? withMasked(content, text, spans)
    : withReplacement(content, text, replacement)
  return body
}

/** Returns the text as it would be stored, which is what the guardrail sees. Fails with `invalid_input`. */
export function triedText(text: string): string {
  const checked = withoutInvisible(wellFormed(text) ?? '')
  if (checked === '' || !hasAtMost(checked, maxTextLength)) {
    throw invalidInput(`The text must have 1 to ${maxTextLength} characters, and no U+0000.`, 'text')
  }
  return checked
}
