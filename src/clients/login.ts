/**
 * Signs in to a grid as an agent in the browser: authorization code flow with PKCE, and a redirect to this machine.
 *
 * @see RFC 8252 §7.3, RFC 7636, RFC 7591, RFC 9728
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { codeChallengeOf, mintLinkToken } from '../lib/secrets.ts'
import { bareUrl, readOAuthClient, saveOAuthClient } from './connections.ts'
import { addressIn, aliasIn, callJson, ClientError, keyIn, lineOf, noGrid } from './grid-call.ts'

/** Time limit for a person to sign in. */
const waitMs = 10 * 60_000
const mcpPath = '/mcp/v1/grid'

/** The sign-in ended without a key. The message gives the reason. */
class LoginError extends ClientError {
  constructor(message: string) {
    super('not_signed_in', lineOf(message))
  }
}

interface LoginRequest {
  /** The grid's URL. */
  url: string
  /** The agent that the person should choose, with `@`. */
  alias?: string
  /** Called with the URL to open in the browser. */
  open(address: string): void
  signal?: AbortSignal
}

interface Login {
  key: string
  /** With `@`. */
  alias: string
}

/** Fetches a key of the agent that the person signed in as. `keyName` names the key, such as `claude on laptop`. */
export type FetchKey = (keyName: string) => Promise<Login>

interface GridMetadata {
  issuer: string
  resource: string
  authorization_endpoint: string
  token_endpoint: string
  registration_endpoint?: string
}

/** A grid's canonical URL, given any of its URLs. Fails with `GridCallError`. */
export async function findGrid(url: string): Promise<string> {
  const { resource } = await protectedResource(url)
  return bareUrl(resource.slice(0, -mcpPath.length))
}

/** Signs in once. The result can then fetch any number of keys. Fails with `LoginError` or `GridCallError`. */
export async function login({ url, alias, open, signal }: LoginRequest): Promise<FetchKey> {
  const grid = await metadataOf(url)
  const redirect = await listenForRedirect()
  try {
    const redirectUri = `http://127.0.0.1:${redirect.port}/callback`
    const clientId = await clientOf(grid)
    const [verifier, state] = [mintLinkToken().token, mintLinkToken().token]
    const address = new URL(grid.authorization_endpoint)
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: codeChallengeOf(verifier)!,
      code_challenge_method: 'S256',
      state,
      scope: 'agent:use',
      resource: grid.resource,
      ...(alias && { login_hint: alias }),
    }
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
    open(address.href)
    const code = codeOf(await redirect.answer(state, signal), grid)
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
      resource: grid.resource,
    }
    const { access_token: token } = await post(grid.token_endpoint, new URLSearchParams(form))
    const keyAddress = new URL('/api/oauth/api-key', grid.issuer).href
    return async (name) => {
      const fetched = await post(keyAddress, { name }, { Authorization: `Bearer ${token}` })
      const [key, chosen] = [keyIn(fetched?.apiKey), aliasIn(fetched?.alias)]
      if (key === undefined || chosen === undefined) throw noGrid(url, 200)
      return { key, alias: chosen }
    }
  } finally {
    redirect.close()
  }
}

/** This machine's name, without its domain. */
export function machineName(): string {
  return hostname().split('.')[0] || 'this machine'
}

/** @see RFC 9728 §3 */
async function protectedResource(url: string): Promise<{ resource: string; authorization_servers: string[] }> {
  const found = await callJson(`${bareUrl(url)}/.well-known/oauth-protected-resource${mcpPath}`)
  const resource = addressIn(found.resource)?.href
  const issuer = found.authorization_servers?.[0]
  if (!resource?.endsWith(mcpPath) || !addressIn(issuer)) throw noGrid(url, 200)
  return { resource, authorization_servers: [issuer] }
}

/** @see RFC 8414 §3 */
async function metadataOf(url: string): Promise<GridMetadata> {
  const { resource, authorization_servers: [issuer] } = await protectedResource(url)
  const metadata = await callJson(`${bareUrl(issuer)}/.well-known/oauth-authorization-server`)
  const { authorization_endpoint: page, token_endpoint: tokens, registration_endpoint: clients } = metadata
  // Only HTTP URLs are accepted, because the program that opens the page could also open a file or start a program.
  const endpoints = [page, tokens, ...(clients === undefined ? [] : [clients])]
  if (metadata.issuer !== issuer || !endpoints.every(addressIn)) throw noGrid(url, 200)
  return { ...metadata, resource }
}

/**
 * This machine's client id at the grid. The machine registers once, so that a new key replaces the old key of the same
 * name.
 */
async function clientOf({ issuer, registration_endpoint: endpoint, token_endpoint }: GridMetadata): Promise<string> {
  const known = readOAuthClient(issuer)
  if (known !== undefined && await isKnown(token_endpoint, known)) return known
  if (endpoint === undefined) {
    throw new LoginError(
      'The grid does not register new programs. Create a key on the page of the agent, and pass it with --key-file.',
    )
  }
  const { client_id: id } = await post(endpoint, {
    client_name: `agent-grid connect on ${machineName()}`,
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
  await saveOAuthClient(issuer, id)
  return id
}

/** Whether the grid still knows the client. The code sent is invalid, but the grid checks the client first. */
async function isKnown(endpoint: string, clientId: string): Promise<boolean> {
  const form = {
    grant_type: 'authorization_code',
    code: 'none',
    client_id: clientId,
    code_verifier: mintLinkToken().token,
  }
  const body = new URLSearchParams({ ...form, redirect_uri: 'http://127.0.0.1/callback' })
  return await post(endpoint, body).then(() => true, ({ code }) => code !== 'invalid_client')
}

function codeOf(answer: URLSearchParams, { issuer }: GridMetadata): string {
  const [code, error] = [answer.get('code'), answer.get('error')]
  if (error === 'access_denied') throw new LoginError('You did not allow it. Nothing was changed.')
  if (error !== null) throw new LoginError(`The grid refused: ${answer.get('error_description') ?? error}`)
  // @see RFC 9207 §2.4
  if (code === null || (answer.get('iss') ?? issuer) !== issuer) {
    throw new LoginError('The answer is not from this grid.')
  }
  return code
}

/** Starts a server for the single redirect request from the browser. */
async function listenForRedirect() {
  const server: Server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo

  function answer(state: string, signal: AbortSignal | undefined): Promise<URLSearchParams> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new LoginError('You did not sign in within 10 minutes.')), waitMs)
      signal?.addEventListener('abort', () => reject(new LoginError('Signing in was stopped.')), { once: true })
      server.on('close', () => clearTimeout(timer))
      server.on('request', (request, response) => {
        // Any web page can send requests here, even with an invalid path.
        const { pathname, searchParams } = new URL(`http://127.0.0.1/${request.url!.replace(/^\/+/, '')}`)
        const isAnswer = request.method === 'GET' && pathname === '/callback' && searchParams.get('state') === state
        response.writeHead(isAnswer ? 200 : 404, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' })
        response.end(isAnswer ? 'Done. Go back to the terminal; you can close this page.\n' : 'Nothing is here.\n')
        if (isAnswer) resolve(searchParams)
      })
    })
  }

  function close(): void {
    server.close()
    server.closeIdleConnections()
  }

  return { port, answer, close }
}

function post(url: string, body: URLSearchParams | Record<string, unknown>, headers: Record<string, string> = {}) {
  const isForm = body instanceof URLSearchParams
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const text = isForm ? body.toString() : JSON.stringify(body)
  return callJson(url, { method: 'POST', headers: { 'Content-Type': type, ...headers }, body: text })
}
