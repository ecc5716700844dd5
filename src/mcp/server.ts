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
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Log } from '../deps.ts'
import type { Offer } from './offer.ts'
import { legacyRevisions, listCache, modernRevisions, resourceCache, serverInfo } from './protocol.ts'

/** Answers a parsed message from what the caller is offered. */
export type SdkPath = (request: Request, message: unknown, offer: Offer) => Promise<Response>

/** Make the path. What the SDK refuses is the client's fault and logged as detail only. */
export function sdkPath(log: Log): SdkPath {
  const onerror = (error: Error) => log.debug('MCP', { error })
  const modern = createMcpHandler(({ authInfo }) => serverFor(authInfo!.extra!.offer as Offer, modernRevisions), {
    legacy: 'reject',
    // Nothing can be subscribed to; the SDK would open a silent stream all the same.
    maxSubscriptions: 0,
    onerror,
  })

  return async function answer(request, message, offer) {
    // The body has been read, and the token goes no further.
    const headers = new Headers(request.headers)
    headers.delete('authorization')
    const bare = new Request(request.url, { method: 'POST', headers, signal: request.signal })
    const handoff = { authInfo: { token: '', clientId: '', scopes: [], extra: { offer } }, parsedBody: message }
    return await isLegacyRequest(bare, message) ? await answerLegacy(bare, handoff) : await modern.fetch(bare, handoff)
  }

  async function answerLegacy(bare: Request, handoff: { authInfo: { extra: { offer: Offer } }; parsedBody: unknown }) {
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
    capabilities: { tools: {}, ...(resources && { resources: {} }) },
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
  }
  return server
}
