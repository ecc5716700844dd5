/** A simulated OAuth client, and the user who answers the consent page. */
import { createSessions, type Visitor } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { codeChallengeOf } from '../../src/lib/secrets.ts'
import { rows } from './database.ts'
import { type TestAccount, type TestGrid, testGrid, type TestGridOptions } from './grid.ts'
import { membership } from './people.ts'

export const issuer = 'https://grid.example'
export const gridUrl = 'https://api.grid.example/mcp/v1/grid'
export const callback = 'http://127.0.0.1:4100/callback'
export const verifier = 'v'.repeat(64)

/** A browser with its cookies and a signed-in user. */
export interface OAuthBrowser {
  visitor: Visitor
  cookies: Map<string, string>
}

export type OAuthGrid = Awaited<ReturnType<typeof oauthGrid>>

/** Creates a test grid with both owners signed in, and a registered client. */
export async function oauthGrid({ env, ...options }: TestGridOptions = {}) {
  const grid = await testGrid({ env: { BASE_URL: 'https://api.grid.example', APP_URL: issuer, ...env }, ...options })
  const ann = await signedIn(grid, await ownerOf(grid, grid.acme, 'ann@acme.example'))
  const ed = await signedIn(grid, await ownerOf(grid, grid.evil, 'ed@evil.example'))
  const registered = await grid.post(`${issuer}/oauth/register`, { client_name: 'Demo', redirect_uris: [callback] })
  const clientId: string = (await registered.json()).client_id
  return { ...grid, ann, ed, clientId }
}

/** Creates a browser with a new session of the user. */
export async function signedIn(
  { store, deps }: Pick<TestGrid, 'store' | 'deps'>,
  { id }: { id: string },
): Promise<OAuthBrowser> {
  const people = createSessions(store, servedOrigins(deps.config))
  const [cookie, name, value] = (await people.begin(new Request(issuer), id, '203.0.113.9')).match(/^([^=]+)=([^;]*)/)!
  const visitor = await people.visitor(new Request(issuer, { headers: { cookie } }))
  return { visitor: visitor!, cookies: new Map([[name, value]]) }
}

/** Registers another client with the same redirect URI and returns its id. */
export async function otherClient(grid: TestGrid): Promise<string> {
  const response = await grid.post(`${issuer}/oauth/register`, { redirect_uris: [callback] })
  return (await response.json()).client_id
}

/** Advances the clock. Ann signs in again, because her session may have expired. */
export async function advanceClock(grid: OAuthGrid, ms: number): Promise<void> {
  grid.clock.now += ms
  Object.assign(grid.ann, await signedIn(grid, grid.ann.visitor.user))
}

/** Returns the first member of a test account. `email` is the member's email address. */
export async function ownerOf(grid: TestGrid, account: TestAccount, email: string) {
  const [{ user_id }] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [account.id])
  return { id: String(user_id), email }
}

/** Creates and signs in a user with a role in the account. */
export async function signedInPerson(
  grid: OAuthGrid,
  role: 'owner' | 'admin' | 'member' | 'viewer' | undefined,
  account = grid.acme,
) {
  const id = crypto.randomUUID()
  const { users } = grid.store.global
  const email = `${id}@example.com`
  await grid.store.write([
    users.add({ id, email, passwordHash: null }, 0),
    ...(role ? [membership(grid.store, account.id, id, role, 0)] : []),
  ])
  return await signedIn(grid, { id })
}

export function setRole(grid: OAuthGrid, { visitor }: OAuthBrowser, role: string) {
  return rows(grid, 'UPDATE memberships SET role = ? WHERE account_id = ? AND user_id = ?', [
    role,
    grid.acme.id,
    visitor.user.id,
  ])
}

/** Returns a valid authorization request's query with changes. The value undefined omits a parameter. */
export function authorizeQuery(grid: OAuthGrid, changes: Record<string, string | undefined> = {}) {
  const query = {
    response_type: 'code',
    client_id: grid.clientId,
    redirect_uri: callback,
    code_challenge: codeChallengeOf(verifier),
    code_challenge_method: 'S256',
    state: 'x7',
    resource: gridUrl,
    ...changes,
  }
  return new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Sends a request with the browser's cookies, and stores cookies from the response. */
export async function browse(grid: OAuthGrid, { cookies }: OAuthBrowser, url: string, init: RequestInit = {}) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await grid.request(new URL(url, issuer).href, { ...init, headers: { cookie, ...init.headers } })
  for (const set of response.headers.getSetCookie()) {
    const [, name, value] = set.match(/^([^=]+)=([^;]*)/)!
    if (/Max-Age=0/.test(set)) cookies.delete(name)
    else cookies.set(name, value)
  }
  return response
}

export interface ConsentPage {
  response: Response
  html: string
  handle: string
  picks: string[]
}

/** Opens the consent page. */
export async function openConsentPage(
  grid: OAuthGrid,
  browser: OAuthBrowser,
  changes: Record<string, string | undefined> = {},
): Promise<ConsentPage> {
  const response = await browse(grid, browser, `/oauth/authorize?${authorizeQuery(grid, changes)}`)
  const html = await response.text()
  return {
    response,
    html,
    handle: html.match(/name="handle" value="([^"]+)"/)?.[1] ?? '',
    picks: [...html.matchAll(/name="pick" value="([^"]+)"/g)].map(([, pick]) => pick),
  }
}

/** Submits a consent page's form. */
export function submitConsent(
  grid: OAuthGrid,
  browser: OAuthBrowser,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams({ csrf: browser.visitor.csrf, ...fields }).toString()
  return browse(grid, browser, '/oauth/authorize', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: issuer, ...headers },
    body,
  })
}

/** Returns the parameters in a response's redirect. */
export function redirectParameters(response: Response): Record<string, string> {
  const location = new URL(response.headers.get('location')!)
  return Object.fromEntries(location.searchParams)
}

/** Obtains an authorization code for `@admin` of Acme, or for another entry. */
export async function codeFor(
  grid: OAuthGrid,
  pick: string = `admin:${grid.acme.id}`,
  { browser = grid.ann, ...changes }: {
    browser?: OAuthBrowser
    [parameter: string]: string | undefined | OAuthBrowser
  } = {},
): Promise<string> {
  const { handle } = await openConsentPage(grid, browser, changes as Record<string, string | undefined>)
  const response = await submitConsent(grid, browser, { handle, pick, decision: 'allow' })
  return redirectParameters(response).code
}

/** Posts a form to one of the client endpoints. */
export async function postForm(
  grid: OAuthGrid,
  path: string,
  fields: Record<string, string | undefined> | [string, string][],
  headers: Record<string, string> = {},
) {
  const entries = Array.isArray(fields) ? fields : Object.entries(fields)
  const response = await grid.request(new URL(path, issuer).href, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(entries.filter((entry): entry is [string, string] => entry[1] !== undefined)).toString(),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** Redeems a code. */
export function exchange(grid: OAuthGrid, code: string, changes: Record<string, string | undefined> = {}) {
  return postForm(grid, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    client_id: grid.clientId,
    code_verifier: verifier,
    ...changes,
  })
}

/** Uses a refresh token. */
export function refresh(grid: OAuthGrid, token: string, changes: Record<string, string | undefined> = {}) {
  return postForm(grid, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: token,
    client_id: grid.clientId,
    ...changes,
  })
}

export interface Tokens {
  access_token: string
  refresh_token: string
  scope: string
  expires_in: number
}

/** Completes a login: consent page, code, and tokens. */
export async function obtainTokens(
  grid: OAuthGrid,
  pick?: string,
  changes: Parameters<typeof codeFor>[2] = {},
): Promise<Tokens> {
  const { status, body } = await exchange(grid, await codeFor(grid, pick, changes))
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

/** Exchanges an access token for a static key, optionally with a body. */
export async function fetchApiKey(grid: OAuthGrid, token: string, body?: unknown) {
  const response = await grid.request(`${issuer}/api/oauth/api-key`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** Returns the tools that a token can use at the MCP endpoint. If access is refused, returns the status. */
export async function mcpAccess(grid: OAuthGrid, token: string): Promise<string> {
  const response = await grid.post(gridUrl, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, {
    Authorization: `Bearer ${token}`,
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2025-11-25',
  })
  if (response.status !== 200) return String(response.status)
  const { result } = await response.json()
  return result.tools.every(({ name }: { name: string }) => name.startsWith('admin_')) ? 'admin tools' : 'agent tools'
}

/** Returns the HTML of an account's activity page, as seen by Ann or another user. */
export async function activityPage(
  grid: OAuthGrid,
  account: TestAccount = grid.acme,
  browser: OAuthBrowser = grid.ann,
): Promise<string> {
  return await (await browse(grid, browser, `/accounts/${account.id}/activity`)).text()
}

/** Returns the page's sentences, newest first. */
export async function sentences(
  grid: OAuthGrid,
  account: TestAccount = grid.acme,
  browser: OAuthBrowser = grid.ann,
): Promise<string[]> {
  const happened = (await activityPage(grid, account, browser)).matchAll(
    /<span class="happened">(.*?)<\/span><details/gs,
  )
  return [...happened].map(([, sentence]) => sentence.replace(/<[^>]+>/g, ''))
}

/** Makes Ann an admin of Evil as well. She signs in again, so that her session includes Evil. */
export async function joinEvil(grid: OAuthGrid): Promise<void> {
  const { id } = grid.ann.visitor.user
  await grid.store.write([membership(grid.store, grid.evil.id, id, 'admin', grid.clock.now)])
  Object.assign(grid.ann, await signedIn(grid, grid.ann.visitor.user))
}
