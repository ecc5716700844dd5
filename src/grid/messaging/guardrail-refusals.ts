/** What senders are told when guardrails refuse a message. */
import { GridError } from '../../errors.ts'
import type { BlockedError } from '../../store/account/verdicts.ts'
import type { Finding } from './ask-guardrails.ts'

/** When to try a send again whose guardrail could not answer. */
const retryAfterSeconds = 5

/** `The guardrail 'secrets'`, or of another account only that there is one. */
function named(found: Finding[], isOwn: boolean, recipient: string): string {
  if (!isOwn) return `A guardrail of ${recipient}`
  const names = [...new Set(found.map(({ guardrail }) => `'${guardrail.name}'`))]
  const of = found[0].guardrail.direction === 'inbound' ? ` of ${recipient}` : ''
  return `The guardrail${names.length > 1 ? 's' : ''} ${names.join(' and ')}${of}`
}

/** What the sender of a blocked message is told; it is stored with the idempotency key of the send. */
export function blocked(found: Finding[], isOwn: boolean, recipient: string): BlockedError {
  const kinds = kindsOf(found).join(', ')
  const guardrail = [...new Set(found.map(({ guardrail }) => guardrail.name))].join(', ')
  return {
    message: `${named(found, isOwn, recipient)} blocked this message: ${kinds}. It was not sent.`,
    info: { kinds, ...(isOwn && { guardrail }) },
  }
}

/** The error of a message that guardrails could not check and may not let pass. */
export function unavailable(found: Finding[], isOwn: boolean, recipient: string): GridError {
  return new GridError(
    'guardrail_unavailable',
    `${named(found, isOwn, recipient)} could not check this message, so it was not sent. Send it again later.`,
    { retryAfterSeconds, notExecuted: true },
  )
}

/** The kinds of things that were found, each once. */
export function kindsOf(found: Finding[]): string[] {
  return [...new Set(found.flatMap(({ kinds }) => kinds))]
}
