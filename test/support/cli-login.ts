/**
 * The login of a program on the command line, as `agent-grid connect` does it: it finds the endpoints, registers itself
 * with a loopback redirect, opens the browser, takes the code on any port, and exchanges it for a key with a name.
 * @see RFC 8252 §7.3, RFC 7591, RFC 7636
 */
import { createHash, randomBytes } from 'node:crypto'
import { callbackServer } from './oauth-client.ts'
import type { OAuthBrowser, OAuthGrid } from './oauth.ts'
import { browse, submitConsent } from './oauth.ts'

export interface CliLoginOptions {
  /** The address of the grid, as the person gives it. */
  url: string
  /** The agent that it asks for, with or without `@`. */
  alias?: string
  /** The name of the key. */
  keyName: string
  /** Registered by an earlier login. */
  clientId?: string
  /** The name of the program. */
  clientName?: string
  /** Plays the person at the browser: opens the address, answers the page, and follows the redirect. */
  browser(address: string): Promise<void>
  /** For a grid in the same process. */
  fetch?(url: string, init?: RequestInit): Promise<Response>
}

/** The key, and the client to log in with again. */
export interface CliLogin {
  apiKey: string
  /** With `@`. */
  alias: string
  name: string
  clientId: string
}

/** Log in. Fails with the error that the grid answered. */
export async function loginAsCli(options: CliLoginOptions): Promise<CliLogin> {
  const { url, alias, keyName, browser, clientName = 'agent-grid' } = options
  const send = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request))
  const json = async (address: string, init?: RequestInit) => {
    const response = await send(address, init)
    const body = await response.json()
    if (!response.ok) throw new Error(`${address}: ${response.status} ${JSON.stringify(body)}`)
    return body
  }
  const post = (address: string, body: string, type: string, headers: Record<string, string> = {}) =>
    json(address, { method: 'POST', headers: { 'Content-Type': type, ...headers }, body })

  const resource = await json(`${url}/.well-known/oauth-protected-resource`)
  const [issuer] = resource.authorization_servers
  const server = await json(`${issuer}/.well-known/oauth-authorization-server`)
  // Registered without a port: each login listens on another one.
  const clientId: string = options.clientId ?? (await post(
    server.registration_endpoint,
    JSON.stringify({
      client_name: clientName,
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    }),
    'application/json',
  )).client_id

  const callback = await callbackServer()
  try {
    const [verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('base64url')]
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: callback.url,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state,
      scope: 'agent:use',
      resource: resource.resource,
      ...(alias !== undefined && { login_hint: alias }),
    })
    await browser(`${server.authorization_endpoint}?${query}`)
    const answer = await callback.next()
    if (answer.get('state') !== state || answer.get('iss') !== issuer) {
      throw new Error('The answer is not to this login')
    }
    const code = answer.get('code')
    if (code === null) throw new Error(`${answer.get('error')}: ${answer.get('error_description')}`)

    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback.url,
      client_id: clientId,
      code_verifier: verifier,
    })
    const tokens = await post(server.token_endpoint, `${form}`, 'application/x-www-form-urlencoded')
    const bearer = { Authorization: `Bearer ${tokens.access_token}` }
    const key = await post(`${url}/api/oauth/api-key`, JSON.stringify({ name: keyName }), 'application/json', bearer)
    return { apiKey: key.apiKey, alias: key.alias, name: key.name, clientId }
  } finally {
    await callback.close()
  }
}

/**
 * Plays a signed-in person: allows what the page has selected, makes the agent first if the page offers it, or denies.
 * The last request goes to the loopback address of the program.
 */
export function consenting(
  grid: OAuthGrid,
  person: OAuthBrowser,
  decision: 'allow' | 'deny' = 'allow',
): (address: string) => Promise<void> {
  return async function answer(address) {
    const html = await (await browse(grid, person, address)).text()
    const handle = html.match(/name="handle" value="([^"]+)"/)?.[1]
    if (handle === undefined) throw new Error(`No consent page: ${html.replace(/<[^>]+>/g, ' ').slice(0, 500)}`)
    const pick = html.match(/<input type="radio" name="pick" value="([^"]+)"[^>]* checked/)?.[1]
    const wanted = html.match(/<input[^>]* name="alias"[^>]* value="([^"]+)"/)?.[1]
    if (decision === 'allow' && pick === undefined) {
      const account = html.match(/<option value="([^"]+)"/)?.[1]
      if (wanted === undefined || account === undefined) throw new Error('The page selects and offers no agent')
      const made = await submitConsent(grid, person, { handle, account, alias: wanted, decision: 'new-agent' })
      return await answer(new URL(made.headers.get('location')!, address).href)
    }
    const answered = await submitConsent(grid, person, { handle, decision, ...(pick !== undefined && { pick }) })
    const location = answered.headers.get('location')
    if (location === null) throw new Error(`The page was answered with ${answered.status}`)
    await fetch(location)
  }
}
