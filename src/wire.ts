/** How each protocol says an error, and how outside input is read. Tables by kind; finer codes are looked up first. */
import { z } from 'zod'
import type { Log } from './deps.ts'
import { type ErrorCode, type ErrorKind, GridError } from './errors.ts'
import { errorPage } from './html/error-page.tsx'

/** HTTP status of each kind, for every door that speaks in statuses. */
export const httpStatus = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media: 415,
  misdirected: 421,
  refused: 422,
  limited: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<ErrorKind, number>

/** Headers that go with an error over HTTP. */
export function errorHeaders(error: GridError): Record<string, string> {
  const { retryAfterSeconds } = error.details
  return retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
}

/** REST: `{error: {code, message}}`. Spec: "Signup errors". */
export function restError(error: GridError): Response {
  const body = { error: { code: error.code, message: error.message } }
  return Response.json(body, { status: httpStatus[error.kind], headers: errorHeaders(error) })
}

/** HTML: a page that says it, for paths that people open in a browser. */
export async function htmlError(error: GridError): Promise<Response> {
  const answer = await errorPage(error, httpStatus[error.kind])
  for (const [name, value] of Object.entries(errorHeaders(error))) answer.headers.set(name, value)
  return answer
}

/** OAuth endpoints that answer in JSON: `{error, error_description}`. @see RFC 6749 §5.2, RFC 7591 §3.2.2 */
export function oauthError(error: GridError): Response {
  const body = { error: oauthCode(error), error_description: error.message }
  const status = ['not_found', 'conflict'].includes(error.kind) ? 400 : httpStatus[error.kind]
  return Response.json(body, { status, headers: errorHeaders(error) })
}

/** The word of OAuth for an error, also in an answer by redirect. @see RFC 6749 §4.1.2.1 */
export function oauthCode({ code, kind }: GridError): string {
  return oauthCodes.has(code) ? code : oauthByKind[kind]
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

const oauthByKind = {
  invalid: 'invalid_request',
  unauthenticated: 'invalid_client',
  forbidden: 'access_denied',
  not_found: 'invalid_request',
  method_not_allowed: 'invalid_request',
  conflict: 'invalid_request',
  too_large: 'invalid_request',
  unsupported_media: 'invalid_request',
  misdirected: 'invalid_request',
  refused: 'invalid_request',
  limited: 'temporarily_unavailable',
  internal: 'server_error',
  unavailable: 'temporarily_unavailable',
} as const satisfies Record<ErrorKind, string>

/** JSON-RPC over HTTP, for what fails before there is a request to answer: `id` is null. */
export function rpcFrameError(error: GridError, code: number, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', id: null, error: { code, message: error.message } }
  return Response.json(body, { status: httpStatus[error.kind], headers: { ...errorHeaders(error), ...headers } })
}

/** An error object of JSON-RPC 2.0, as A2A fills it. */
export interface A2aErrorObject {
  code: number
  message: string
  /** What programs read: objects named by `@type`, of which there is at most one. */
  data?: unknown[]
}

/**
 * A2A over JSON-RPC, both versions. `domain` is the grid's public host: reasons of our own are qualified by it.
 * Spec: "A2A errors". a2a.md, section 6.
 */
export function a2aError(error: GridError, domain: string): A2aErrorObject {
  const { code, reason, isOurs }: A2aVoice = a2aByCode[error.code] ?? a2aByKind[error.kind]
  const { message, details } = error
  if (reason) {
    const info = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason,
      domain: isOurs ? domain : 'a2a-protocol.org',
      metadata: details.info,
    }
    return { code, message, data: [info] }
  }
  if (details.field === undefined) return { code, message }
  const fieldViolations = [{ field: details.field, description: message }]
  return { code, message, data: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }] }
}

/** An error of JSON-RPC travels with 200; only what intermediaries and clients must see has its own status. */
export function a2aStatus({ kind }: GridError): number {
  const isForHttp = ['unauthenticated', 'too_large', 'limited', 'unavailable'].includes(kind)
  return isForHttp ? httpStatus[kind] : 200
}

/** A JSON-RPC code, and the reason that goes with it: A2A's own, or ours. */
interface A2aVoice {
  code: number
  reason?: string
  isOurs?: true
}

const a2aByKind = {
  invalid: { code: -32602 },
  unauthenticated: { code: -32054, reason: 'UNAUTHENTICATED', isOurs: true },
  forbidden: { code: -32000 },
  not_found: { code: -32602, reason: 'RECIPIENT_NOT_FOUND', isOurs: true },
  method_not_allowed: { code: -32600 },
  conflict: { code: -32000 },
  too_large: { code: -32600 },
  unsupported_media: { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  misdirected: { code: -32600 },
  refused: { code: -32052, reason: 'GUARDRAIL_BLOCKED', isOurs: true },
  limited: { code: -32050, reason: 'RATE_LIMITED', isOurs: true },
  internal: { code: -32603 },
  unavailable: { code: -32603 },
} satisfies Record<ErrorKind, A2aVoice>

const a2aByCode: Partial<Record<ErrorCode, A2aVoice>> = {
  malformed_json: { code: -32700 },
  invalid_request: { code: -32600 },
  unknown_method: { code: -32601 },
  recipient_required: { code: -32000, reason: 'RECIPIENT_REQUIRED', isOurs: true },
  idempotency_conflict: { code: -32602, reason: 'IDEMPOTENCY_CONFLICT', isOurs: true },
  task_not_found: { code: -32001, reason: 'TASK_NOT_FOUND' },
  push_not_supported: { code: -32003, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' },
  unsupported_operation: { code: -32004, reason: 'UNSUPPORTED_OPERATION' },
  no_text_content: { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  version_not_supported: { code: -32009, reason: 'VERSION_NOT_SUPPORTED' },
  trial_expired: { code: -32051, reason: 'TRIAL_EXHAUSTED', isOurs: true },
}

/** What to do about an error, in sentences that name tools of the caller. */
export type Hints = Partial<Record<ErrorCode, string>>

/** The body of a refused MCP tool call: `{"error":{"code","message"}}`, written for a model. */
export function toolError(error: GridError, hints: Hints): string {
  const hint = hints[error.code]
  const message = hint ? `${error.message}. ${hint}` : error.message
  return JSON.stringify({ error: { code: error.code, message } })
}

/** Ours as it is; anything else is our own fault, goes to the log and says nothing about itself. */
export function asGridError(error: unknown, log: Log, requestId?: string): GridError {
  if (error instanceof GridError) return error
  log.error('Unexpected error', { error, requestId })
  return new GridError('internal', 'Internal error')
}

/** Read outside input. Fails with `code` (default `invalid_input`); the message names the field and what it takes. */
export function parse<T>(schema: z.ZodType<T>, input: unknown, code: ErrorCode = 'invalid_input'): T {
  const result = schema.safeParse(input, { reportInput: true })
  if (result.success) return result.data
  const { field, fault } = describe(result.error.issues[0])
  throw new GridError(code, `${field || 'The input'} ${fault}.`, { field })
}

type Issue = z.core.$ZodIssue
type WrongType = z.core.$ZodIssueInvalidType

/** What is wrong with which field; values stay out of it. */
function describe(issue: Issue, above: PropertyKey[] = []): { field: string; fault: string } {
  const path = [...above, ...issue.path]
  const at = (fault: string, ...below: string[]) => ({ field: [...path, ...below].join('.'), fault })
  if (issue.input === undefined) return at('is missing')
  switch (issue.code) {
    case 'invalid_type':
      return at(`must be ${typeName(issue)}`)
    case 'invalid_value':
      return at(`must be one of ${issue.values.join(', ')}`)
    case 'unrecognized_keys':
      return at('is not a known field', issue.keys[0])
    case 'too_small':
      return at(
        issue.origin in units && issue.minimum === 1 ? 'must not be empty' : size(issue, 'least', issue.minimum),
      )
    case 'too_big':
      return at(size(issue, 'most', issue.maximum))
    case 'invalid_union': {
      // The form that was meant is the one whose type is right.
      const meant = issue.errors.find(([first]) => !isWrongType(first))
      if (meant) return describe(meant[0], path)
      return at(`must be ${issue.errors.flat().filter(isWrongType).map(typeName).join(' or ')}`)
    }
    default:
      return at(issue.message)
  }
}

function isWrongType(issue: Issue): issue is WrongType {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

const typeNames: Partial<Record<WrongType['expected'], string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
}

function typeName({ expected }: WrongType): string {
  return typeNames[expected] ?? `a ${expected}`
}

const units: Record<string, string> = { string: 'characters', array: 'entries' }

function size({ origin }: { origin: string }, end: 'least' | 'most', n: number | bigint): string {
  return origin in units ? `must have at ${end} ${n} ${units[origin]}` : `must be at ${end} ${n}`
}

/** A signup, over REST and as parameters of the MCP tool. Unknown fields are ignored. Spec: "Signup", "Limits". */
export const signupInput = z.object({
  owner_email: z.string().describe('E-mail of the human owner'),
  alias: z.string().describe('Wanted alias: 3 to 32 of a-z, 0-9 and -'),
  description: z.string().max(500).optional().describe('What the agent does'),
  skills: z.array(z.string().min(1).max(64)).max(20).optional().describe('Names of skills'),
})
