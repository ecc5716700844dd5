import { GridError } from '../../errors.ts'
import { printableLine } from '../redact.ts'

/**
 * Why a request to a remote server failed. For decisions in the program, and for the log.
 *
 * * `refused`: the URL, its address or a header is not allowed; nothing was sent
 * * `not_connected`: no IP address, no connection or no TLS; nothing was sent, so the request may be repeated
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
 * A request to a remote server failed. The message is always the same, so that callers cannot explore networks with
 * it.
 */
export class RemoteError extends GridError {
  readonly reason: RemoteErrorReason
  /** Only for the log. */
  readonly detail: string
  /** The log has it. */
  isReported = false
  /** The request was sent whole. */
  isSent = false
  /** The status of the answer, if there was one. */
  status: number | undefined
  /** Set if it is of little use to repeat the request: it arrived whole, and got no answer in time, or a useless one. */
  unanswered: 'timeout' | 'useless' | undefined
  /** Set if the server answered: what people of the account are told, and when it wants the next request. */
  answered: { told: string; retryAfterMs?: number } | undefined

  constructor(reason: RemoteErrorReason, detail: string) {
    super('remote_unreachable', 'The remote server was not reached, or gave no usable response.')
    this.name = 'RemoteError'
    this.reason = reason
    this.detail = detail
  }
}

/** Convert any error to a `RemoteError`. A `RemoteError` is returned unchanged. */
export function asRemoteError(error: unknown, reason: RemoteErrorReason): RemoteError {
  if (error instanceof RemoteError) return error
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  const detail = [code, message].filter((part) => typeof part === 'string').join(' ')
  return new RemoteError(reason, printableLine(detail, 200))
}
