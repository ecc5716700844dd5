/** Maps errors to each protocol by kind, with exceptions by code. */
import type { ErrorCode, ErrorKind, GridError } from './errors.ts'
import { type ErrorFrame, errorPage } from './html/error-page.tsx'

/** The HTTP status of each kind of error. */
export const httpStatus = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media: 415,
  range: 416,
  misdirected: 421,
  refused: 422,
  limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<ErrorKind, number>

/** Returns an error's HTTP headers. @see RFC 9110 §10.2.3, draft-ietf-httpapi-ratelimit-headers-11 */
export function errorHeaders({ details: { retryAfterSeconds, limit } }: GridError): Record<string, string> {
  if (retryAfterSeconds === undefined) return {}
  const headers: Record<string, string> = { 'Retry-After': String(retryAfterSeconds) }
  if (limit) {
    const window = limit.windowSeconds === undefined ? '' : `;w=${limit.windowSeconds}`
    headers['RateLimit-Policy'] = `"${limit.name}";q=${limit.quota}${window}`
    headers.RateLimit = `"${limit.name}";r=0;t=${retryAfterSeconds}`
  }
  return headers
}

/** Returns the retry delay in seconds for the body. Only limit errors contain it there. */
function retryAfterLimit({ kind, details }: GridError): number | undefined {
  return kind === 'limited' ? details.retryAfterSeconds : undefined
}

/**
 * Returns the error body in REST: `{error: {code, message}}`, plus `retry_after_seconds` if a limit was hit, and an
 * upload's `offset`. See docs/protocol/signup.md, "Errors", and docs/protocol/README.md, "Call limits".
 */
export function restError(error: GridError): Response {
  const { code, message, details: { offset } } = error
  const body = { error: { code, message, retry_after_seconds: retryAfterLimit(error), offset } }
  return Response.json(body, { status: httpStatus[error.kind], headers: errorHeaders(error) })
}

/** Returns the error page for browsers. `inside` renders the application's frame for signed-in users. */
export async function htmlError(error: GridError, inside?: ErrorFrame): Promise<Response> {
  const response = await errorPage(error, httpStatus[error.kind], inside)
  for (const [name, value] of Object.entries(errorHeaders(error))) response.headers.set(name, value)
  return response
}

/** Returns the error of OAuth's JSON endpoints: `{error, error_description}`. @see RFC 6749 §5.2, RFC 7591 §3.2.2 */
export function oauthError(error: GridError): Response {
  const body = { error: oauthCode(error), error_description: error.message }
  const status = ['not_found', 'conflict'].includes(error.kind) ? 400 : httpStatus[error.kind]
  return Response.json(body, { status, headers: errorHeaders(error) })
}

/** Returns the OAuth error code, in JSON and in redirects. @see RFC 6749 §4.1.2.1 */
export function oauthCode({ code, kind }: GridError): string {
  return oauthCodes.has(code) ? code : oauthByKind[kind] ?? 'invalid_request'
}

const oauthCodes = new Set<ErrorCode>([
  'access_denied',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_scope',
  'invalid_target',
  'unsupported_grant_type',
  'unsupported_response_type',
])

const oauthByKind: Partial<Record<ErrorKind, string>> = {
  unauthenticated: 'invalid_client',
  forbidden: 'access_denied',
  limited: 'temporarily_unavailable',
  internal: 'server_error',
  unavailable: 'temporarily_unavailable',
}

/**
 * Creates a JSON-RPC error for an unreadable request. Its `id` is null. For limits, `data` contains the code and the
 * retry delay.
 */
export function rpcFrameError(error: GridError, code: number, headers: Record<string, string> = {}): Response {
  const retryAfter = retryAfterLimit(error)
  const data = retryAfter === undefined ? undefined : { code: error.code, retry_after_seconds: retryAfter }
  const body = { jsonrpc: '2.0', id: null, error: { code, message: error.message, data } }
  return Response.json(body, { status: httpStatus[error.kind], headers: { ...errorHeaders(error), ...headers } })
}

/** A JSON-RPC 2.0 error object with A2A details. */
interface A2aErrorObject {
  code: number
  message: string
  /** Details for programs. Contains at most one object, with its type in `@type`. */
  data?: unknown[]
}

/**
 * Converts an error to A2A over JSON-RPC. `domain`, the grid's public host, qualifies reasons that A2A does not define.
 * See docs/protocol/a2a.md, "Errors".
 */
export function a2aError(error: GridError, domain: string): A2aErrorObject {
  const { code, reason, isGridReason }: A2aMapping = a2aByCode[error.code] ?? a2aByKind[error.kind]
  const { message, details } = error
  if (reason) {
    const retryAfter = retryAfterLimit(error)
    const info = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason,
      domain: isGridReason ? domain : 'a2a-protocol.org',
      metadata: retryAfter === undefined
        ? details.info
        : { ...details.info, code: error.code, retry_after_seconds: String(retryAfter) },
    }
    return { code, message, data: [info] }
  }
  if (details.field === undefined) return { code, message }
  const fieldViolations = [{ field: details.field, description: message }]
  return { code, message, data: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }] }
}

/** Returns the HTTP status: 200, except for errors that intermediaries and HTTP clients must recognize. */
export function a2aStatus({ kind }: GridError): number {
  const isForHttp = ['unauthenticated', 'too_large', 'limited', 'unavailable'].includes(kind)
  return isForHttp ? httpStatus[kind] : 200
}

/** The error body in A2A's HTTP+JSON binding: a `google.rpc.Status` whose code is the HTTP status. */
interface A2aHttpErrorBody {
  error: { code: number; status: string; message: string; details?: unknown[] }
}

/**
 * Converts an error to A2A over HTTP+JSON, with the same details as over JSON-RPC. See docs/protocol/a2a.md,
 * "HTTP+JSON".
 */
export function a2aHttpError(error: GridError, domain: string): { status: number; body: A2aHttpErrorBody } {
  const { message, data } = a2aError(error, domain)
  const isRefused = error.kind === 'refused'
  const [code, status] = a2aHttpByCode[error.code] ?? [isRefused ? 403 : httpStatus[error.kind], grpcCodes[error.kind]]
  return { status: code, body: { error: { code, status, message, details: data } } }
}

/** The canonical gRPC codes. */
const grpcCodes: Record<ErrorKind, string> = {
  invalid: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'UNIMPLEMENTED',
  timeout: 'DEADLINE_EXCEEDED',
  conflict: 'ABORTED',
  too_large: 'INVALID_ARGUMENT',
  unsupported_media: 'INVALID_ARGUMENT',
  range: 'OUT_OF_RANGE',
  misdirected: 'INVALID_ARGUMENT',
  headers_too_large: 'INVALID_ARGUMENT',
  refused: 'PERMISSION_DENIED',
  limited: 'RESOURCE_EXHAUSTED',
  internal: 'INTERNAL',
  unavailable: 'UNAVAILABLE',
}

/** A2A assigns status 400 to these errors. */
const a2aHttpByCode: Partial<Record<ErrorCode, [status: number, code: string]>> = {
  task_not_cancelable: [400, 'FAILED_PRECONDITION'],
  unsupported_operation: [400, 'UNIMPLEMENTED'],
  version_not_supported: [400, 'UNIMPLEMENTED'],
}

/** A JSON-RPC code and a reason. The reason is defined by A2A, or by the grid if `isGridReason` is set. */
interface A2aMapping {
  code: number
  reason?: string
  isGridReason?: true
}

const a2aByKind = {
  invalid: { code: -32602 },
  unauthenticated: { code: -32054, reason: 'UNAUTHENTICATED', isGridReason: true },
  forbidden: { code: -32000 },
  not_found: { code: -32602, reason: 'RECIPIENT_NOT_FOUND', isGridReason: true },
  method_not_allowed: { code: -32600 },
  timeout: { code: -32600 },
  conflict: { code: -32000 },
  too_large: { code: -32600 },
  unsupported_media: { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  range: { code: -32602 },
  misdirected: { code: -32600 },
  headers_too_large: { code: -32600 },
  refused: { code: -32052, reason: 'GUARDRAIL_BLOCKED', isGridReason: true },
  limited: { code: -32050, reason: 'RATE_LIMITED', isGridReason: true },
  internal: { code: -32603 },
  unavailable: { code: -32603 },
} satisfies Record<ErrorKind, A2aMapping>

const a2aByCode: Partial<Record<ErrorCode, A2aMapping>> = {
  malformed_json: { code: -32700 },
  invalid_request: { code: -32600 },
  unknown_method: { code: -32601 },
  not_found: { code: -32601 },
  recipient_required: { code: -32000, reason: 'RECIPIENT_REQUIRED', isGridReason: true },
  idempotency_conflict: { code: -32602, reason: 'IDEMPOTENCY_CONFLICT', isGridReason: true },
  task_not_found: { code: -32001, reason: 'TASK_NOT_FOUND' },
  task_not_cancelable: { code: -32002, reason: 'TASK_NOT_CANCELABLE' },
  unsupported_operation: { code: -32004, reason: 'UNSUPPORTED_OPERATION' },
  no_text_content: { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  version_not_supported: { code: -32009, reason: 'VERSION_NOT_SUPPORTED' },
  conversation_paused: { code: -32056, reason: 'CONVERSATION_PAUSED', isGridReason: true },
  trial_expired: { code: -32051, reason: 'TRIAL_EXHAUSTED', isGridReason: true },
  storage_full: { code: -32053, reason: 'STORAGE_FULL', isGridReason: true },
  guardrail_unavailable: { code: -32055, reason: 'GUARDRAIL_UNAVAILABLE', isGridReason: true },
}

/** Advice by error code. It names only tools that the caller has. */
export type Hints = Partial<Record<ErrorCode, string>>

/** Returns the text of a failed MCP tool call, written for a model. */
export function toolError(error: GridError, hints: Hints): string {
  const hint = hints[error.code]
  const stop = /[.?]$/.test(error.message) ? '' : '.'
  const message = hint ? `${error.message}${stop} ${hint}` : error.message
  // The text repeats the retry delay, because models do not see headers.
  const wait = error.kind === 'limited' ? { retry_after_seconds: error.details.retryAfterSeconds } : {}
  return JSON.stringify({ error: { code: error.code, message, ...wait } })
}
