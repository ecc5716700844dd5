/** A REST route: its behaviour and its description in the OpenAPI document. `routes.ts` lists all routes. */
import * as z from 'zod'
import { callingAgent, requireAdmin } from '../auth/actor.ts'
import type { AuthenticateCall, AuthenticatedCall } from '../auth/bearer.ts'
import { type ErrorCode, GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import { apiLimits, type Bodies, type BodyLimits, mediaType, parseBody } from '../lib/http/body.ts'
import { bearerToken } from '../lib/http/client-address.ts'
import {
  type Arguments,
  type ArgumentSchema,
  isObject,
  type ReadArguments,
  readArguments,
} from '../lib/given-arguments.ts'
import { parse } from '../lib/input.ts'
import { once } from '../lib/lazy.ts'
import { keyPrefixes } from '../lib/secrets.ts'
import type { AppContext, Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'

export type Caller = 'agent key' | 'agent' | 'admin' | 'agent access token'

export interface Answer {
  description: string
  json?: z.ZodType
  /** The media type of content other than JSON. */
  content?: string
  headers?: Record<string, string>
}

/** The route's description in the OpenAPI document. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path in OpenAPI syntax, with `{name}` for a parameter. */
  path: string
  id: string
  tag: string
  summary: string
  description?: string
  /** Undefined for calls without a credential. */
  caller?: Caller
  /** Path parameters and their descriptions. */
  parameters?: Record<string, string>
  query?: z.ZodType
  /** Request headers and their descriptions. */
  headers?: Record<string, string>
  body?: z.ZodType
  /** The media type of a body other than JSON, which the route reads itself. */
  bytes?: string
  /** Body limits, if they differ from the default. */
  limits?: BodyLimits
  isBodyOptional?: boolean
  /**
   * Whether unknown arguments are rejected, because a call without the intended argument would do more than intended.
   * Default: true for routes whose responses cannot list ignored arguments.
   */
  isStrict?: boolean
  /** The responses by status. The first status is that of JSON responses. */
  answers: Record<number, Answer>
  /** Errors specific to the route, in addition to general errors and those of the credential and the body. */
  errors?: readonly ErrorCode[]
  /** Whether pages of any origin may call the route, which is safe because each request has its own credential. */
  isOpenToPages?: true
}

// Schemas that several responses use.
export const time = (description: string) => z.string().meta({ format: 'date-time', description })
export const flag = (description: string) => z.literal(true).optional().describe(description)
export const unread = (description: string) =>
  z.int().min(0).max(100).describe(`${description}; 100 stands for 100 or more`)
export const names = z.array(z.string())

export const turns = {
  turns: z.int().optional().describe('How many turns the conversation took without outside input'),
  note: z.string().optional().describe('What to do about a long conversation'),
}

export interface Call<Query, Body> {
  account: AccountStore
  c: AppContext
  params: Record<string, string>
  query: Query
  body: Body
  /** Authenticates a long-running call again. */
  check(): Promise<AccountStore>
}

type Serve<Query, Body> = (call: Call<Query, Body>) => unknown

export interface Route extends Operation {
  /** The name of the call in the activity log. `named` replaces the path parameters in the recorded arguments. */
  recordedAs?: string
  named?(account: AccountStore, params: Record<string, string>): object | Promise<object>
  /** Handles a validated call. Returns a `Response`, or the JSON for the first of `answers`. */
  serve?: Serve<never, never>
  /** Creates the handler of a route without a credential. */
  open?(store: Store): Handler
}

/** Declares a route whose `serve` is typed by its schemas. */
export function route<Query, Body>(
  route: Omit<Route, 'serve' | 'query' | 'body'> & {
    query?: z.ZodType<Query>
    body?: z.ZodType<Body>
    serve: Serve<Query, Body>
  },
): Route {
  return route as Route
}

/**
 * Creates a route's handler. Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential`,
 * `agent_token_required`, `invalid_input`, like `readJsonObject`, or like the route.
 */
export function handlerOf(
  route: Route,
  store: Store,
  authenticate: { call: AuthenticateCall; key: AuthenticateCall },
): Handler {
  const { caller, query, body, limits, recordedAs, named, serve } = route
  if (!serve) return route.open!(store)
  const [status] = Object.keys(route.answers).map(Number)
  // Streams, and bodies that the route reads itself, are not short.
  const isShort = route.answers[status].json !== undefined && route.bytes === undefined
  const [readQuery, readFields] = [readerOf(route, query), readerOf(route, body)]

  return async function rest(c) {
    const call = await (caller === 'agent key' ? authenticate.key(c) : authenticate.call(c))
    requireCaller(caller!, call, c.req.raw)
    const params = c.req.param() as Record<string, string>
    const givenQuery = query && Object.fromEntries(new URL(c.req.url).searchParams)
    const givenBody = body && await readBody(store.deps.bodies, c.req.raw, limits)

    const answer = async (account: AccountStore): Promise<unknown> => {
      const [asked, sent] = [readQuery(givenQuery), readFields(givenBody)]
      const input = { query: query && parse(query, asked.args), body: body && parse(body, sent.args) }
      const answered = await serve({ account, c, params, check: call.check, ...input as { query: never; body: never } })
      const remarks = { ...asked.remarks, ...sent.remarks }
      return isObject(answered) && !(answered instanceof Response) ? { ...answered, ...remarks } : answered
    }
    const recorded = async (account: AccountStore) => {
      if (recordedAs === undefined) return await answer(account)
      const args = { ...await (named ?? asGiven)(account, params), ...givenQuery, ...givenBody }
      const entry = { tool: recordedAs, arguments: args, requestId: c.get('trace').requestId }
      return await recordActivity(account, entry, answer)
    }
    const answered = isShort ? await call.serve(recorded) : await recorded(await call.caller())
    return answered instanceof Response ? answered : Response.json(answered, { status })
  }
}

/**
 * Interprets agents' input leniently. Admins' input is taken literally, because null and empty strings may clear a
 * value.
 */
function readerOf(
  { caller, method, path, answers, isStrict = !Object.values(answers)[0].json }: Route,
  schema?: z.ZodType,
): (given: Arguments | undefined) => ReadArguments {
  const published = once(() => z.toJSONSchema(schema!, { io: 'input', unrepresentable: 'any' }) as ArgumentSchema)
  const rules = { call: `${method} ${path}`, isStrict }
  return (given = {}) =>
    schema && caller !== 'admin' ? readArguments(published(), given, rules) : { args: given, remarks: {} }
}

const asGiven = (_account: AccountStore, params: Record<string, string>) => params

function requireCaller(caller: Caller, { actor }: Pick<AuthenticatedCall, 'actor'>, { headers }: Request): void {
  if (caller === 'admin') return requireAdmin(actor)
  if (caller !== 'agent access token') return void callingAgent(actor)
  const isAccessToken = bearerToken(headers.get('authorization'))?.startsWith(keyPrefixes.access_token)
  if (actor.type !== 'agent' || !isAccessToken) {
    throw new GridError('agent_token_required', 'This endpoint requires the OAuth access token of an agent.')
  }
}

/** Reads a body. A missing body counts as an empty object. */
async function readBody(bodies: Bodies, request: Request, limits = apiLimits): Promise<Record<string, unknown>> {
  const { headers } = request
  const isEmpty = (headers.get('content-length') ?? '0') === '0' && !headers.has('transfer-encoding')
  if (isEmpty && (request.body === null || !headers.has('content-type'))) return {}
  return await readJsonObject(bodies, request, limits)
}

/**
 * Reads a body's JSON object. Fails with `unsupported_media_type`, `payload_too_large`, `malformed_json`,
 * `invalid_request` or `unavailable`.
 */
export async function readJsonObject(
  bodies: Bodies,
  request: Request,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  if (mediaType(request) !== 'application/json') {
    throw new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
  }
  const body = parseBody(await bodies.readText(request, limits), limits)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new GridError('invalid_request', 'The body must be a JSON object.')
  }
  return body as Record<string, unknown>
}
