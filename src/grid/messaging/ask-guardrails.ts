/** Asking guardrails about one text: all at the same time, until one deadline. Their answers are hostile input. */
import type { Deadline } from '../../guardrails/deadline.ts'
import type { GuardedText, ProviderTools, Span, Verdict } from '../../guardrails/provider.ts'
import { ProviderFailure } from '../../guardrails/provider-failure.ts'
import { runCheck } from '../../guardrails/run-check.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import type { Guarding } from '../../store/account.ts'
import type { Deps } from '../../deps.ts'
import type { ActiveGuardrail } from '../../store/account/guarding.ts'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import type { GuardedContent } from './guarded-text.ts'
import type { LocalAnswers } from './local-answers.ts'

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

/** What a guardrail makes of a text. */
export type Answer = Omit<Finding, 'guardrail' | 'action'>

/** The verdict of a local guardrail; undefined if it failed. It is a promise while the guardrail loads what it needs. */
export type LocalAnswer = Answer | undefined | Promise<Answer | undefined>

/** What asking takes. `deadline` and `answers` are those of the send. */
export interface Asking {
  deps: Pick<Deps, 'log' | 'now' | 'safeFetch' | 'guardrailChecks'>
  guarding: Guarding
  deadline: Deadline
  answers: LocalAnswers<LocalAnswer>
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
  const isReadable = content.fits && content.unreadable.length === 0
  const answers = content.fits
    ? await answersOf(guardrails, { ...guarded, text: content.text }, asking)
    : guardrails.map(() => nothing)
  const findings: Finding[] = []
  for (const [i, guardrail] of guardrails.entries()) {
    const found = findingOf(guardrail, answers[i], isReadable)
    if (found) findings.push(found)
  }
  return findings
}

/** What each guardrail answers; undefined for one that fails. */
function answersOf(
  guardrails: readonly ActiveGuardrail[],
  guarded: GuardedText,
  asking: Asking,
): (Answer | undefined)[] | Promise<(Answer | undefined)[]> {
  const services = new Map<string, Promise<Answer | undefined>>()
  const answers = guardrails.map((guardrail) => {
    if (asking.deps.guardrailChecks.isLocal(guardrail)) return localAnswer(guardrail, guarded, asking)
    const answer = services.get(guardrail.id) ?? remoteAnswer(guardrail, guarded, asking)
    services.set(guardrail.id, answer)
    return answer
  })
  // Local guardrails leave nothing to wait for, once they are loaded.
  const isWaiting = answers.some((answer) => answer instanceof Promise)
  return isWaiting ? Promise.all(answers) : answers as (Answer | undefined)[]
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
function localAnswer(guardrail: ActiveGuardrail, guarded: GuardedText, asking: Asking): LocalAnswer {
  return asking.answers.of(guarded.text, guardrail, () => {
    const failed = (error: unknown) => void logFailure(guardrail, error, asking)
    try {
      const verdict = asking.deps.guardrailChecks.of(guardrail)(guarded, localTools(asking))
      return verdict instanceof Promise ? verdict.then(checked).catch(failed) : checked(verdict)
    } catch (error) {
      return failed(error)
    }
  })
}

/** The same of a guardrail that may have to wait. */
async function remoteAnswer(
  guardrail: ActiveGuardrail,
  guarded: GuardedText,
  asking: Asking,
): Promise<Answer | undefined> {
  const { deps, guarding, deadline } = asking
  try {
    const check = deps.guardrailChecks.of(guardrail)
    const token = guardrail.token && await guarding.openToken(guardrail.id, guardrail.token)
    const tools = { ...localTools(asking), signal: deadline.signal, ...(token !== undefined && { token }) }
    return checked(await runCheck(check, guarded, tools))
  } catch (error) {
    logFailure(guardrail, error, asking)
    return undefined
  }
}

/** Local checks answer at once, so they have no deadline. */
const noDeadline = new AbortController().signal

function localTools({ deps }: Asking): ProviderTools {
  return { fetch: deps.safeFetch, now: deps.now, signal: noDeadline }
}

function logFailure({ id, provider }: ActiveGuardrail, error: unknown, { deps, deadline }: Asking): void {
  const fault = error instanceof ProviderFailure ? error.reason : error instanceof Error ? error.name : typeof error
  deps.log.warn('A guardrail could not check a message', {
    guardrail: id,
    provider,
    fault: deadline.hasPassed ? 'timeout' : fault,
  })
}

/** Senders and agents read the kinds, so each is a short line of plain text. Throws for an answer of another shape. */
function checked({ kinds, spans = [], replacement }: Verdict): Answer {
  if (!Array.isArray(kinds) || !Array.isArray(spans)) throw new TypeError('The answer has another shape')
  // Nearly always.
  if (kinds.length === 0) return nothing
  const lines = kinds.map((kind) =>
    withoutInvisible(String(kind).toWellFormed()).replace(/\s+/g, ' ').trim().slice(0, maxKindLength).toWellFormed()
  )
  const named = [...new Set(lines.filter((line) => line !== ''))].slice(0, maxKinds)
  return {
    // An objection without a usable name is still one.
    kinds: named.length === 0 ? ['other'] : named,
    spans: spans.filter(({ start, end }) => Number.isFinite(start) && Number.isFinite(end)),
    ...(typeof replacement === 'string' && { replacement }),
  }
}
