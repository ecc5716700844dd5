import { GridError } from '../errors.ts'

/**
 * Why a request to a remote server gave nothing, for our own decisions and the log:
 *
 * * `refused`: we do not go there, or do not send that; nothing was sent
 * * `not_connected`: no address, no connection, no TLS; nothing was sent, so it may be repeated
 * * `too_slow`: the deadline passed
 * * `stopped`: the caller gave up
 * * `redirected`: it pointed elsewhere, which nobody follows
 * * `too_large`: the answer is larger than allowed
 * * `bad_answer`: the answer breaks off or is not what was asked for
 */
export type RemoteFault =
  | 'refused'
  | 'not_connected'
  | 'too_slow'
  | 'stopped'
  | 'redirected'
  | 'too_large'
  | 'bad_answer'

/** A remote server was not reached or gave no usable answer. The sentence is always the same: it must not map networks. */
export class RemoteError extends GridError {
  readonly fault: RemoteFault
  /** For the log alone. */
  readonly detail: string

  constructor(fault: RemoteFault, detail: string) {
    super('remote_unreachable', 'The remote server was not reached, or gave no usable answer.')
    this.name = 'RemoteError'
    this.fault = fault
    this.detail = detail
  }
}

/** Any failure as a `RemoteError`; what already is one keeps its fault. */
export function asRemoteError(error: unknown, fault: RemoteFault): RemoteError {
  if (error instanceof RemoteError) return error
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  return new RemoteError(fault, [code, message].filter((part) => typeof part === 'string').join(' ').slice(0, 200))
}
