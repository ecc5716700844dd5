/** Asking guardrails about one text: all at the same time, until one deadline. Their answers are hostile input. */
import type { GuardedText, Span, Verdict } from '../../guardrails/provider.ts'
import { ProviderFailure } from '../../guardrails/provider-failure.ts'
import { runCheck } from '../../guardrails/run-check.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import type { Guarding } from '../../store/account.ts'
import type { Deps } from '../../deps.ts'
import type { ActiveGuardrail } from '../../store/account/guarding.ts'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import type { GuardedContent } from './guarded-text.ts'

/** Most kinds of one answer, and their longest names. */
const maxKinds = 10
const maxKindLength = 60

/** What a guardrail of an agent makes of a message. */
export interface Finding {
  guardrail: ActiveGuardrail
  action: VerdictAction
  kinds: string[]
  spans: readonly Span[]
  replacement?: string
}

type Answer = Omit<Finding, 'guardrail' | 'action'>

/** What asking takes. `signal` is aborted at the deadline. */
export interface Asking {
  deps: Pick<Deps, 'log' | 'now' | 'safeFetch' | 'guardrailChecks'>
  guarding: Guarding
  signal: AbortSignal
}

/**
 * Ask the guardrails of one or more agents about a message. Resolves to what they object to, for each agent apart. A
 * guardrail that several agents have is asked once.
 */
export async function askGuardrails(
  guardrails: readonly ActiveGuardrail[],
  content: GuardedContent,
  guarded: Omit<GuardedText, 'text'>,
  asking: Asking,
): Promise<Finding[]> {
  const distinct = new Map(guardrails.map((guardrail) => [guardrail.id, guardrail]))
  const answers = new Map(
    await Promise.all(
      [...distinct.values()].map(async (guardrail) => {
        const answer = content.fits ? await answerOf(guardrail, { ...guarded, text: content.text }, asking) : nothing
        return [guardrail.id, answer] as const
      }),
    ),
  )
  const isReadable = content.fits && content.unreadable.length === 0
  return guardrails.flatMap((guardrail) => {
    const found = findingOf(guardrail, answers.get(guardrail.id), isReadable)
    return found ? [found] : []
  })
}

const nothing: Answer = { kinds: [], spans: [] }
const actions = { block: 'blocked', redact: 'redacted', flag: 'flagged' } as const

/** `answer` is undefined if the guardrail failed. `isReadable`: guardrails see all of the message. */
function findingOf(guardrail: ActiveGuardrail, answer: Answer | undefined, isReadable: boolean): Finding | undefined {
  const isClosed = guardrail.onFailure === 'closed'
  if (!answer) return { guardrail, action: isClosed ? 'failed' : 'flagged', kinds: ['check failed'], spans: [] }
  const objects = answer.kinds.length > 0
  if (isReadable) return objects ? { guardrail, action: actions[guardrail.action], ...answer } : undefined
  // What cannot be checked will be the same the next time, so this blocks and is not a failure.
  const kinds = [...answer.kinds, 'content that cannot be checked']
  if (isClosed) return { guardrail, action: 'blocked', kinds, spans: [] }
  return { guardrail, action: objects ? actions[guardrail.action] : 'flagged', ...answer, kinds }
}

/** Undefined if the guardrail fails, whatever the reason: its log has it, without anything of the text. */
async function answerOf(
  guardrail: ActiveGuardrail,
  guarded: GuardedText,
  { deps, guarding, signal }: Asking,
): Promise<Answer | undefined> {
  try {
    const check = deps.guardrailChecks.of(guardrail)
    const token = guardrail.token && await guarding.openToken(guardrail.id, guardrail.token)
    const tools = { fetch: deps.safeFetch, signal, now: deps.now, ...(token !== undefined && { token }) }
    return checked(await runCheck(check, guarded, tools))
  } catch (error) {
    const fault = error instanceof ProviderFailure ? error.reason : error instanceof Error ? error.name : typeof error
    deps.log.warn('A guardrail could not check a message', {
      guardrail: guardrail.id,
      provider: guardrail.provider,
      fault: signal.aborted ? 'timeout' : fault,
    })
    return undefined
  }
}

/** Senders and agents read the kinds, so each is a short line of plain text. Throws for an answer of another shape. */
function checked({ kinds, spans = [], replacement }: Verdict): Answer {
  if (!Array.isArray(kinds) || !Array.isArray(spans)) throw new TypeError('The answer has another shape')
  const lines = kinds.map((kind) =>
    withoutInvisible(String(kind).toWellFormed()).replace(/\s+/g, ' ').trim().slice(0, maxKindLength).toWellFormed()
  )
  const named = [...new Set(lines.filter((line) => line !== ''))].slice(0, maxKinds)
  return {
    // An objection without a usable name is still one.
    kinds: named.length === 0 && kinds.length > 0 ? ['other'] : named,
    spans: spans.filter(({ start, end }) => Number.isFinite(start) && Number.isFinite(end)),
    ...(typeof replacement === 'string' && { replacement }),
  }
}
