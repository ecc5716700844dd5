/** The parts of an OAuth client that the MCP SDKs leave to the program: token storage and the callback server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A callback server on a free loopback port. */
export interface Callback {
  url: string
  /** The query parameters of the next visit. */
  next(): Promise<URLSearchParams>
  close(): Promise<void>
}

/** `host` is the name of the loopback host in the URL. */
export async function callbackServer(host = '127.0.0.1'): Promise<Callback> {
  const visits: URLSearchParams[] = []
  const waiting: ((query: URLSearchParams) => void)[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://callback')
    response.end('You can close this page.')
    if (pathname !== '/callback') return
    const next = waiting.shift()
    if (next) next(searchParams)
    else visits.push(searchParams)
  })
  await new Promise<void>((listening) => server.listen(0, host.replace(/[[\]]/g, ''), listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}/callback`,
    next() {
      const visit = visits.shift()
      return visit ? Promise.resolve(visit) : new Promise((resolve) => waiting.push(resolve))
    },
    close() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}

/** The common part of the SDKs' types for OAuth tokens. */
export interface StoredTokens {
  access_token: string
  token_type: string
  refresh_token?: string
}

export type OAuthProvider = ReturnType<typeof oauthProvider>

/** An in-memory `authProvider` for clients of both SDKs. The client registers itself. */
export function oauthProvider(callbackUrl: string, visit: (url: string) => void) {
  let client: { client_id: string } | undefined
  let verifier = ''
  let discovered: unknown
  const provider = {
    kept: undefined as StoredTokens | undefined,
    redirectUrl: callbackUrl,
    clientMetadata: { client_name: 'A test of the SDK', redirect_uris: [callbackUrl] },
    clientInformation: () => client,
    saveClientInformation: (information: { client_id: string }) => void (client = information),
    tokens: () => provider.kept,
    saveTokens: (tokens: StoredTokens) => void (provider.kept = tokens),
    redirectToAuthorization: (url: URL) => visit(url.href),
    saveCodeVerifier: (text: string) => void (verifier = text),
    codeVerifier: () => verifier,
    saveDiscoveryState: (state: unknown) => void (discovered = state),
    discoveryState: () => discovered as undefined,
  }
  return provider
}
