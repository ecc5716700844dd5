/** Asks all guardrails about one text at the same time, with one deadline. Their answers are untrusted input. */
import type { Deps } from '../../deps.ts'
import { GridError } from '../../errors.ts'
import {
  failureForTenants,
  type GuardedText,
  ProviderFailure,
  type Span,
  type Verdict,
} from '../../guardrails/provider.ts'
import { printableLine } from '../../lib/redact.ts'
import type { SafeFetch } from '../../lib/outbound/safe-fetch.ts'
import { NoTurn } from '../../lib/shared-thread.ts'
import type { Guarding } from '../../store/account.ts'
import type { ActiveGuardrail } from '../../store/account/guarding.ts'
import type { BlockedError, VerdictAction } from '../../store/account/verdicts.ts'
import type { GuardedContent } from './guarded-text.ts'

const maxKinds = 10
const maxKindLength = 60

type NamedGuardrail = Omit<ActiveGuardrail, 'config' | 'token'>

export interface Finding {
  guardrail: NamedGuardrail
  action: VerdictAction
  kinds: string[]
  spans: readonly Span[]
  replacement?: string
  /** Why the guardrail gave no answer, in a text for tenants. */
  failure?: string
}

type Answer = Omit<Finding, 'guardrail' | 'action' | 'failure'>

/** A guardrail's answer, or why it gave none. `no turn`: it was not asked, because others kept the checks busy. */
type PossibleAnswer = Promise<Answer | { failure: string } | 'no turn'>

/** The context of a check. `deadline` limits remote guardrails and starts with the first call. */
export interface Asking {
  deps: Pick<Deps, 'log' | 'now' | 'safeFetch' | 'guardrailChecks' | 'metrics'>
  guarding: Guarding
  deadline: () => AbortSignal
}

/** Asks each guardrail once. Resolves to their objections, separately per agent. */
export async function askGuardrails(
  guardrails: readonly ActiveGuardrail[],
  content: GuardedContent,
  guarded: Omit<GuardedText, 'text' | 'pieces'>,
  asking: Asking,
): Promise<Finding[]> {
  const isReadable = content.fits && content.unreadable.length === 0
  const answers = content.fits
    ? await asking.guarding.trace.time(
      'guardrailsMs',
      () => answersOf(guardrails, { ...guarded, text: content.text, pieces: content.pieces }, asking),
    )
    : guardrails.map(() => nothing)
  const findings: Finding[] = []
  for (const [i, { config: _, token: _token, ...guardrail }] of guardrails.entries()) {
    const found = findingOf(guardrail, answers[i], isReadable)
    if (found) findings.push(found)
  }
  return findings
}

async function answersOf(
  guardrails: readonly ActiveGuardrail[],
  guarded: GuardedText,
  asking: Asking,
): Promise<Awaited<PossibleAnswer>[]> {
  const asked = new Map<string, PossibleAnswer>()
  const answers = await Promise.all(guardrails.map((guardrail) => {
    const answer = asked.get(guardrail.id) ?? answerOf(guardrail, guarded, asking)
    asked.set(guardrail.id, answer)
    return answer
  }))
  for (const [i, { id, failingSince }] of guardrails.entries()) {
    const answer = answers[i]
    if (failingSince !== null && answer !== 'no turn' && !('failure' in answer)) asking.guarding.recovered(id)
  }
  return answers
}

const nothing: Answer = { kinds: [], spans: [] }
const actions = { block: 'blocked', hold: 'held', redact: 'redacted', flag: 'flagged' } as const

/** Returns a guardrail's finding, if any. `isReadable` means that guardrails see all of the message. */
function findingOf(
  guardrail: NamedGuardrail,
  answer: Awaited<PossibleAnswer>,
  isReadable: boolean,
): Finding | undefined {
  const isClosed = guardrail.onFailure === 'closed'
  if (answer === 'no turn') return { guardrail, action: 'failed', kinds: ['check failed'], spans: [] }
  if ('failure' in answer) {
    return { guardrail, action: isClosed ? 'failed' : 'unchecked', kinds: ['check failed'], spans: [], ...answer }
  }
  const objects = answer.kinds.length > 0
  if (isReadable) return objects ? { guardrail, action: actions[guardrail.action], ...answer } : undefined
  // A retry cannot make the content checkable, so a guardrail that fails closed blocks it.
  const kinds = [...answer.kinds, 'content that cannot be checked']
  if (isClosed) return { guardrail, action: 'blocked', kinds, spans: [] }
  return { guardrail, action: objects ? actions[guardrail.action] : 'flagged', ...answer, kinds }
}

/** Resolves to a guardrail's answer, or to why it gave none. The log gets that reason, but none of the text. */
async function answerOf(guardrail: ActiveGuardrail, guarded: GuardedText, asking: Asking): PossibleAnswer {
  const { deps: { guardrailChecks, safeFetch, now, metrics }, guarding, deadline } = asking
  const since = performance.now()
  const count = (outcome: 'passed' | 'objected' | 'failed') =>
    metrics?.check(guardrail.provider, outcome, performance.now() - since)
  const toolsOf = async () => {
    const token = guardrail.token ? await guarding.openToken(guardrail.id, guardrail.token) : undefined
    const { spans } = guarding.trace
    const fetch: SafeFetch = (url, request) => safeFetch(url, { ...request, spans })
    return { fetch, now, signal: deadline(), token }
  }
  try {
    const answer = checked(await guardrailChecks.check(guarding.owner, guardrail, guarded, toolsOf))
    count(answer.kinds.length > 0 ? 'objected' : 'passed')
    return answer
  } catch (error) {
    count('failed')
    logFailure(guardrail, error, asking)
    if (error instanceof NoTurn) return 'no turn'
    return {
      failure: error instanceof ProviderFailure
        ? failureForTenants(error).message
        : 'The guardrail gave no valid response.',
    }
  }
}

function logFailure({ id, provider }: ActiveGuardrail, error: unknown, { deps }: Asking): void {
  const fault = error instanceof ProviderFailure ? error.reason : error instanceof Error ? error.name : typeof error
  deps.log.warn('A guardrail could not check a message', { guardrail: id, provider, fault })
}

/** Checks an answer. Its kinds become short lines of plain text, because senders and agents read them. */
function checked({ kinds, spans = [], replacement }: Verdict): Answer {
  if (!Array.isArray(kinds) || !Array.isArray(spans)) throw new TypeError('The answer has another shape')
  if (kinds.length === 0) return nothing
  const lines = kinds.map((kind) => printableLine(String(kind), maxKindLength))
  const named = [...new Set(lines.filter((line) => line !== ''))].slice(0, maxKinds)
  return {
    // An objection without a usable kind still counts.
    kinds: named.length === 0 ? ['other'] : named,
    spans: spans.filter(({ start, end }) => Number.isFinite(start) && Number.isFinite(end)),
    ...(typeof replacement === 'string' && { replacement }),
  }
}

/** When to retry a send after a guardrail could not answer. */
const retryAfterSeconds = 5

/** Names the guardrails in an error, such as `The guardrail 'secrets'`, but not to another account. */
function named(found: Finding[], isOwn: boolean, recipient: string): string {
  if (!isOwn) return `A guardrail of ${recipient}`
  const names = [...new Set(found.map(({ guardrail }) => `'${guardrail.name}'`))]
  const of = found[0].guardrail.direction === 'inbound' ? ` of ${recipient}` : ''
  return `The guardrail${names.length > 1 ? 's' : ''} ${names.join(' and ')}${of}`
}

/** Returns the error for the sender of a blocked message; it is stored with the send's idempotency key. */
export function blocked(found: Finding[], isOwn: boolean, recipient: string): BlockedError {
  const kinds = kindsOf(found).join(', ')
  const guardrail = [...new Set(found.map(({ guardrail }) => guardrail.name))].join(', ')
  return {
    message: `${named(found, isOwn, recipient)} blocked this message: ${kinds}. It was not sent.`,
    info: { kinds, ...(isOwn && { guardrail }) },
  }
}

/** Returns the error for a message that could not be checked and fails closed. */
export function unavailable(found: Finding[], isOwn: boolean, recipient: string): GridError {
  return new GridError(
    'guardrail_unavailable',
    `${named(found, isOwn, recipient)} could not check this message, so it was not sent. Send it again later.`,
    { retryAfterSeconds, notExecuted: true },
  )
}

export function isRefused(found: Finding[]): boolean {
  return found.some(({ action }) => action === 'blocked' || action === 'failed')
}

export function kindsOf(found: Finding[]): string[] {
  return [...new Set(found.flatMap(({ kinds }) => kinds))]
}
