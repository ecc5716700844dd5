/** Guardrails that check messages in tests. One finds words, the other returns the verdict that the test specifies. */
import { createGuardrail, type NewGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { GuardrailChecks } from '../../src/guardrails/providers.ts'
import type { GuardedText, GuardrailCheck, Span } from '../../src/guardrails/provider.ts'
import { phrases } from '../../src/guardrails/local/phrases.ts'
import { llmJudge } from '../../src/guardrails/remote/llm-judge.ts'
import { webhook } from '../../src/guardrails/remote/webhook.ts'
import type { GuardrailDirection } from '../../src/store/account/guardrails.ts'
import type { TestAccount } from './grid.ts'

/** The word that the guardrails of `guard` find, and its kind. */
export const secret = 'swordfish'
export const kind = 'secret word'
/** The token of guardrails that call an external service. */
export const signingSecret = `whsec_${Buffer.alloc(32, 'guard').toString('base64')}`

/**
 * Creates the guardrail providers for a test. The provider `webhook` calls `remote.check`. `asked` collects the texts
 * that the provider `phrases` received.
 */
export function testProviders({ timeoutMs }: { timeoutMs?: number } = {}) {
  const asked: GuardedText[] = []
  let prepared = 0
  const remote: { check: GuardrailCheck } = { check: () => ({ kinds: [] }) }
  const words = {
    ...phrases,
    prepare(config: unknown): GuardrailCheck {
      prepared++
      const found = (config as { phrases: string[] }).phrases
      return (guarded) => {
        asked.push(guarded)
        const spans = found.flatMap((word) => spansOf(guarded.text, word))
        return { kinds: spans.length > 0 ? [kind] : [], spans }
      }
    },
  }
  const service = { ...webhook, prepare: (): GuardrailCheck => (guarded, tools) => remote.check(guarded, tools) }
  return {
    asked,
    remote,
    prepared: () => prepared,
    guardrailChecks: new GuardrailChecks([words, service, llmJudge], timeoutMs),
  }
}

function spansOf(text: string, word: string): Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    spans.push({ start: at, end: at + word.length })
  }
  return spans
}

/** Creates a guardrail and adds it to an agent's guardrails. Returns the guardrail's id. */
export async function guard(
  { store }: TestAccount,
  agent: string,
  { direction, ...input }: Partial<NewGuardrail> & { direction: GuardrailDirection },
): Promise<string> {
  const isRemote = input.provider === 'webhook'
  const guardrail = await createGuardrail(store, {
    name: `${agent} ${direction} ${input.provider ?? ''}`.trim(),
    provider: 'phrases',
    config: isRemote ? { url: 'https://guard.example' } : { phrases: [secret] },
    ...(isRemote && { token: signingSecret }),
    ...input,
  })
  const { id } = (await store.read.agents.byAlias(agent))!
  const attached = await store.read.guardrails.ofAgent(id)
  await setAgentGuardrails(store, {
    agent,
    guardrails: [
      ...attached.map(({ guardrailId, direction, action }) => ({
        ref: guardrailId,
        direction,
        action: action ?? undefined,
      })),
      { ref: guardrail.id, direction },
    ],
  })
  return guardrail.id
}
