/** Why a remote provider gave no verdict. */

/**
 * * `refused`: the address is not allowed; nothing was sent
 * * `not_connected`: no IP address, no connection or no TLS, twice
 * * `timeout`: no complete answer by the deadline
 * * `redirected`: the service answered with a redirect, which is not followed
 * * `too_large`: the answer is larger than allowed
 * * `incomplete`: the answer broke off, or is not HTTP, not UTF-8 or compressed
 * * `unauthorized`: the service does not accept the token (401, 403)
 * * `rate_limited`: the service answers 429, because it got too many requests
 * * `rejected`: the service does not accept the request (another status that is neither 2xx nor 5xx)
 * * `service_error`: the service failed (5xx)
 * * `unusable_answer`: the answer is not what the interface of the service says
 * * `wrong_token`: the token has not the form that the service needs; nothing was sent
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

/**
 * A remote provider gave no verdict. The message is for the operator: it names the host and what went wrong, and never
 * has the token, the text, or anything that the service answered. See `failureForTenants`.
 */
export class ProviderFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string) {
    super(message)
    this.name = 'ProviderFailure'
    this.reason = reason
  }
}

/** Failures before a complete answer. Tenants are not told which, so that nobody can explore networks with a guardrail. */
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
