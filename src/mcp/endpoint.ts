/**
 * The MCP door: Streamable HTTP of the revisions 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28 on one
 * URL, without sessions. Batches, which 2025-03-26 still had, are refused.
 */
import { setImmediate } from 'node:timers/promises'
import type { Bearer } from '../auth/bearer.ts'
import type { Deps, Log } from '../deps.ts'
import { GridError } from '../errors.ts'
import type { Answers } from '../lib/response-headers.ts'
import { apiLimits, type BodyLimits, formLimits, parseBody, readText } from '../lib/body.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { Departure } from '../lib/event-stream.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import { asGridError, rpcFrameError } from '../wire.ts'
import { accountOffer, type Offer, signupOffer } from './toolset.ts'
import { sdkPath } from './server.ts'
import { shortcut } from './shortcut.ts'
import { inboxStream, lateAnswer, waitsLong } from './streams.ts'
import { sendOut } from './tool.ts'

const parseError = -32700
const invalidRequest = -32600
const internalError = -32603

/**
 * The endpoint of agents and admins; `metadataUrl` is where a client learns how to sign in.
 * Spec: "MCP endpoint".
 */
export function mcpGrid(
  authenticate: Bearer,
  answers: Answers,
  { log }: Deps,
  metadataUrl: (request: Request) => string,
) {
  const serve = mcpServer(log, answers, apiLimits)

  /** `delivered` tells whether the answer was taken, where the runtime does. */
  return function mcpGrid(
    request: Request,
    requestId: string,
    delivered?: () => Promise<boolean>,
  ): Promise<Response> {
    const departure = new Departure(request, delivered)
    const authorization = request.headers.get('authorization')
    const enter = async () => {
      const account = await authenticate(authorization)
      return accountOffer(account, requestId, { departure, check: checkOf(authenticate, authorization, account) })
    }
    return serve(request, requestId, enter, metadataUrl)
  }
}

/** Asks again for the same credential in the same account, and keeps nothing else of its request. */
function checkOf(authenticate: Bearer, authorization: string | null, account: AccountStore) {
  return () => authenticate(authorization, account)
}

/** The endpoint of those who have no key yet: no credential is asked for, and none is looked at. */
export function mcpSignup(store: Store, answers: Answers) {
  const serve = mcpServer(store.deps.log, answers, { ...apiLimits, maxBytes: formLimits.maxBytes })

  return function mcpSignup(request: Request, requestId: string, address: string): Promise<Response> {
    return serve(request, requestId, () => Promise.resolve(signupOffer({ store, address }, requestId)))
  }
}

/** The order of checks: who is calling comes before all that a request says, its method included. */
function mcpServer(log: Log, answers: Answers, limits: BodyLimits) {
  const sdk = sdkPath(log)

  async function answer(
    request: Request,
    requestId: string,
    message: unknown,
    offer: Offer,
    short: ReturnType<typeof shortcut>,
  ) {
    if (short) return answers.json(await short, requestId, corsHeaders)
    return withCors(await sdk(request, message, offer))
  }

  return async function serve(
    request: Request,
    requestId: string,
    enter: () => Promise<Offer>,
    metadataUrl?: (request: Request) => string,
  ): Promise<Response> {
    if (request.method === 'OPTIONS') return preflight('GET, POST, OPTIONS')
    try {
      const offer = await enter()
      if (request.method === 'GET') return inboxStream(request, offer)
      if (request.method !== 'POST') throw new GridError('method_not_allowed', 'Send MCP messages with POST.')
      const message = await readMessage(request, limits)
      const short = shortcut(request.headers, message, offer)
      if (short && offer.inbox && waitsLong(message)) return lateAnswer(short, offer.handOuts, offer.inbox.departure)
      return await handOver(request, offer, () => answer(request, requestId, message, offer, short))
    } catch (error) {
      const known = asGridError(error, log, requestId)
      return refusal(known, metadataUrl?.(request))
    }
  }
}

/**
 * What was handed out is given back when there is no answer or nobody to take it. Before the answer the signal is
 * right on every runtime; afterwards only Node tells, and elsewhere only `since` can help a client that died.
 * Reliability 2.2.3.
 */
async function handOver(
  request: Request,
  { handOuts, inbox }: Offer,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await answer()
    if (handOuts.length === 0) return response
    // A local commit takes no turn of the event loop, and a closed connection shows only in one.
    await setImmediate()
    if (request.signal.aborted) await Promise.all(handOuts.map((handOut) => handOut.giveBack()))
    else sendOut(handOuts, inbox?.departure)
    return response
  } catch (error) {
    await Promise.all(handOuts.map((handOut) => handOut.giveBack()))
    throw error
  }
}

/** One JSON-RPC message; the SDK would take an array of one. */
async function readMessage(request: Request, limits: BodyLimits): Promise<unknown> {
  const message = parseBody(await readText(request, limits), limits)
  if (Array.isArray(message)) {
    throw new GridError('invalid_request', 'Batches are not accepted. Send each message in a request of its own.')
  }
  return message
}

/** Nothing was understood, so the answer has no id. @see RFC 6750 §3, RFC 9728 §5.1 */
function refusal(error: GridError, metadataUrl: string | undefined): Response {
  const headers: Record<string, string> = { ...corsHeaders }
  if (error.kind === 'unauthenticated' && metadataUrl !== undefined) {
    const refused = error.details.credential === 'refused' ? 'error="invalid_token", ' : ''
    headers['WWW-Authenticate'] = `Bearer ${refused}resource_metadata="${metadataUrl}"`
  }
  if (error.kind === 'method_not_allowed') headers.Allow = 'POST'
  return rpcFrameError(error, frameCode(error), headers)
}

function frameCode(error: GridError): number {
  if (error.code === 'malformed_json') return parseError
  return error.kind === 'internal' || error.kind === 'unavailable' ? internalError : invalidRequest
}

function withCors(response: Response): Response {
  for (const [name, value] of Object.entries(corsHeaders)) response.headers.set(name, value)
  return response
}
