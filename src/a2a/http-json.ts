/** A2A 1.0's HTTP+JSON binding, built on the same operations as JSON-RPC. See docs/protocol/a2a.md, "HTTP+JSON". */
import type { Cards } from './cards/cards.ts'
import { codec10 } from './codec-10.ts'
import { EventStream, streamResponse } from './method-call.ts'
import { findMethod, runMethod } from './methods.ts'
import { admit, challenge, limitsOf, mediaTypes, requestedVersion, wrongMediaType } from './request.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { type Bodies, type BodyLimits, mediaType, parseBody } from '../lib/http/body.ts'
import type { Handler } from '../request-context.ts'
import { a2aHttpError, errorHeaders } from '../wire.ts'

/** The endpoints: the shared one, optionally with a tenant before the operation's path, and one per agent. */
const endpoints = ['/a2a/v1/grid', '/a2a/v1/grid/:tenant', '/a2a/v1/agents/:alias']

/**
 * The operations below an endpoint: HTTP method, path, and name in 1.0. Path parameters become params of the operation.
 * A verb after an id is part of the id's pattern, because Hono cannot match a verb directly after a parameter.
 */
const operations: [httpMethod: string, path: string, method: string][] = [
  ['POST', '/message:send', 'SendMessage'],
  ['POST', '/message:stream', 'SendStreamingMessage'],
  ['GET', '/tasks', 'ListTasks'],
  ['POST', '/tasks/:id{[^/]+:cancel}', 'CancelTask'],
  ['GET', '/tasks/:id{[^/]+:subscribe}', 'SubscribeToTask'],
  ['POST', '/tasks/:id{[^/]+:subscribe}', 'SubscribeToTask'],
  ['GET', '/tasks/:id{[^/:]+}', 'GetTask'],
  ['POST', '/tasks/:taskId/pushNotificationConfigs', 'CreateTaskPushNotificationConfig'],
  ['GET', '/tasks/:taskId/pushNotificationConfigs', 'ListTaskPushNotificationConfigs'],
  ['GET', '/tasks/:taskId/pushNotificationConfigs/:id', 'GetTaskPushNotificationConfig'],
  ['DELETE', '/tasks/:taskId/pushNotificationConfigs/:id', 'DeleteTaskPushNotificationConfig'],
  ['GET', '/extendedAgentCard', 'GetExtendedAgentCard'],
]

export function a2aHttpJson(
  authenticateCall: AuthenticateCall,
  deps: Deps,
  cards: Cards,
): [httpMethod: string, paths: string[], handler: Handler][] {
  return operations.map(([httpMethod, path, method]) => [
    httpMethod,
    endpoints.map((endpoint) => `${endpoint}${path}`),
    operation(method, path, authenticateCall, deps, cards),
  ])
}

function operation(
  method: string,
  path: string,
  authenticateCall: AuthenticateCall,
  deps: Deps,
  cards: Cards,
): Handler {
  const { config, bodies } = deps
  const names = paramNames(path)
  const hasVerb = /:\w+\}$/.test(path)
  const domain = new URL(config.baseUrl).hostname

  return async function a2aOperation(c) {
    const request = c.req.raw
    const headers: Record<string, string> = { 'Content-Type': answerType(request) }
    try {
      const aliases = [c.req.param('alias'), c.req.param('tenant')].filter((alias) => alias !== undefined)
      const admitted = await admit(authenticateCall, config, c, aliases)
      // Hono answers HEAD with the GET handler and drops the body, so a stream would never end.
      if (request.method === 'HEAD') throw new GridError('method_not_allowed', 'Use GET instead of HEAD.')
      requestedVersion(request)
      headers['A2A-Version'] = codec10.version
      if (admitted.extensions.length > 0) headers[codec10.extensionsHeader] = admitted.extensions.join(', ')

      const given = request.method === 'POST' ? await readBody(bodies, request, limitsOf(aliases)) : queryOf(request)
      const inPath = names.map((name) => [name, hasVerb ? c.req.param(name)?.replace(/:\w+$/, '') : c.req.param(name)])
      const params = { ...given, ...Object.fromEntries(inPath) }
      const result = await runMethod(findMethod(method).run, admitted, {
        cards: cards.ofCall(request),
        codec: codec10,
        method,
        params,
      })
      if (!(result instanceof EventStream)) return new Response(JSON.stringify(result), { headers })
      const { 'Content-Type': _, ...others } = headers
      return streamResponse(result, admitted.connection, others, (result) => result)
    } catch (error) {
      const gridError = c.get('trace').refusal(error)
      const { status, body } = a2aHttpError(gridError, domain)
      return new Response(JSON.stringify(body), {
        status,
        headers: { ...headers, ...errorHeaders(gridError), ...challenge(gridError) },
      })
    }
  }
}

/** Returns the error for an unknown path or method below the A2A endpoints; undefined elsewhere. */
export function a2aPathError({ baseUrl }: Config, path: string, error: GridError): Response | undefined {
  if (!path.startsWith('/a2a/v1/')) return undefined
  const isCard = path.startsWith('/a2a/v1/agents/.well-known/')
  const hint = isCard ? " An agent's address ends with a slash: use /a2a/v1/agents/{alias}/." : ''
  const { status, body } = a2aHttpError(new GridError(error.code, error.message + hint), new URL(baseUrl).hostname)
  return Response.json(body, { status })
}

function paramNames(path: string): string[] {
  return [...path.matchAll(/\/:(\w+)/g)].map(([, name]) => name)
}

/** Reads the body of a POST, which may be missing. */
async function readBody(bodies: Bodies, request: Request, limits: BodyLimits): Promise<object> {
  const type = mediaType(request)
  if (type !== '' && !mediaTypes.includes(type)) throw wrongMediaType()
  const text = await bodies.readText(request, limits)
  if (text === '') return {}
  if (type === '') throw wrongMediaType()
  const json = parseBody(text, limits)
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json
  throw new GridError('invalid_input', 'The body must be an object.', { field: 'body' })
}

/** Converts a query to params. */
function queryOf({ url }: Request): object {
  return Object.fromEntries(new URL(url).searchParams)
}

/** Returns the response's media type: the request's, or the one that the client accepts. */
function answerType(request: Request): string {
  const [, a2a] = mediaTypes
  const isA2a = mediaType(request) === a2a || request.headers.get('accept')?.includes(a2a)
  return isA2a ? a2a : mediaTypes[0]
}
