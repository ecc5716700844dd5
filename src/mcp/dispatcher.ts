/** The MCP methods of both eras: each takes one JSON-RPC message. MCP 2025-03-26 to 2026-07-28. */
import { numberOf } from '../lib/text.ts'
import * as z from 'zod'
import {
  isSpecType,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  ResourceNotFoundError,
  SERVER_INFO_META_KEY,
  type SpecTypeName,
} from '@modelcontextprotocol/server'
import type { ErrorKind, GridError } from '../errors.ts'
import type { Lease } from '../grid/messaging/read-messages.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import type { CallTrace } from '../call-trace.ts'
import { names } from '../lib/http/accept.ts'
import { formLimits, unkeptNumber } from '../lib/http/body.ts'
import { eventStreamType } from '../lib/http/event-stream.ts'
import { fromText } from '../lib/given-arguments.ts'
import { parse } from '../lib/input.ts'
import {
  asMeant,
  type Era,
  eraOf,
  legacyRevisions,
  listCache,
  modernRevisions,
  noCache,
  RefusedMessage,
  type RpcAnswer,
  serverError,
  serverInfo,
} from './protocol.ts'
import { inboxUri } from './resources.ts'
import { lateAnswer, listenStream } from './streams.ts'
import type { Toolset } from './toolset.ts'

/** The longest wait without an event stream. Every proxy and runtime tolerates this much silence. */
const maxSilentSeconds = 20

/** A request with a known method and parsed parameters. */
interface Call<Params> {
  era: Era
  id: RequestId
  params: Params
  headers: Headers
  toolset: Toolset
  trace: CallTrace
  refused: GridError | undefined
}

interface Method<Params> {
  /** The member of the toolset that the method requires. Callers without it cannot use the method. */
  needs?: 'resources' | 'prompts' | 'inbox'
  /** The parameters that the method reads. Error messages name the field. */
  params: z.ZodType<Params>
  /** The SDK schema that the parameters must also match. */
  spec?: SpecTypeName
  /** Fails with a `ProtocolError` or a `GridError`. */
  answer(call: Call<Params>): RpcAnswer | Response | Promise<RpcAnswer | Response>
}

/** Checks that the types of `params` and `answer` match, then erases the type parameter. */
function method<Params>(method: Method<Params>): Method<unknown> {
  return method as Method<unknown>
}

const anObject = z.looseObject({})
const page = z.object({ cursor: z.string().optional() })
const resource = z.object({ uri: z.string(), requestState: z.string().optional() })
const named = z.object({ name: z.string(), arguments: anObject.optional(), requestState: z.string().optional() })
/** The only field that the grid uses. */
const client = z.object({ protocolVersion: z.string() })
const subscription = z.object({
  notifications: z.object({ resourceSubscriptions: z.array(z.string()).optional() }),
})

const ofBothEras: Record<string, Method<unknown>> = {
  'tools/list': method({ params: page, answer: (call) => result(call, { tools: call.toolset.tools }, listCache) }),
  'tools/call': method({ params: named, answer: callTool }),
  'resources/list': method({
    needs: 'resources',
    params: page,
    answer: (call) => result(call, { resources: call.toolset.resources!.listed }, listCache),
  }),
  'resources/templates/list': method({
    needs: 'resources',
    params: page,
    answer: (call) => result(call, { resourceTemplates: [] }, listCache),
  }),
  'resources/read': method({ needs: 'resources', params: resource, answer: readResource }),
  'prompts/list': method({
    needs: 'prompts',
    params: page,
    answer: (call) => result(call, { prompts: call.toolset.prompts!.listed }, listCache),
  }),
  'prompts/get': method({
    needs: 'prompts',
    params: named,
    spec: 'GetPromptRequestParams',
    answer: async (call) => result(call, await call.toolset.prompts!.get(call.params.name, call.params.arguments)),
  }),
}

const subscribe = method({ needs: 'resources', params: z.object({ uri: z.string() }), answer: subscribeToInbox })

const methods: Record<Era, ReadonlyMap<string, Method<unknown>>> = {
  legacy: new Map(Object.entries({
    ...ofBothEras,
    initialize: method({ params: client, answer: initialize }),
    ping: method({ params: z.object({}), answer: (call) => result(call, {}) }),
    'resources/subscribe': subscribe,
    'resources/unsubscribe': subscribe,
  })),
  modern: new Map(Object.entries({
    ...ofBothEras,
    'server/discover': method({
      params: z.object({}),
      answer: async (call) =>
        result(call, { supportedVersions: modernRevisions, ...await introduction(call.toolset) }, noCache),
    }),
    'subscriptions/listen': method({
      needs: 'inbox',
      params: subscription,
      spec: 'SubscriptionsListenRequestParams',
      answer: listen,
    }),
  })),
}

export interface ReceivedMessage {
  message: unknown
  /** Why the message must be refused although it was parsed. */
  refused?: GridError
}

export async function dispatch(
  headers: Headers,
  { message: given, refused }: ReceivedMessage,
  toolset: Toolset,
  trace: CallTrace,
): Promise<RpcAnswer | Response> {
  let message = given
  try {
    message = asMeant(given)
    const era = eraOf(headers, message)
    if (era !== undefined) return await answerRequest(era, headers, message as JSONRPCRequest, toolset, trace, refused)
    await recordRefusal(message, toolset)
    return new Response(null, { status: 202 })
  } catch (error) {
    // A failing tool returns a result. An error here therefore means that no tool has run.
    await recordRefusal(message, toolset)
    return refusal(error, message, trace)
  }
}

function answerRequest(
  era: Era,
  headers: Headers,
  { id, method: name, params = {} }: JSONRPCRequest,
  toolset: Toolset,
  trace: CallTrace,
  refused: GridError | undefined,
): RpcAnswer | Response | Promise<RpcAnswer | Response> {
  const method = methods[era].get(name)
  if (!method || (method.needs && !toolset[method.needs])) {
    throw new RefusedMessage(era === 'modern' ? 404 : 200, ProtocolErrorCode.MethodNotFound, 'Method not found')
  }
  trace.tool = name
  // The refusal of a tool call is returned as the tool's result, because models see no other errors.
  if (refused && name !== 'tools/call') throw refused
  const checked = parse(method.params, params)
  if (method.spec && !isSpecType[method.spec](params)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `The parameters of ${name} do not match the MCP specification.`,
    )
  }
  return method.answer({ era, id, params: checked, headers, toolset, trace, refused })
}

/** The fields that the modern era adds to every result. */
const modernResult = { resultType: 'complete', _meta: { [SERVER_INFO_META_KEY]: serverInfo } }

/** Creates a result. `cache` is used only in the modern era. */
function result({ era, id }: Call<unknown>, value: object, cache?: object, lease?: Lease): RpcAnswer {
  const result = era === 'modern' ? { ...value, ...cache, ...modernResult } : value
  return { body: { jsonrpc: '2.0', id, result }, status: 200, lease }
}

function callTool(call: Call<z.output<typeof named>>): Promise<RpcAnswer> | Response {
  const { headers, toolset, trace, refused, params: { name, arguments: args } } = call
  const { inbox } = toolset
  const isLate = inbox !== undefined && waitsLong(args) && canBeForgotten(headers) && names(headers, eventStreamType)
  const field = refused?.details.field?.replace(/^params\.arguments\./, '')
  const running = toolset.call(
    name,
    args,
    isLate ? maxWaitSeconds : maxSilentSeconds,
    field === undefined ? undefined : unkeptNumber(field),
  )
  if (!running) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}. ${toolset.whyUnknown(name)}`)
  }
  const answer = running.then((outcome) => result(call, outcome.result, undefined, outcome.lease))
  if (!isLate) return answer
  trace.ended = answer
  return lateAnswer(answer, inbox.connection)
}

/** Whether a call waits so long that its answer must be a stream. */
function waitsLong(args: Record<string, unknown> | undefined): boolean {
  const given = args?.wait_seconds
  return numberOf(typeof given === 'string' ? fromText(given, 'integer') : given) > maxSilentSeconds
}

/**
 * Whether the response to a call may begin before its result is ready. This is limited to calls with small bodies,
 * because a body counts as in flight until the response begins. See docs/security.md, "Overload".
 */
function canBeForgotten(headers: Headers): boolean {
  return Number(headers.get('content-length') ?? 0) <= formLimits.maxBytes
}

async function readResource(call: Call<z.output<typeof resource>>): Promise<RpcAnswer> {
  const { uri } = call.params
  const text = call.toolset.resources!.read(uri)
  if (!text) throw new ResourceNotFoundError(uri)
  return result(call, { contents: [{ uri, mimeType: 'application/json', text: await text }] }, noCache)
}

/** Stores no subscription, because every open stream of the agent reports its inbox changes. */
function subscribeToInbox(call: Call<{ uri: string }>): RpcAnswer {
  if (call.params.uri !== inboxUri) throw new ResourceNotFoundError(call.params.uri)
  return result(call, {})
}

function listen({ id, toolset, params: { notifications } }: Call<z.output<typeof subscription>>): Response {
  const hearsInbox = notifications.resourceSubscriptions?.includes(inboxUri) ?? false
  return listenStream(id, hearsInbox, toolset.inbox!)
}

async function initialize(call: Call<z.output<typeof client>>): Promise<RpcAnswer> {
  const asked = call.params.protocolVersion
  const protocolVersion = legacyRevisions.includes(asked) ? asked : legacyRevisions[0]
  return result(call, { protocolVersion, serverInfo, ...await introduction(call.toolset) })
}

async function introduction(toolset: Toolset) {
  const { resources, prompts } = toolset
  const capabilities = {
    tools: {},
    ...(resources && { resources: { subscribe: true } }),
    ...(prompts && { prompts: {} }),
  }
  return { capabilities, instructions: await toolset.instructions() }
}

async function recordRefusal(message: unknown, toolset: Toolset): Promise<void> {
  const { method, params } = Object(message)
  if (method === 'tools/call') await toolset.recordRefusal?.(params)
}

function refusal(error: unknown, message: unknown, trace: CallTrace): RpcAnswer {
  const refused = error instanceof ProtocolError ? error : asProtocolError(trace.refusal(error))
  const { code, message: text, data } = refused
  trace.code ??= String(code)
  return {
    body: { jsonrpc: '2.0', id: idOf(message), error: { code, message: text, data } },
    status: error instanceof RefusedMessage ? error.status : 200,
  }
}

function idOf(message: unknown): RequestId | null {
  const { method, id } = Object(message)
  return typeof method === 'string' && (typeof id === 'string' || Number.isSafeInteger(id)) ? id : null
}

const codes: Partial<Record<ErrorKind, number>> = {
  limited: serverError,
  internal: ProtocolErrorCode.InternalError,
  unavailable: ProtocolErrorCode.InternalError,
}

function asProtocolError({ kind, code, message, details }: GridError): ProtocolError {
  // The error has the same format as `rpcFrameError` in `wire.ts`.
  const data = kind === 'limited' ? { code, retry_after_seconds: details.retryAfterSeconds } : undefined
  return new ProtocolError(codes[kind] ?? ProtocolErrorCode.InvalidParams, message, data)
}
