/**
 * Why a remote provider gave no verdict. `refused`: the address is not allowed. `incomplete`: the answer broke off, or
 * is not HTTP, not UTF-8 or compressed. `rejected`: another status that is neither 2xx nor 5xx. `wrong_token`: the
 * token has not the form that the service needs. With `refused` and `wrong_token`, nothing was sent.
 */
export type FailureReason =
  | 'refused'
  | 'not_connected'
  | 'timeout'
  | 'redirected'
  | 'too_large'
  | 'incomplete'
  | 'unauthorized'
  | 'rate_limited'
  | 'rejected'
  | 'service_error'
  | 'unusable_answer'
  | 'wrong_token'

/** The message is for the operator. It never has the token, the text, or the answer. */
export class ProviderFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string) {
    super(message)
    this.name = 'ProviderFailure'
    this.reason = reason
  }
}

/** Tenants are not told which of these, so that nobody can explore networks with a guardrail. */
const unreached: readonly FailureReason[] = [
  'refused',
  'not_connected',
  'timeout',
  'redirected',
  'too_large',
  'incomplete',
]

/** What a tenant may know of a failure. See docs/security.md, "Outgoing requests". */
export function failureForTenants({ reason, message }: ProviderFailure): { reason: string; message: string } {
  return unreached.includes(reason)
    ? { reason: 'unreachable', message: 'The service was not reached, or gave no usable answer in time.' }
    : { reason, message }
}
