/**
 * The SDK's part of the MCP door: everything the shortcut declines, in both eras.
 * A `Server` and transport of its own for each request: a shared one would send answers to the wrong client.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerEvent,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Log } from '../deps.ts'
import type { Signal } from '../grid/messaging/waiting.ts'
import { heartbeatMs, type Inbox, type Offer } from './toolset.ts'
import { inboxUri } from './resources.ts'
import { legacyRevisions, listCache, modernRevisions, resourceCache, serverInfo } from './protocol.ts'

/** Answers a parsed message from what the caller is offered. */
export type SdkPath = (request: Request, message: unknown, offer: Offer) => Promise<Response>

/** A parsed message and, in the place of a token, what its caller is offered. */
interface Handoff {
  authInfo: { token: string; clientId: string; scopes: string[]; extra: { offer: Offer } }
  parsedBody: unknown
}

/** Make the path. What the SDK refuses is the client's fault and logged as detail only. */
export function sdkPath(log: Log): SdkPath {
  const onerror = (error: Error) => log.debug('MCP', { error })
  const modern = createMcpHandler(({ authInfo }) => serverFor(authInfo!.extra!.offer as Offer, modernRevisions), {
    legacy: 'reject',
    // Who may listen gets a handler of its own, and everybody else a refusal instead of a silent stream.
    maxSubscriptions: 0,
    onerror,
  })

  return async function answer(request, message, offer) {
    // The body has been read, and the token goes no further.
    const headers = new Headers(request.headers)
    headers.delete('authorization')
    const bare = new Request(request.url, { method: 'POST', headers, signal: request.signal })
    const handoff: Handoff = {
      authInfo: { token: '', clientId: '', scopes: [], extra: { offer } },
      parsedBody: message,
    }
    if (await isLegacyRequest(bare, message)) return await answerLegacy(bare, handoff)
    const signals = isListen(message) ? offer.inbox?.listen() : undefined
    return signals ? await listen(bare, handoff, offer.inbox!, signals) : await modern.fetch(bare, handoff)
  }

  /**
   * A handler for this one request: the SDK matches events to streams by URI alone, and the inbox has
   * the same one for every agent.
   */
  async function listen(bare: Request, handoff: Handoff, { departure }: Inbox, signals: AsyncGenerator<Signal>) {
    const bus = {
      publish() {},
      subscribe(tell: (event: ServerEvent) => void) {
        speak(tell)
        return () => departure.leave()
      },
    }
    const factory = () => serverFor(handoff.authInfo.extra.offer, modernRevisions)
    const handler = createMcpHandler(factory, { legacy: 'reject', bus, keepAliveMs: heartbeatMs, onerror })
    async function speak(tell: (event: ServerEvent) => void) {
      for await (const signal of signals) {
        if (signal === 'mail') tell({ kind: 'resource_updated', uri: inboxUri })
      }
      // Says goodbye with the final answer of the request.
      await handler.close()
    }
    return await handler.fetch(bare, { ...handoff, parsedBody: onlyInbox(handoff.parsedBody) })
  }

  async function answerLegacy(bare: Request, handoff: Handoff) {
    const server = serverFor(handoff.authInfo.extra.offer, legacyRevisions)
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

function serverFor(offer: Offer, supportedProtocolVersions: string[]): Server {
  const { instructions, tools, resources } = offer
  const server = new Server(serverInfo, {
    instructions,
    supportedProtocolVersions,
    capabilities: { tools: {}, ...(resources && { resources: { subscribe: true } }) },
    // The SDK adds these in the modern era only.
    cacheHints: {
      'tools/list': listCache,
      'resources/list': listCache,
      'resources/templates/list': listCache,
      'resources/read': resourceCache,
    },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const result = offer.call(params.name, params.arguments)
    if (!result) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
    return { ...(await result) }
  })
  if (resources) {
    server.setRequestHandler('resources/list', () => ({ resources: [...resources.listed] }))
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
    server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
      const text = resources.read(uri)
      if (!text) throw new ResourceNotFoundError(uri)
      return { contents: [{ uri, mimeType: 'application/json', text: await text }] }
    })
    // Nothing is kept of it: every open stream of the agent tells of its inbox.
    for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const) {
      server.setRequestHandler(method, ({ params: { uri } }) => {
        if (uri !== inboxUri) throw new ResourceNotFoundError(uri)
        return {}
      })
    }
  }
  return server
}

function isListen(message: unknown): message is { method: string } {
  return typeof message === 'object' && message !== null && 'method' in message &&
    message.method === 'subscriptions/listen'
}

/** The request without the resources that never change, which the SDK would promise to watch. */
function onlyInbox(message: unknown): unknown {
  const { params } = message as { params?: { notifications?: { resourceSubscriptions?: unknown } } }
  const uris = params?.notifications?.resourceSubscriptions
  if (!Array.isArray(uris)) return message
  const notifications = { ...params?.notifications, resourceSubscriptions: uris.filter((uri) => uri === inboxUri) }
  return { ...message as object, params: { ...params, notifications } }
}
