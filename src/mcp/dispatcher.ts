/** Every MCP method of both eras: one JSON-RPC message in, its answer out. MCP 2025-03-26 to 2026-07-28. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isJsonContentType,
  isSpecType,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type RequestId,
  ResourceNotFoundError,
  SERVER_INFO_META_KEY,
  type SpecTypeName,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { ErrorKind } from '../errors.ts'
import type { Lease } from '../grid/messaging/read-messages.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import { formLimits } from '../lib/http/body.ts'
import { parse } from '../lib/input.ts'
import type { Log } from '../lib/log.ts'
import { asGridError } from '../wire.ts'
import { fromText } from './arguments.ts'
import { type Era, eraOf } from './era.ts'
import {
  legacyRevisions,
  listCache,
  modernRevisions,
  namedBy,
  noCache,
  RefusedMessage,
  type RpcAnswer,
  serverError,
  serverInfo,
} from './protocol.ts'
import { inboxUri } from './resources.ts'
import { lateAnswer, listenStream } from './streams.ts'
import type { Toolset } from './toolset.ts'

/** The longest wait of an answer in one piece. Every proxy and runtime tolerates this silence. */
const maxSilentSeconds = 20

/** A request whose method and parameters are known. */
interface Call<Params> {
  era: Era
  id: RequestId
  params: Params
  headers: Headers
  toolset: Toolset
}

interface Method<Params> {
  /** Callers whose toolset lacks it do not have the method. */
  needs?: 'resources' | 'prompts' | 'inbox'
  /** What it needs of its parameters. Errors name the field. */
  params: z.ZodType<Params>
  /** What else MCP says of them. */
  spec?: SpecTypeName
  /** Fails with a `ProtocolError` or a `GridError`. */
  answer(call: Call<Params>): RpcAnswer | Response | Promise<RpcAnswer | Response>
}

/** Forgets the type of the parameters, on which `params` and `answer` agree. */
function method<Params>(method: Method<Params>): Method<unknown> {
  return method as Method<unknown>
}

const anObject = z.looseObject({})
const page = z.object({ cursor: z.string().optional() })
const resource = z.object({ uri: z.string(), requestState: z.string().optional() })
const named = z.object({ name: z.string(), arguments: anObject.optional(), requestState: z.string().optional() })
const client = z.object({
  protocolVersion: z.string(),
  capabilities: anObject,
  clientInfo: z.object({ name: z.string(), version: z.string() }),
})
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
    initialize: method({ params: client, spec: 'InitializeRequestParams', answer: initialize }),
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

/** Answer one parsed message from the toolset of its caller. */
export async function dispatch(
  headers: Headers,
  message: unknown,
  toolset: Toolset,
  log: Log,
): Promise<RpcAnswer | Response> {
  try {
    const era = plainEra(headers, message) ?? eraOf(headers, message, acceptsBoth(headers))
    if (era !== undefined) return await answerRequest(era, headers, message as JSONRPCRequest, toolset)
    await recordRefusal(message, toolset)
    return new Response(null, { status: 202 })
  } catch (error) {
    // What a tool fails with is a result, so no tool has run.
    await recordRefusal(message, toolset)
    return refusal(error, message, log)
  }
}

/**
 * The era of a request whose body and headers are plainly of one. `eraOf` would say the same, at a fiftieth of the cost of
 * a call that reads nothing.
 */
export function plainEra(headers: Headers, message: unknown): Era | undefined {
  if (!acceptsBoth(headers) || !isJsonContentType(headers.get('content-type'))) return undefined
  if (!isPlainRequest(message)) return undefined
  const { method, params } = message
  const version = headers.get('mcp-protocol-version')
  const meta = params?._meta
  if (!meta || !(PROTOCOL_VERSION_META_KEY in meta)) {
    return version === null || legacyRevisions.includes(version) ? 'legacy' : undefined
  }
  const { [PROTOCOL_VERSION_META_KEY]: revision, [CLIENT_CAPABILITIES_META_KEY]: capabilities } = meta
  if (version === null || version !== revision || !modernRevisions.includes(version)) return undefined
  if (headers.get('mcp-method') !== method || LOG_LEVEL_META_KEY in meta) return undefined
  const parameter = namedBy.get(method)
  if (parameter !== undefined && headers.get('mcp-name') !== params[parameter]) return undefined
  if (CLIENT_INFO_META_KEY in meta && !isSpecType.Implementation(meta[CLIENT_INFO_META_KEY])) return undefined
  return isSpecType.ClientCapabilities(capabilities) ? 'modern' : undefined
}

/** With the members of a request and no others, and without what MCP 2025-11-25 has in `_meta` for tasks. */
function isPlainRequest(message: unknown): message is JSONRPCRequest {
  if (!isObject(message) || message.jsonrpc !== '2.0' || typeof message.method !== 'string') return false
  const { id, params } = message
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return false
  if (Object.keys(message).length !== ('params' in message ? 4 : 3)) return false
  if (params === undefined) return true
  if (!isObject(params)) return false
  const { _meta: meta } = params
  if (meta === undefined) return true
  if (!isObject(meta) || RELATED_TASK_META_KEY in meta) return false
  const token = meta.progressToken
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether an answer may be JSON or an event stream, as the transport has demanded since 2025-03-26. */
function acceptsBoth(headers: Headers): boolean {
  const accept = headers.get('accept')
  return accept !== null && accept.includes('application/json') && accept.includes('text/event-stream')
}

function answerRequest(
  era: Era,
  headers: Headers,
  { id, method: name, params = {} }: JSONRPCRequest,
  toolset: Toolset,
): RpcAnswer | Response | Promise<RpcAnswer | Response> {
  const method = methods[era].get(name)
  if (!method || (method.needs && !toolset[method.needs])) {
    throw new RefusedMessage(era === 'modern' ? 404 : 200, ProtocolErrorCode.MethodNotFound, 'Method not found')
  }
  const checked = parse(method.params, params)
  if (method.spec && !isSpecType[method.spec](params)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The parameters of ${name} are not as MCP defines them.`)
  }
  return method.answer({ era, id, params: checked, headers, toolset })
}

/** What the modern era adds to every result. */
const modernResult = { resultType: 'complete', _meta: { [SERVER_INFO_META_KEY]: serverInfo } }

/** `cache` is for the modern era, too. */
function result({ era, id }: Call<unknown>, value: object, cache?: object, lease?: Lease): RpcAnswer {
  const result = era === 'modern' ? { ...value, ...cache, ...modernResult } : value
  return { body: { jsonrpc: '2.0', id, result }, status: 200, lease }
}

function callTool(call: Call<z.output<typeof named>>): Promise<RpcAnswer> | Response {
  const { headers, toolset, params: { name, arguments: args } } = call
  const { inbox } = toolset
  // The answer to a long wait is a stream.
  const isLate = inbox !== undefined && waitsLong(name, args) && canBeForgotten(headers) && acceptsBoth(headers)
  const running = toolset.call(name, args, isLate ? maxWaitSeconds : maxSilentSeconds)
  if (!running) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}. ${toolset.whyUnknown(name)}`)
  }
  const answer = running.then((outcome) => result(call, outcome.result, undefined, outcome.lease))
  return isLate ? lateAnswer(answer, inbox.connection) : answer
}

/** Whether a call asks for a longer wait than an answer in one piece may take. */
function waitsLong(tool: string, args: Record<string, unknown> | undefined): boolean {
  if (tool !== 'read_messages') return false
  const given = args?.wait_seconds
  const seconds = typeof given === 'string' ? fromText(given, 'integer') : given
  return typeof seconds === 'number' && seconds > maxSilentSeconds && seconds <= maxWaitSeconds
}

/**
 * Whether the body of a request is small enough to be forgotten: a body counts as in flight only until its answer begins.
 * See docs/security.md, "Bodies in flight".
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

/** Nothing is stored: every open stream of the agent tells of its inbox. */
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

/** What a client that connects is told. */
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

function refusal(error: unknown, message: unknown, log: Log): RpcAnswer {
  // The client's fault.
  if (error instanceof RefusedMessage) log.debug('An MCP message was refused', { error })
  const { code, message: text, data } = error instanceof ProtocolError ? error : asProtocolError(error, log)
  return {
    body: { jsonrpc: '2.0', id: idOf(message), error: { code, message: text, data } },
    status: error instanceof RefusedMessage ? error.status : 200,
  }
}

/** The id of a message that may not be a request. */
function idOf(message: unknown): RequestId | null {
  const { method, id } = Object(message)
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null
}

const codes: Partial<Record<ErrorKind, number>> = {
  limited: serverError,
  internal: ProtocolErrorCode.InternalError,
  unavailable: ProtocolErrorCode.InternalError,
}

function asProtocolError(error: unknown, log: Log): ProtocolError {
  const { kind, code, message, details } = asGridError(error, log)
  // As `rpcFrameError` in `wire.ts` says it.
  const data = kind === 'limited' ? { code, retry_after_seconds: details.retryAfterSeconds } : undefined
  return new ProtocolError(codes[kind] ?? ProtocolErrorCode.InvalidParams, message, data)
}
