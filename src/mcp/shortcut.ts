/**
 * The short path of the MCP endpoint: `tools/call` and `tools/list` of exact shape, in both eras, without the SDK. It
 * declines every other message, and then the SDK answers. A test proves that both answer alike.
 * MCP 2025-03-26 to 2026-07-28.
 */
import type { Lease } from '../grid/messaging/leases.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import { fromText } from './arguments.ts'
import { legacyRevisions, listCache, metaPrefix, modernRevisions, serverInfo } from './protocol.ts'
import { maxSilentSeconds, type Toolset } from './toolset.ts'

type Json = Record<string, unknown>

const modern = new Set(modernRevisions)
const legacy = new Set(legacyRevisions)
const versionKey = `${metaPrefix}protocolVersion`
const capabilitiesKey = `${metaPrefix}clientCapabilities`
const clientKey = `${metaPrefix}clientInfo`

/** Parameters that ask for more than a plain answer. */
const unusualParams = ['cursor', 'task', 'inputResponses', 'requestState']

/** What the modern era adds to every result. */
const modernResult = { resultType: 'complete', _meta: { [`${metaPrefix}serverInfo`]: serverInfo } }

/** A request for a plain answer. */
interface PlainRequest {
  id: string | number
  method: 'tools/call' | 'tools/list'
  params?: unknown
}

interface PlainParams {
  /** Of a call. */
  name: string
  arguments?: Json
  _meta?: Json
}

/** A JSON-RPC answer, and the lease on the messages in it. */
export interface RpcAnswer {
  message: Json
  lease?: Lease
}

/** The answer, or undefined when the request is not of the exact shape or names no tool of the caller. */
export function shortcut(headers: Headers, message: unknown, toolset: Toolset): Promise<RpcAnswer> | undefined {
  if (!takesJson(headers) || !isPlainRequest(message)) return undefined
  const { id, method, params = {} } = message
  if (!isPlainParams(params, method)) return undefined
  const era = eraOf(headers, method, params)
  if (era === undefined) return undefined

  const answer = (result: object, lease?: Lease): RpcAnswer => {
    return {
      message: { jsonrpc: '2.0', id, result: era === 'modern' ? { ...result, ...modernResult } : result },
      lease,
    }
  }
  if (method === 'tools/call') {
    return toolset.call(params.name, params.arguments, maxWaitSeconds)?.then(({ result, lease }) =>
      answer(result, lease)
    )
  }
  return Promise.resolve(answer(era === 'modern' ? { tools: toolset.tools, ...listCache } : { tools: toolset.tools }))
}

/** Whether a message asks for a longer wait than an answer in one piece may take. */
export function waitsLong(message: unknown): boolean {
  const given = waitOf(message)
  const seconds = typeof given === 'string' ? fromText(given, 'integer') : given
  return typeof seconds === 'number' && seconds > maxSilentSeconds && seconds <= maxWaitSeconds
}

function waitOf(message: unknown): unknown {
  const params = (message as { params?: { name?: unknown; arguments?: { wait_seconds?: unknown } } } | null)?.params
  return params?.name === 'read_messages' ? params.arguments?.wait_seconds : undefined
}

/** With the members of a JSON-RPC request and no others. */
function isPlainRequest(message: unknown): message is PlainRequest {
  if (!isObject(message) || message.jsonrpc !== '2.0') return false
  const { id, method } = message
  if (method !== 'tools/call' && method !== 'tools/list') return false
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return false
  return Object.keys(message).length === ('params' in message ? 4 : 3)
}

function isPlainParams(params: unknown, method: PlainRequest['method']): params is PlainParams {
  if (!isObject(params) || unusualParams.some((name) => name in params)) return false
  if (params._meta !== undefined && !isObject(params._meta)) return false
  if (method === 'tools/list') return true
  return typeof params.name === 'string' && (params.arguments === undefined || isObject(params.arguments))
}

/** JSON in, and both types acceptable out, as the transport has demanded since 2025-03-26. */
function takesJson(headers: Headers): boolean {
  const accept = headers.get('accept')
  return /^application\/json(; *charset=utf-8)?$/i.test(headers.get('content-type') ?? '') &&
    accept !== null && accept.includes('application/json') && accept.includes('text/event-stream')
}

/** The era of a request whose headers and `_meta` agree in every point; otherwise undefined. */
function eraOf(headers: Headers, method: PlainRequest['method'], { name, _meta: meta = {} }: PlainParams) {
  if (!isProgressToken(meta.progressToken)) return undefined
  const version = headers.get('mcp-protocol-version')
  const ownKeys = Object.keys(meta).filter((key) => key.startsWith(metaPrefix))
  if (ownKeys.length === 0) return version === null || legacy.has(version) ? 'legacy' : undefined

  if (version === null || !modern.has(version) || meta[versionKey] !== version) return undefined
  if (headers.get('mcp-method') !== method) return undefined
  if (method === 'tools/call' && headers.get('mcp-name') !== name) return undefined
  const { [capabilitiesKey]: capabilities, [clientKey]: client } = meta
  if (!isObject(capabilities) || !Object.entries(capabilities).every(isCapability)) return undefined
  if (clientKey in meta && !isClientInfo(client)) return undefined
  return ownKeys.length === (clientKey in meta ? 3 : 2) ? 'modern' : undefined
}

function isProgressToken(token: unknown): boolean {
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

/** A capability as clients declare it: an object of objects. `listChanged` of roots is the one flag in use. */
function isCapability([name, value]: [string, unknown]): boolean {
  return isObject(value) &&
    Object.entries(value).every(([key, inner]) =>
      name === 'roots' && key === 'listChanged'
        ? typeof inner === 'boolean'
        : isObject(inner) && !('applyDefaults' in inner)
    )
}

function isClientInfo(info: unknown): boolean {
  return isObject(info) && typeof info.name === 'string' && typeof info.version === 'string' && !('icons' in info) &&
    Object.values(info).every((value) => typeof value === 'string')
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
