/** MCP revisions and eras, and validation of message headers. */
import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  isInitializeRequest,
  isJsonContentType,
  isJSONRPCRequest,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server'
import type { Lease } from '../grid/messaging/read-messages.ts'
import { fromBase64, toBase64 } from '../lib/encoding.ts'
import { fromText, isObject } from '../lib/given-arguments.ts'
import { version } from '../lib/version.ts'

/** Revisions that start with `initialize`, newest first. A request for an unknown revision gets the first one. */
export const legacyRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Revisions whose requests each contain the version, the capabilities and the client. */
export const modernRevisions: readonly string[] = ['2026-07-28']

export const serverInfo = { name: 'agent-grid', version }

/** Cache settings for lists, which depend on the credential and otherwise change only with a deployment. */
export const listCache = { ttlMs: 60_000, cacheScope: 'private' } as const
/** For resources and instructions, which may change at any time. */
export const noCache = { ttlMs: 0, cacheScope: 'private' } as const

/** The parameter that the header `Mcp-Name` duplicates, by method. */
const namedBy: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** The code for exhausted limits and refused headers, from the range that JSON-RPC reserves for servers. */
export const serverError = -32000
/** Missing from the SDK's `ProtocolErrorCode`. MCP 2026-07-28, "Standard request headers". */
const headerMismatch = -32020

/** Number of characters of a header that an error message repeats. */
const maxEcho = 64

/** The message is refused completely, with its own HTTP status. */
export class RefusedMessage extends ProtocolError {
  readonly status: number

  constructor(status: number, code: number, message: string, data?: unknown) {
    super(code, message, data)
    this.status = status
  }
}

/** The answer to a request, and the lease on its messages. */
export interface RpcAnswer {
  body: object
  status: number
  lease?: Lease
}

export type Era = 'legacy' | 'modern'

/**
 * Normalises a message. `null` means missing, arguments may be missing or encoded as text, and members unknown to
 * JSON-RPC are ignored.
 */
export function asMeant(message: unknown): unknown {
  const { jsonrpc, id, method, params } = Object(message)
  if (typeof method !== 'string') return message
  return {
    jsonrpc,
    ...(id !== undefined && { id }),
    method,
    ...(params != null && { params: isObject(params) ? paramsAsMeant(params) : params }),
  }
}

function paramsAsMeant(params: Record<string, unknown>): Record<string, unknown> {
  const { arguments: args, ...others } = params
  const meant = typeof args === 'string' ? fromText(args, 'object') : args
  const isEmpty = meant === '' || (Array.isArray(meant) && meant.length === 0)
  return {
    ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null)),
    ...(meant != null && { arguments: isEmpty ? {} : meant }),
  }
}

/**
 * Returns a request's era. Undefined for a notification or a response, which get no answer. Fails with a
 * `RefusedMessage` if the message is not JSON-RPC, or if its headers do not match its era.
 */
export function eraOf(headers: Headers, message: unknown): Era | undefined {
  if (!isJsonContentType(headers.get('content-type'))) {
    const problem = 'Content-Type must be application/json'
    throw new RefusedMessage(415, serverError, `Unsupported Media Type: ${problem}`)
  }
  const era = eraOfPlainRequest(headers, Object(message))
  if (era === undefined) return eraBySdk(headers, message)
  if (era === 'modern') checkStandardHeaders(headers, message as JSONRPCRequest)
  return era
}

/**
 * Returns the era of an ordinary request without the SDK's schemas, which take a quarter of a call's time. Undefined
 * for any other message, which the SDK then validates and refuses. Unused fields, such as the members of capabilities,
 * are not checked.
 */
function eraOfPlainRequest(
  headers: Headers,
  { jsonrpc, id, method, params = {} }: Record<string, unknown>,
): Era | undefined {
  const hasId = typeof id === 'string' || Number.isSafeInteger(id)
  if (jsonrpc !== '2.0' || !hasId || typeof method !== 'string' || !isObject(params)) return undefined
  const { _meta: meta = {} } = params
  if (!isObject(meta)) return undefined
  const version = headers.get('mcp-protocol-version')
  if (!Object.hasOwn(meta, PROTOCOL_VERSION_META_KEY)) {
    return version === null || legacyRevisions.includes(version) ? 'legacy' : undefined
  }
  const isModern = version !== null && modernRevisions.includes(version) &&
    meta[PROTOCOL_VERSION_META_KEY] === version && isObject(meta[CLIENT_CAPABILITIES_META_KEY]) &&
    headers.get('mcp-method') === method
  return isModern ? 'modern' : undefined
}

function eraBySdk(headers: Headers, message: unknown): Era | undefined {
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: headers.get('mcp-protocol-version')?.slice(0, maxEcho) ?? undefined,
    mcpMethodHeader: headers.get('mcp-method') ?? undefined,
    body: message,
  })
  switch (route.kind) {
    case 'reject':
      throw new RefusedMessage(route.httpStatus, route.code, route.message, route.data)
    case 'legacy': {
      const version = headers.get('mcp-protocol-version')
      // `initialize` may name any revision, because a connecting client does not know which ones the grid supports.
      if (version !== null && !legacyRevisions.includes(version) && !isInitializeRequest(message)) {
        const problem = `Unsupported protocol version: ${version.slice(0, maxEcho)} (supported versions: ${
          legacyRevisions.join(', ')
        })`
        throw new RefusedMessage(400, serverError, `Bad Request: ${problem}`)
      }
      return isJSONRPCRequest(message) ? 'legacy' : undefined
    }
    case 'modern': {
      const requested = route.classification.revision!
      if (!modernRevisions.includes(requested)) {
        const error = new UnsupportedProtocolVersionError({ supported: [...modernRevisions], requested })
        throw new RefusedMessage(400, error.code, error.message, error.data)
      }
      if (route.messageKind === 'notification') return undefined
      checkStandardHeaders(headers, route.message)
      return 'modern'
    }
  }
}

/** Checks the headers that repeat parts of the body for proxies. The SDK has already compared version and method. */
function checkStandardHeaders(headers: Headers, { method, params }: JSONRPCRequest): void {
  const mismatch = (header: string, body: string) => {
    const text = `Bad Request: the request headers and body disagree: ${body}`
    return new RefusedMessage(400, headerMismatch, text, { mismatch: { header, body } })
  }
  const missing = (what: string, header: string) =>
    mismatch('(missing)', `the body ${what} but the required ${header} header is absent`)

  if (!headers.has('mcp-protocol-version')) {
    throw missing(`envelope names protocol version ${modernRevisions[0]}`, 'MCP-Protocol-Version')
  }
  if (!headers.has('mcp-method')) throw missing(`names method ${method}`, 'Mcp-Method')

  const parameter = namedBy.get(method)
  if (parameter === undefined) return
  const value = params?.[parameter]
  const header = headers.get('mcp-name')
  if (header === null) {
    if (typeof value === 'string') throw missing(`carries params.${parameter}="${value}"`, 'Mcp-Name')
    return
  }
  const name = decodedName(header)
  if (name === undefined) throw mismatch(header, 'the Mcp-Name header carries an invalid Base64 sentinel value')
  if (typeof value === 'string' && value !== name) {
    throw mismatch(header, `the body carries params.${parameter}="${value}" but the Mcp-Name header names "${name}"`)
  }
}

/** Decodes names that do not fit into a header and are Base64-encoded. Undefined if they are invalid. */
function decodedName(header: string): string | undefined {
  if (!header.startsWith('=?base64?') || !header.endsWith('?=')) return header
  const encoded = header.slice('=?base64?'.length, -'?='.length)
  try {
    const bytes = fromBase64(encoded)
    return toBase64(bytes) === encoded ? new TextDecoder('utf-8', { fatal: true }).decode(bytes) : undefined
  } catch {
    return undefined
  }
}
