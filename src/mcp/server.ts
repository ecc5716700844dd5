/**
 * The SDK's part of the MCP endpoint: everything that the shortcut declines, in both eras. Each request has a `Server` and
 * a transport of its own, since a shared one would send answers to the wrong client.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerEvent,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Lease } from '../grid/messaging/leases.ts'
import type { InboxEvent } from '../grid/messaging/watch-inbox.ts'
import type { Log } from '../lib/log.ts'
import { CheckedServer, limitReached } from './checked-server.ts'
import { legacyRevisions, listCache, modernRevisions, resourceCache, serverInfo } from './protocol.ts'
import { inboxUri } from './resources.ts'
import { heartbeatMs, type Toolset, type WatchableInbox } from './toolset.ts'

/** Answers a parsed message from the toolset of its caller, with the lease on the messages in the answer. */
export type SdkPath = (
  request: Request,
  message: unknown,
  toolset: Toolset,
) => Promise<{ response: Response; lease?: Lease }>

/** One message on its way through the SDK. A message is one call at most, so it has one lease at most. */
interface Exchange {
  toolset: Toolset
  /** What the answer to a client that connects says to its model; others ask for none. */
  instructions?: string
  /** A tool has run. */
  hasCalled?: true
  lease?: Lease
}

/** A parsed message. Where the SDK has a place for the token, it carries the exchange. */
interface Handoff {
  authInfo: { token: string; clientId: string; scopes: string[]; extra: { exchange: Exchange } }
  parsedBody: unknown
}

/** Make the path. What the SDK refuses is the client's fault, so it is logged for debugging only. */
export function sdkPath(log: Log): SdkPath {
  const onerror = (error: Error) => log.debug('MCP', { error })
  const modern = createMcpHandler(
    ({ authInfo }) => serverFor(authInfo!.extra!.exchange as Exchange, modernRevisions, log),
    {
      legacy: 'reject',
      // A caller that may listen gets a handler of its own. All others get a refusal instead of a silent stream.
      maxSubscriptions: 0,
      onerror,
    },
  )

  return async function answer(request, message, toolset) {
    // The body has been read, and the token goes no further.
    const headers = new Headers(request.headers)
    headers.delete('authorization')
    const bare = new Request(request.url, { method: 'POST', headers, signal: request.signal })
    const exchange: Exchange = { toolset, ...(connects(message) && { instructions: await toolset.instructions() }) }
    const handoff: Handoff = {
      authInfo: { token: '', clientId: '', scopes: [], extra: { exchange } },
      parsedBody: message,
    }
    try {
      const response = await respond(bare, handoff, exchange)
      if (isOf(message, 'tools/call') && !exchange.hasCalled) await toolset.recordRefusal?.(message.params)
      return { response, lease: exchange.lease }
    } catch (error) {
      await exchange.lease?.release()
      throw error
    }
  }

  async function respond(bare: Request, handoff: Handoff, exchange: Exchange): Promise<Response> {
    const { parsedBody } = handoff
    if (await isLegacyRequest(bare, parsedBody)) return await answerLegacy(bare, handoff, exchange)
    const { inbox } = exchange.toolset
    if (!isOf(parsedBody, 'subscriptions/listen')) return await modern.fetch(bare, handoff)
    const events = inbox?.watch()
    if (events) return await listen(bare, handoff, exchange, inbox!, events)
    const refusal = await modern.fetch(bare, handoff)
    // The SDK has found no other fault, and calls its limit of 0 an internal error.
    return refusal.status === 200 ? refusedListen(parsedBody.id, inbox !== undefined) : refusal
  }

  /**
   * A handler for this one request: the SDK matches events to streams by URI alone, and the inbox has
   * the same one for every agent.
   */
  async function listen(
    bare: Request,
    handoff: Handoff,
    exchange: Exchange,
    { connection }: WatchableInbox,
    events: AsyncGenerator<InboxEvent>,
  ) {
    const bus = {
      publish() {},
      subscribe(tell: (event: ServerEvent) => void) {
        forward(tell)
        return () => connection.close()
      },
    }
    const factory = () => serverFor(exchange, modernRevisions, log)
    const handler = createMcpHandler(factory, { legacy: 'reject', bus, keepAliveMs: heartbeatMs, onerror })
    async function forward(tell: (event: ServerEvent) => void) {
      for await (const event of events) {
        if (event === 'unread') tell({ kind: 'resource_updated', uri: inboxUri })
      }
      // Sends the final answer of the request.
      await handler.close()
    }
    return await handler.fetch(bare, { ...handoff, parsedBody: onlyInbox(handoff.parsedBody) })
  }

  async function answerLegacy(bare: Request, handoff: Handoff, exchange: Exchange) {
    const server = serverFor(exchange, legacyRevisions, log)
    server.onerror = onerror
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: true,
    })
    await server.connect(transport)
    try {
      return await transport.handleRequest(bare, { parsedBody: handoff.parsedBody })
    } finally {
      await server.close()
    }
  }
}

function serverFor(exchange: Exchange, supportedProtocolVersions: string[], log: Log): Server {
  const { instructions, toolset: { tools, resources, prompts, call } } = exchange
  const server = new CheckedServer(log, serverInfo, {
    instructions,
    supportedProtocolVersions,
    capabilities: {
      tools: {},
      ...(resources && { resources: { subscribe: true } }),
      ...(prompts && { prompts: {} }),
    },
    // The SDK adds these in the modern era only.
    cacheHints: {
      'tools/list': listCache,
      'prompts/list': listCache,
      'resources/list': listCache,
      'resources/templates/list': listCache,
      'resources/read': resourceCache,
    },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const outcome = await call(params.name, params.arguments)
    if (!outcome) {
      const { name } = params
      const why = exchange.toolset.whyUnknown(name)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}. ${why}`)
    }
    exchange.hasCalled = true
    exchange.lease = outcome.lease
    return { ...outcome.result }
  })
  if (resources) {
    server.setRequestHandler('resources/list', () => ({ resources: [...resources.listed] }))
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
    server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
      const text = resources.read(uri)
      if (!text) throw new ResourceNotFoundError(uri)
      return { contents: [{ uri, mimeType: 'application/json', text: await text }] }
    })
    // Nothing is stored: every open stream of the agent tells of its inbox.
    for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const) {
      server.setRequestHandler(method, ({ params: { uri } }) => {
        if (uri !== inboxUri) throw new ResourceNotFoundError(uri)
        return {}
      })
    }
  }
  if (prompts) {
    server.setRequestHandler('prompts/list', () => ({ prompts: [...prompts.listed] }))
    server.setRequestHandler('prompts/get', async ({ params: { name, arguments: args } }) => ({
      ...await prompts.get(name, args),
    }))
  }
  return server
}

/** Whether the message is the one whose answer has the instructions, of either era. */
function connects(message: unknown): boolean {
  return isOf(message, 'initialize') || isOf(message, 'server/discover')
}

function isOf(message: unknown, method: string): message is { id?: unknown; params?: unknown } {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === method
}

/** A caller without an inbox does not have the method; one with an inbox has all its streams. */
function refusedListen(id: unknown, hasInbox: boolean): Response {
  const error = hasInbox
    ? {
      code: limitReached,
      message: 'This credential has 3 open streams. Close one of them first.',
      data: { code: 'rate_limit_exceeded', retry_after_seconds: 15 },
    }
    : { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' }
  return Response.json({ jsonrpc: '2.0', id, error }, { status: hasInbox ? 200 : 404 })
}

/** The request without the resources that never change, which the SDK would promise to watch. */
function onlyInbox(message: unknown): unknown {
  const { params } = message as { params?: { notifications?: { resourceSubscriptions?: unknown } } }
  const uris = params?.notifications?.resourceSubscriptions
  if (!Array.isArray(uris)) return message
  const notifications = { ...params?.notifications, resourceSubscriptions: uris.filter((uri) => uri === inboxUri) }
  return { ...message as object, params: { ...params, notifications } }
}
