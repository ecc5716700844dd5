/** Valid requests for every interface, which the fuzz test mutates. */
import { request, send03, send10 } from '../../support/a2a.ts'
import { browser } from '../../support/browse.ts'
import { allArguments, type Args, type Call, calls, validArguments } from '../../support/calls.ts'
import { crawl } from '../../support/crawl.ts'
import { eras, gridPath, signupPath, wireRequest } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { csrfTokenOf } from '../../support/people.ts'
import { routesOf } from '../../support/routes.ts'
import type { LiveGrid } from '../../support/server.ts'
import { pagesOf, type SeededSite, seedSite } from '../../support/site.ts'

/** A request before it is serialized. */
export interface FuzzRequest {
  door: string
  method: string
  /** The path and the query. */
  target: string
  headers: [name: string, value: string][]
  /** Whether the request destroys something that other requests need: a credential, a role, a session or an object. */
  isLast?: boolean
  /** The body. JSON is mutated as a value, a form by its fields, and text byte by byte. */
  body?: { json: unknown } | { fields: [string, string][] } | { text: string }
}

const jsonType: [string, string] = ['Content-Type', 'application/json']
const formType: [string, string] = ['Content-Type', 'application/x-www-form-urlencoded']
const signupFields = { owner_email: 'new@x.example', alias: 'new-one', description: 'd', skills: ['a', 'b'] }

/** Adds data to the grid, and collects a request for each interface. */
export async function corpusOf(grid: LiveGrid): Promise<FuzzRequest[]> {
  const site = await seedSite(grid)
  const olga = (await grid.store.global.users.byEmail('olga@acme.example'))!
  const { token } = await accessTokenFor(grid, olga.id, grid.acme.id)
  const keys = { agent: grid.alice.key, admin: grid.acme.adminKey }
  return [
    ...mcpRequests(keys, token),
    ...a2aRequests(keys.agent),
    ...restRequests(keys, site.guardrail),
    ...oauthRequests(site, token),
    ...routesOf(grid).map(({ method, path }) => ({ door: 'routes', method, target: path, headers: [] })),
    ...await pageRequests(grid, site),
  ]
}

function mcpRequests(keys: { agent: string; admin: string }, token: string): FuzzRequest[] {
  const uri = 'grid://inbox'
  const methods: [string, Record<string, unknown>?][] = [
    ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'demo', version: '1' } }],
    ['notifications/cancelled', { requestId: 1, reason: 'x' }],
    ['tools/list', { cursor: 'x' }],
    ['resources/read', { uri }],
    ['resources/subscribe', { uri }],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: [uri], toolsListChanged: true } }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }],
  ]
  const callsOf = (caller: string) =>
    calls.filter((call) => call.door === 'mcp' && call.caller === caller).flatMap((call) =>
      argumentsOf(call).map((args): [string, Args] => ['tools/call', { name: call.name, arguments: args }])
    )
  const doors: [door: string, path: string, key: string | undefined, messages: typeof methods][] = [
    ['mcp agent', gridPath, keys.agent, callsOf('agent')],
    ['mcp admin', gridPath, keys.admin, callsOf('admin')],
    ['mcp oauth', '/api/v1/grid', token, callsOf('admin')],
    ['mcp signup', signupPath, undefined, [['tools/call', { name: 'signup', arguments: signupFields }]]],
  ]
  return doors.flatMap(([door, target, key, messages]) =>
    eras.flatMap((era) =>
      [...messages, ...methods].map(([method, params]) => {
        const { headers, body } = wireRequest(era, method, params)
        const all = [...key ? [bearer(key)] : [], ...Object.entries(headers)]
        return { door, method: 'POST', target, headers: all, body: { json: body } }
      })
    )
  )
}

/** Returns two argument lists for a call: a few arguments, and all of them. */
function argumentsOf(call: Call): Args[] {
  const names = { to: '#release-train', message: 'x', alias: 'fuzzed', name: 'fuzzed', provider: 'pii', since: '1h' }
  return [validArguments(call, names), { ...allArguments(call, names), wait_seconds: undefined }]
}

function a2aRequests(key: string): FuzzRequest[] {
  const file = { bytes: 'AAAA', mimeType: 'image/png', name: 'a.png' }
  const parts03 = [{ kind: 'text', text: 'a' }, { kind: 'data', data: { a: 1 } }, { kind: 'file', file }]
  const parts10 = [{ text: 'a', mediaType: 'text/plain', filename: 'b' }, { raw: 'AA' }, { data: [1] }]
  const configuration = { blocking: true, returnImmediately: true, historyLength: 1 }
  const sends: Record<string, typeof send10> = { SendMessage: send10, 'message/send': send03 }
  const bodies = [
    send03({ parts: parts03, contextId: 'c', referenceTaskIds: ['t'] }, { configuration, metadata: { x: 1 } }),
    send10({ parts: parts10, contextId: 'c' }, { configuration, tenant: 'bob' }),
    ...calls.filter(({ door }) => door === 'a2a').flatMap((call) =>
      argumentsOf(call).map((args) =>
        sends[call.name]?.(args) ??
          request(call.name, args)
      )
    ),
  ]
  return bodies.map((body) => ({
    door: 'a2a',
    method: 'POST',
    target: '/a2a/v1/grid',
    headers: [bearer(key), jsonType, ['A2A-Version', body.method === 'message/send' ? '0.3' : '1.0'], idempotency],
    body: { json: body },
  }))
}

const idempotency: [string, string] = ['Idempotency-Key', 'key']

function restRequests(keys: { agent: string; admin: string }, guardrail: string): FuzzRequest[] {
  const things: Record<string, string> = { guardrail, id: 'x.0', lease: 'x' }
  return calls.filter(({ door }) => door === 'rest').flatMap((call) =>
    argumentsOf(call).map(({ ...fields }): FuzzRequest => {
      const [method, pattern] = call.name.split(' ')
      const path = pattern.replace(/{(\w+)}/, (_, name: string) => {
        delete fields[name]
        return things[name]
      })
      const hasBody = method === 'POST' || method === 'PATCH'
      return {
        door: 'rest',
        method,
        target: hasBody ? path : `${path}?${new URLSearchParams(fields as Record<string, string>)}`,
        headers: [bearer(call.caller === 'admin' ? keys.admin : keys.agent), jsonType, idempotency],
        ...(hasBody && { body: { json: fields } }),
        isLast: method === 'DELETE',
      }
    })
  ).concat({
    ...{ door: 'rest signup', method: 'POST', target: '/api/v1/agentic-signup' },
    headers: [jsonType],
    body: { json: { ...signupFields, alias: 'rest-one' } },
  })
}

function oauthRequests({ links }: SeededSite, token: string): FuzzRequest[] {
  const consent = new URLSearchParams(links.consent.split('?')[1])
  const client = { client_id: consent.get('client_id')!, redirect_uri: consent.get('redirect_uri')! }
  const post = (target: string, fields: Record<string, string>): FuzzRequest => ({
    door: 'oauth',
    method: 'POST',
    target,
    headers: [formType, ['Authorization', `Basic ${btoa(`${client.client_id}:grid_cs_x`)}`]],
    body: { fields: Object.entries({ ...fields, ...client }) },
  })
  const registration = { client_name: 'Demo', redirect_uris: [client.redirect_uri], scope: 'admin' }
  return [
    post('/oauth/token', { grant_type: 'authorization_code', code: 'x', code_verifier: 'v'.repeat(64) }),
    post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token.replace('oat', 'ort'), scope: 'a' }),
    post('/oauth/revoke', { token: `${token}x`, token_type_hint: 'access_token' }),
    { ...post('/oauth/register', {}), headers: [jsonType], body: { json: registration } },
    { door: 'oauth', method: 'POST', target: '/api/oauth/api-key', headers: [bearer(token)] },
    { door: 'oauth', method: 'GET', target: `${links.consent}&resource=x&state=s&prompt=login`, headers: [] },
  ]
}

const endings =
  /\/(sign-out|delete|end|end-others|leave|hand-over|remove|role|key|withdraw)$|^\/(claim|reset|verify|new-address)\//

/** Collects requests for every page, and for one form of each route, with the values that the page filled in. */
async function pageRequests(grid: LiveGrid, site: SeededSite): Promise<FuzzRequest[]> {
  const routes = {
    pages: grid.app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path),
    forms: grid.app.routes.filter(({ method }) => method === 'POST').map(({ path }) => path),
  }
  const pages = await pagesOf(grid, site)
  const found: FuzzRequest[] = []
  for (const as of ['nobody', 'half', 'owner', 'viewer', 'beginner'] as const) {
    const visitor = site.browsers[as] ?? browser(grid)
    const places = pages.filter((page) => (page.as ?? 'owner') === as).map(({ path }) => path(site))
    const { forms } = await crawl(visitor, routes, places[0], places)
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers: [string, string][] = [['Accept', 'text/html'], ['Cookie', cookie]]
    const csrf = as === 'nobody' || as === 'half' ? '' : await csrfTokenOf(visitor, '/new-account')
    found.push(
      ...places.map((target) => ({ door: 'pages', method: 'GET', target, headers })),
      ...[...forms.values()].map(({ action, fields }): FuzzRequest => ({
        door: 'forms',
        method: 'POST',
        target: action,
        headers: [...headers, ['Origin', grid.url], formType],
        body: { fields: [...fields, ['csrf', csrf]] },
        isLast: endings.test(action),
      })),
    )
  }
  return found
}

function bearer(key: string): [string, string] {
  return ['Authorization', `Bearer ${key}`]
}
