/**
 * What went wrong, in the words of the protocols. Codes are closed: a new one
 * is added here with its kind, and every protocol can already say it.
 */
export const errorKinds = {
  // The caller sent something that cannot be understood or accepted.
  agent_token_required: 'invalid',
  cursor_expired: 'invalid',
  invalid_alias: 'invalid',
  invalid_email: 'invalid',
  invalid_input: 'invalid',
  invalid_request: 'invalid',
  link_expired: 'invalid',
  malformed_json: 'invalid',
  message_too_long: 'invalid',
  no_text_content: 'invalid',
  push_not_supported: 'invalid',
  recipient_required: 'invalid',
  self_message: 'invalid',
  unknown_method: 'invalid',
  unsupported_operation: 'invalid',
  version_not_supported: 'invalid',

  // OAuth's own words (RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, RFC 8707 §2).
  invalid_client_metadata: 'invalid',
  invalid_grant: 'invalid',
  invalid_redirect_uri: 'invalid',
  invalid_scope: 'invalid',
  invalid_target: 'invalid',
  unsupported_grant_type: 'invalid',
  unsupported_response_type: 'invalid',

  method_not_allowed: 'method_not_allowed',
  payload_too_large: 'too_large',
  unknown_host: 'misdirected',
  unsupported_media_type: 'unsupported_media',

  invalid_client: 'unauthenticated',
  sign_in_failed: 'unauthenticated',
  unauthenticated: 'unauthenticated',

  access_denied: 'forbidden',
  forbidden_form: 'forbidden',
  forbidden_origin: 'forbidden',
  not_allowed: 'forbidden',
  not_channel_member: 'forbidden',
  trial_expired: 'forbidden',
  wrong_credential: 'forbidden',

  account_not_found: 'not_found',
  agent_not_found: 'not_found',
  channel_not_found: 'not_found',
  credential_not_found: 'not_found',
  guardrail_not_found: 'not_found',
  invitation_not_found: 'not_found',
  member_not_found: 'not_found',
  message_not_found: 'not_found',
  not_found: 'not_found',
  recipient_not_found: 'not_found',
  skill_not_found: 'not_found',
  task_not_found: 'not_found',

  alias_reserved: 'conflict',
  alias_taken: 'conflict',
  channel_taken: 'conflict',
  claim_changed: 'conflict',
  database_in_use: 'conflict',
  guardrail_taken: 'conflict',
  last_owner: 'conflict',
  member_exists: 'conflict',
  idempotency_conflict: 'conflict',
  skill_taken: 'conflict',
  write_conflict: 'conflict',

  rate_limit_exceeded: 'limited',
  signup_rate_limited: 'limited',

  guardrail_blocked: 'refused',

  remote_unreachable: 'unavailable',
  unavailable: 'unavailable',
  internal: 'internal',
} as const satisfies Record<string, string>

export type ErrorCode = keyof typeof errorKinds
export type ErrorKind = (typeof errorKinds)[ErrorCode]

/** Details that some voices need. */
export interface ErrorDetails {
  /** The faulty input. */
  field?: string
  /** Facts for programs, beside the sentence. */
  info?: Record<string, string>
  /** Becomes `Retry-After`. */
  retryAfterSeconds?: number
  /** Nothing was carried out: who has time may simply try again. */
  nothingDone?: true
  /** Whether there was a credential: the challenge says `invalid_token` only when one was refused (RFC 6750 §3.1). */
  credential?: 'missing' | 'refused'
}

/**
 * The one error of the grid. `message` is our own sentence, written for whoever
 * repairs the call, often a model: what was wrong and what to do. It never
 * carries a database's or a remote's text.
 */
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
