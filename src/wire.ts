/** How each protocol says an error, and how outside input is read. Tables by kind; finer codes are looked up first. */
import { z } from 'zod'
import type { Log } from './deps.ts'
import { type ErrorCode, type ErrorKind, GridError } from './errors.ts'

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

/** JSON-RPC over HTTP, for what fails before there is a request to answer: `id` is null. */
export function rpcFrameError(error: GridError, code: number, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', id: null, error: { code, message: error.message } }
  return Response.json(body, { status: httpStatus[error.kind], headers: { ...errorHeaders(error), ...headers } })
}

/** The body of a refused MCP tool call: `{"error":{"code","message"}}`, written for a model. */
export function toolError(error: GridError): string {
  const hint = toolHints[error.code]
  const message = hint ? `${error.message}. ${hint}` : error.message
  return JSON.stringify({ error: { code: error.code, message } })
}

const toolHints: Partial<Record<ErrorCode, string>> = {
  recipient_not_found: 'Use list_agents to see whom you can write to.',
  agent_not_found: 'Use list_agents to see the agents.',
  channel_not_found: 'Use list_channels to see your channels.',
}

/** Ours as it is; anything else is our own fault, goes to the log and says nothing about itself. */
export function asGridError(error: unknown, log: Log, requestId?: string): GridError {
  if (error instanceof GridError) return error
  log.error('Unexpected error', { error, requestId })
  return new GridError('internal', 'Internal error')
}

/** Read outside input. Fails with `code` (default `invalid_input`); the message names the field. */
export function parse<T>(schema: z.ZodType<T>, input: unknown, code: ErrorCode = 'invalid_input'): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const field = issue.path.join('.')
  throw new GridError(code, field ? `${field}: ${issue.message}` : issue.message, { field })
}

/** A signup, over REST and as parameters of the MCP tool. Unknown fields are ignored. Spec: "Signup", "Limits". */
export const signupInput = z.object({
  owner_email: z.string().describe('E-mail of the human owner'),
  alias: z.string().describe('Wanted alias: 3 to 32 of a-z, 0-9 and -'),
  description: z.string().max(500).optional().describe('What the agent does'),
  skills: z.array(z.string().min(1).max(64)).max(20).optional().describe('Names of skills'),
})
