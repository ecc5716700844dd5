/** All error codes of the grid and their kinds. `wire.ts` maps kinds to each protocol's errors. */
export const errorKinds = {
  agent_token_required: 'invalid',
  alias_required: 'invalid',
  cursor_expired: 'invalid',
  invalid_alias: 'invalid',
  invalid_email: 'invalid',
  invalid_input: 'invalid',
  invalid_request: 'invalid',
  link_expired: 'invalid',
  malformed_json: 'invalid',
  message_too_long: 'invalid',
  no_text_content: 'invalid',
  recipient_required: 'invalid',
  self_message: 'invalid',
  unknown_method: 'invalid',
  unsupported_operation: 'invalid',
  version_not_supported: 'invalid',

  // OAuth error codes (RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, RFC 8707 §2).
  invalid_client_metadata: 'invalid',
  invalid_grant: 'invalid',
  invalid_redirect_uri: 'invalid',
  invalid_scope: 'invalid',
  invalid_target: 'invalid',
  unsupported_grant_type: 'invalid',
  unsupported_response_type: 'invalid',

  headers_too_large: 'headers_too_large',
  method_not_allowed: 'method_not_allowed',
  payload_too_large: 'too_large',
  range_not_satisfiable: 'range',
  request_timeout: 'timeout',
  unknown_host: 'misdirected',
  unsupported_media_type: 'unsupported_media',

  invalid_client: 'unauthenticated',
  sign_in_failed: 'unauthenticated',
  unauthenticated: 'unauthenticated',

  access_denied: 'forbidden',
  confirmation_required: 'forbidden',
  consent_required: 'forbidden',
  forbidden_form: 'forbidden',
  forbidden_origin: 'forbidden',
  form_expired: 'forbidden',
  not_allowed: 'forbidden',
  not_channel_member: 'forbidden',
  other_sign_in_required: 'forbidden',
  second_factor_required: 'forbidden',
  trial_expired: 'forbidden',
  wrong_credential: 'forbidden',

  account_not_found: 'not_found',
  agent_not_found: 'not_found',
  channel_not_found: 'not_found',
  conversation_not_found: 'not_found',
  credential_not_found: 'not_found',
  guardrail_not_found: 'not_found',
  invitation_not_found: 'not_found',
  member_not_found: 'not_found',
  message_not_found: 'not_found',
  not_found: 'not_found',
  part_not_found: 'not_found',
  lease_not_found: 'not_found',
  recipient_not_found: 'not_found',
  reservation_not_found: 'not_found',
  skill_not_found: 'not_found',
  task_not_found: 'not_found',

  agent_limit_reached: 'conflict',
  alias_reserved: 'conflict',
  already_answered: 'conflict',
  alias_taken: 'conflict',
  already_decided: 'conflict',
  already_reserved: 'conflict',
  channel_taken: 'conflict',
  claim_changed: 'conflict',
  database_in_use: 'conflict',
  form_outdated: 'conflict',
  guardrail_taken: 'conflict',
  key_limit_reached: 'conflict',
  last_owner: 'conflict',
  lease_limit_reached: 'conflict',
  member_exists: 'conflict',
  message_read: 'conflict',
  idempotency_conflict: 'conflict',
  reservation_limit_reached: 'conflict',
  skill_taken: 'conflict',
  stale_lease: 'conflict',
  task_not_cancelable: 'conflict',
  upload_limit_reached: 'conflict',
  write_conflict: 'conflict',
  wrong_offset: 'conflict',

  quota_exceeded: 'limited',
  rate_limit_exceeded: 'limited',
  signup_rate_limited: 'limited',

  guardrail_blocked: 'refused',
  conversation_paused: 'refused',

  guardrail_unavailable: 'unavailable',
  remote_unreachable: 'unavailable',
  storage_full: 'unavailable',
  unavailable: 'unavailable',
  internal: 'internal',
} as const satisfies Record<string, string>

export type ErrorCode = keyof typeof errorKinds
export type ErrorKind = (typeof errorKinds)[ErrorCode]

/** A limit as reported in response headers. See docs/protocol/README.md, "Call limits". */
export interface ReachedLimit {
  /** The name in lower case, with hyphens. */
  name: string
  /**
   * Maximum number of calls, or of the unit in the name, within the window. Without a window, the maximum at a time or
   * in total.
   */
  quota: number
  windowSeconds?: number
}

interface ErrorDetails {
  field?: string
  info?: Record<string, string>
  /** Seconds to send as `Retry-After`. */
  retryAfterSeconds?: number
  /** The limit to send as `RateLimit-Policy` and `RateLimit`. */
  limit?: ReachedLimit
  /** The roles that have the required permission. */
  allowedRoles?: readonly string[]
  notExecuted?: true
  /** The offset at which an upload resumes. */
  offset?: number
  /** The challenge names `invalid_token` only if a credential was refused (RFC 6750 §3.1). */
  credential?: 'missing' | 'refused'
}

/** `message` states what is wrong and what to do. It never contains text from the database or a remote server. */
export class GridError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.name = 'GridError'
    this.code = code
    this.details = details
  }

  get kind(): ErrorKind {
    return errorKinds[this.code]
  }
}

/** Whether the grid's disk was full. Callers need not log this, because the storage layer has done so. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof GridError && error.code === 'storage_full'
}

type LimitedCode = { [Code in ErrorCode]: (typeof errorKinds)[Code] extends 'limited' ? Code : never }[ErrorCode]

/** Creates the error for an exhausted limit. The message states which limit was reached and when to retry. */
export function limitReached(
  code: LimitedCode,
  message: string,
  limit: ReachedLimit,
  retryAfterSeconds: number,
  details: ErrorDetails = {},
): GridError {
  return new GridError(code, message, { ...details, limit, retryAfterSeconds })
}

/** Creates an input error. `field` names the invalid field. */
export function invalidInput(message: string, field: string | undefined): GridError {
  return new GridError('invalid_input', message, { field })
}
