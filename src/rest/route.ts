/** A route of the REST side: what it does, and what the OpenAPI document says of it. `routes.ts` lists them all. */
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
  /** The media type of content that is not JSON. */
  content?: string
  headers?: Record<string, string>
}

/** The description of a route in the document. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As OpenAPI writes it, with `{name}` for a parameter. */
  path: string
  id: string
  tag: string
  summary: string
  description?: string
  /** Absent for a call without a credential. */
  caller?: Caller
  /** Parameters of the path and their descriptions. */
  parameters?: Record<string, string>
  query?: z.ZodType
  /** Request headers and their descriptions. */
  headers?: Record<string, string>
  body?: z.ZodType
  /** The media type of a body that is not JSON, which the route reads itself. */
  bytes?: string
  /** Of a body, if not those of every call. */
  limits?: BodyLimits
  isBodyOptional?: boolean
  /**
   * Other arguments are refused: without the one that was meant, the call does more. The default for a route whose answer
   * cannot name what was ignored.
   */
  isStrict?: boolean
  /** By status. The first one is the status of an answer in JSON. */
  answers: Record<number, Answer>
  /** Its own errors, besides those of every call, of its credential and of a body. */
  errors?: readonly ErrorCode[]
  /** Pages of any origin may call it, with a credential of their own. */
  isOpenToPages?: true
}

// Schemas that several answers share.
export const time = (description: string) => z.string().meta({ format: 'date-time', description })
export const flag = (description: string) => z.literal(true).optional().describe(description)
export const unread = (description: string) =>
  z.int().min(0).max(100).describe(`${description}; 100 stands for 100 or more`)
export const names = z.array(z.string())

export const turns = {
  turns: z.int().optional().describe('The turns of the conversation without input from outside'),
  note: z.string().optional().describe('What to do about them'),
}

export interface Call<Query, Body> {
  account: AccountStore
  c: AppContext
  params: Record<string, string>
  query: Query
  body: Body
  /** Authenticates again, for a call that runs long. */
  check(): Promise<AccountStore>
}

type Serve<Query, Body> = (call: Call<Query, Body>) => unknown

export interface Route extends Operation {
  /** The activity log has each call under this name. `named` replaces the parameters of the path among its arguments. */
  recordedAs?: string
  named?(account: AccountStore, params: Record<string, string>): object | Promise<object>
  /** Answers a checked call: a `Response`, or the JSON of the first answer. */
  serve?: Serve<never, never>
  /** A route without a credential has a handler of its own. */
  open?(store: Store): Handler
}

/** A route whose `serve` gets the types of its schemas. */
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
 * The handler of a route. Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential`,
 * `agent_token_required`, `invalid_input`, as `readJsonObject` does, or as the route does.
 */
export function handlerOf(
  route: Route,
  store: Store,
  authenticate: { call: AuthenticateCall; key: AuthenticateCall },
): Handler {
  const { caller, query, body, limits, recordedAs, named, serve } = route
  if (!serve) return route.open!(store)
  const [status] = Object.keys(route.answers).map(Number)
  // Not a stream, nor a body that the route reads.
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

/** Reads what agents give as it is meant. What admins give is taken to the letter: null and empty texts may clear a value. */
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

/** No body means no fields. */
async function readBody(bodies: Bodies, request: Request, limits = apiLimits): Promise<Record<string, unknown>> {
  const { headers } = request
  const isEmpty = (headers.get('content-length') ?? '0') === '0' && !headers.has('transfer-encoding')
  if (isEmpty && (request.body === null || !headers.has('content-type'))) return {}
  return await readJsonObject(bodies, request, limits)
}

/**
 * Read the JSON object in a body. Fails with `unsupported_media_type`, `payload_too_large`, `malformed_json`,
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
