/**
 * The MCP endpoints: stateless Streamable HTTP for revisions 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28 on one
 * URL. Bridges from stdio also use 2024-11-05, whose differences do not affect the grid. Batches, which only revision
 * 2025-03-26 has, are refused.
 */
import { ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { settleLease } from '../answers/lease.ts'
import { names, takes } from '../lib/http/accept.ts'
import { apiLimits, type Bodies, type BodyLimits, formLimits, messageLimits, parseCall } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { addressOf } from '../lib/http/client-address.ts'
import { eventStreamType } from '../lib/http/event-stream.ts'
import type { ResponseHeaders } from '../lib/http/response-headers.ts'
import type { AppContext, Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import type { CallTrace } from '../call-trace.ts'
import { rpcFrameError } from '../wire.ts'
import { dispatch, type ReceivedMessage } from './dispatcher.ts'
import { serverError } from './protocol.ts'
import { inboxStream, streamedAnswer } from './streams.ts'
import { accountToolset, signupToolset, type Toolset } from './toolset.ts'

/** The endpoint for agents and admins. `metadataUrl` shows clients how to sign in. See docs/protocol/mcp.md, "MCP". */
export function mcpGrid(
  authenticateCall: AuthenticateCall,
  responseHeaders: ResponseHeaders,
  deps: Deps,
  metadataUrl: (request: Request) => string,
): Handler {
  return mcpServer(deps, responseHeaders, messageLimits, {
    async authenticate(c) {
      const { caller, serve, check } = await authenticateCall(c)
      const live = { connection: new CallerConnection(c.req.raw, c.env), check }
      const toolsetOf = (account: AccountStore) => accountToolset(account, c.get('trace'), live)
      return {
        toolset: async () => toolsetOf(await caller()),
        serve: (answer) => serve((account) => answer(toolsetOf(account))),
      }
    },
    metadataUrl,
  })
}

/** The endpoint for callers without a key. It ignores credentials. */
export function mcpSignup(store: Store, responseHeaders: ResponseHeaders): Handler {
  const limits = { ...apiLimits, maxBytes: formLimits.maxBytes }
  return mcpServer(store.deps, responseHeaders, limits, {
    authenticate(c) {
      const toolset = signupToolset({ store, address: addressOf(c, store.deps.config) }, c.get('trace'))
      return Promise.resolve({ toolset: () => Promise.resolve(toolset), serve: (answer) => answer(toolset) })
    },
  })
}

interface Endpoint {
  /** Fails with `unauthenticated` or `rate_limit_exceeded`. */
  authenticate(c: AppContext): Promise<CallOfTools>
  metadataUrl?(request: Request): string
}

/** Like `AuthenticatedCall`, but with the caller's tools. */
interface CallOfTools {
  toolset(): Promise<Toolset>
  serve<Answer>(answer: (toolset: Toolset) => Promise<Answer>): Promise<Answer>
}

/** Authenticates the caller before reading the method and the body. */
function mcpServer(
  { bodies }: Deps,
  responseHeaders: ResponseHeaders,
  limits: BodyLimits,
  endpoint: Endpoint,
): Handler {
  return async function mcp(c) {
    const request = c.req.raw
    const trace = c.get('trace')
    try {
      const call = await endpoint.authenticate(c)
      if (request.method === 'GET') return inboxStream(request, await call.toolset())
      if (request.method !== 'POST') throw new GridError('method_not_allowed', 'Send MCP messages with POST.')
      const message = await readMessage(bodies, request, limits)
      return await call.serve((toolset) => answered(request, message, toolset, trace))
    } catch (error) {
      return errorResponse(trace.refusal(error), endpoint.metadataUrl?.(request))
    }
  }

  async function answered(
    request: Request,
    message: ReceivedMessage,
    toolset: Toolset,
    trace: CallTrace,
  ): Promise<Response> {
    const answer = await dispatch(request.headers, message, toolset, trace)
    if (answer instanceof Response) return answer
    const { body, status, lease } = answer
    const response = status !== 200
      ? Response.json(body, { status })
      : isStreamWanted(request.headers)
      ? streamedAnswer(body)
      : responseHeaders.json(body, trace.requestId)
    if (lease) await settleLease(lease, toolset.inbox?.connection)
    return response
  }
}

/** Whether the client accepts event streams but not JSON. */
function isStreamWanted(headers: Headers): boolean {
  return names(headers, eventStreamType) && !takes(headers, 'application/json')
}

async function readMessage(bodies: Bodies, request: Request, limits: BodyLimits): Promise<ReceivedMessage> {
  const { value: message, refused } = parseCall(await bodies.readText(request, limits), limits)
  if (Array.isArray(message)) {
    throw new GridError('invalid_request', 'Batches are not accepted. Send one message per request.')
  }
  if (refused?.details.field === 'id') throw refused
  return { message, refused }
}

/** Responds to a request that is refused before its id is known. @see RFC 6750 §3, RFC 9728 §5.1 */
function errorResponse(error: GridError, metadataUrl: string | undefined): Response {
  const headers: Record<string, string> = {}
  if (error.kind === 'unauthenticated' && metadataUrl !== undefined) {
    // The message needs no escaping, because those for refused credentials are constants without quotes.
    const refused = error.details.credential === 'refused'
      ? `error="invalid_token", error_description="${error.message}", `
      : ''
    headers['WWW-Authenticate'] = `Bearer ${refused}resource_metadata="${metadataUrl}"`
  }
  if (error.kind === 'method_not_allowed') headers.Allow = 'POST'
  return rpcFrameError(error, errorCode(error), headers)
}

function errorCode(error: GridError): number {
  if (error.code === 'malformed_json') return ProtocolErrorCode.ParseError
  if (error.kind === 'limited') return serverError
  const isOurs = error.kind === 'internal' || error.kind === 'unavailable'
  return isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidRequest
}
