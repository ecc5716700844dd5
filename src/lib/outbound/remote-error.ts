import { GridError } from '../../errors.ts'
import { printableLine } from '../redact.ts'
import { second } from '../time.ts'

/**
 * Why a request to a remote server failed, for program logic and the log.
 *
 * * `refused`: the URL, its address or a header is not allowed; nothing was sent
 * * `not_connected`: no IP address, no connection or no TLS; nothing was sent, so the request may be retried
 * * `timeout`: the deadline passed
 * * `aborted`: the caller aborted the request
 * * `redirected`: the response is a redirect; redirects are not followed
 * * `too_large`: the response is larger than allowed
 * * `invalid_response`: the response is incomplete or not of the requested type
 */
export type RemoteErrorReason =
  | 'refused'
  | 'not_connected'
  | 'timeout'
  | 'aborted'
  | 'redirected'
  | 'too_large'
  | 'invalid_response'

/**
 * A failed request to a remote server. The message is always the same, so that callers cannot probe networks with it.
 */
export class RemoteError extends GridError {
  readonly reason: RemoteErrorReason
  /** Details that are written only to the log. */
  readonly detail: string
  /** Whether the failure has been logged. */
  isReported = false
  /** Whether the complete request was sent. */
  isSent = false
  /** The response's status, if there was one. */
  status: number | undefined
  /**
   * Set if a retry is probably useless, because the complete request arrived, but the response is missing or invalid.
   */
  unanswered: 'timeout' | 'useless' | undefined
  /** Set if the server responded: the reason shown to the account's people, and how long the server asks to wait. */
  answered: { shown: string; retryAfterMs?: number } | undefined

  constructor(reason: RemoteErrorReason, detail: string) {
    super('remote_unreachable', 'The remote server was not reached, or gave no usable response.')
    this.name = 'RemoteError'
    this.reason = reason
    this.detail = detail
  }

  /** The reason shown to the account's people, who know the server. It never contains the server's own text. */
  get why(): string {
    switch (this.reason) {
      case 'refused':
        return 'Its address is not allowed; private networks need ALLOW_PRIVATE_TARGETS.'
      case 'timeout':
        return `${this.isSent ? 'It did not answer' : 'There was no connection'} within ${
          parseInt(this.detail) / second
        } s.`
      case 'aborted':
        return 'There was no complete answer in time.'
      case 'redirected':
        return `It redirected (${this.detail}), which is not followed.`
      case 'too_large':
        return 'Its answer was too large.'
      default: {
        const [status] = this.detail.match(/^[1345]\d\d(?= |$)/) ?? []
        if (status) return `It answered ${status}.`
        return faults[this.reason].find(([pattern]) => pattern.test(this.detail))![1]
      }
    }
  }
}

/** Patterns for error codes of systems and runtimes. The first match applies. */
const faults: Record<'not_connected' | 'invalid_response', [RegExp, string][]> = {
  not_connected: [
    [/proxy/i, 'The proxy of this grid did not reach it.'],
    [/ENOTFOUND|ENODATA|Name or service|No address|no IP address/i, 'Its name was not found.'],
    [/EAI_AGAIN|ESERVFAIL|lookup|queryA/i, 'The name server did not answer.'],
    [/REFUSED/i, 'It refused the connection.'],
    [/EXPIRED/i, 'Its TLS certificate has expired.'],
    [/ALTNAME|ValidForName|not valid for/i, 'Its TLS certificate is for another name.'],
    [/CERT|ISSUER|LEAF_SIGNATURE/i, 'Its TLS certificate is not trusted.'],
    [/EPROTO|SSL|TLS/i, 'It does not speak TLS there.'],
    [/UNREACH/i, 'There is no route to its address.'],
    [/ETIMEDOUT|timed out/i, 'There was no connection in time.'],
    [/RESET|EPIPE|closed|disconnected/i, 'It closed the connection.'],
    [/(?:)/, 'No connection.'],
  ],
  invalid_response: [
    [/RESET|EPIPE|hang up|aborted|incomplete/i, 'It closed the connection before its answer was complete.'],
    [/encoded/, 'Its answer was compressed or not text.'],
    [/^(0|2\d\d) |task|card|JSON/, 'Its answer was not valid A2A.'],
    [/(?:)/, 'Its answer was not valid HTTP.'],
  ],
}

/** Converts any error to a `RemoteError`. A `RemoteError` is returned unchanged. */
export function asRemoteError(error: unknown, reason: RemoteErrorReason): RemoteError {
  if (error instanceof RemoteError) return error
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  const detail = [code, message].filter((part) => typeof part === 'string').join(' ')
  return new RemoteError(reason, printableLine(detail, 200))
}
