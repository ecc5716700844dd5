/** Valid requests for every door, which the fuzz test changes. */
import { postA2a, send03, send10 } from '../../support/a2a.ts'
import { browser } from '../../support/browse.ts'
import { allArguments, type Args, type Call, calls, validArguments } from '../../support/calls.ts'
import { rows } from '../../support/database.ts'
import { eras, gridPath, signupPath, wireRequest } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { routesOf } from '../../support/routes.ts'
import type { LiveGrid } from '../../support/server.ts'
import { pagesOf, type SeededSite, seedSite } from '../../support/site.ts'

/** A request before it is written to a socket. */
export interface FuzzRequest {
  door: string
  method: string
  /** Path and query. */
  target: string
  headers: [name: string, value: string][]
  /** Ends what other requests need: a credential, a role, a session, an object. */
  isLast?: boolean
  /** JSON is changed as a value, a form by its fields, and text byte by byte. */
  body?: { json: unknown } | { fields: [string, string][] } | { text: string }
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

/** Seed the grid and collect its requests, each with how often it is chosen. */
export async function corpusOf(grid: LiveGrid): Promise<{ request: FuzzRequest; weight: number }[]> {
  const site = await seedSite(grid)
  const olga = (await grid.store.global.users.byEmail('olga@acme.example'))!
  const oauth = await accessTokenFor(grid, olga.id, grid.acme.id)
  const keys = { agent: grid.alice.key, admin: grid.acme.adminKey, oauth: oauth.token }
  return [
    ...mcpRequests(keys).map((request) => ({ request, weight: 4 })),
    ...a2aRequests(grid.alice.key).map((request) => ({ request, weight: 40 })),
    ...restRequests(keys, site.guardrail, await largePart(grid)).map((request) => ({ request, weight: 12 })),
    ...oauthRequests(site, oauth.token).map((request) => ({ request, weight: 12 })),
    ...routesOf(grid).map(({ method, path }) => ({ request: plain('routes', method, path, []), weight: 1 })),
    ...await pageRequests(grid, site),
  ]
}

function mcpRequests(keys: Record<'agent' | 'admin' | 'oauth', string>): FuzzRequest[] {
  const callsOf = (caller: string) =>
    calls.filter((call) => call.door === 'mcp' && call.caller === caller).flatMap((call) =>
      argumentsOf(call).map((args) => ['tools/call', { name: call.name, arguments: args }] as const)
    )
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
    clientInfo: { name: 'demo', title: 'Demo', version: '1', icons: [{ src: 'https://x.example/i.png' }] },
  }
  const listen = { notifications: { resourceSubscriptions: ['grid://inbox'], toolsListChanged: true } }
  const methods: (readonly [string, Record<string, unknown>?])[] = [
    ['initialize', initialize],
    ['notifications/initialized'],
    ['notifications/cancelled', { requestId: 1, reason: 'x' }],
    ['ping'],
    ['server/discover'],
    ['tools/list', { cursor: 'x' }],
    ['tools/list'],
    ['resources/list'],
    ['resources/templates/list', { cursor: 'x' }],
    ['resources/read', { uri: 'grid://inbox' }],
    ['resources/read', { uri: 'grid://agents' }],
    ['resources/subscribe', { uri: 'grid://inbox' }],
    ['resources/unsubscribe', { uri: 'grid://inbox' }],
    ['subscriptions/listen', listen],
    ['prompts/list'],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }],
    ['logging/setLevel', { level: 'debug' }],
  ]
  const agent = [...callsOf('agent'), ...methods]
  const admin = [...callsOf('admin'), ...methods]
  const signup = [['tools/call', { name: 'signup', arguments: signupFields }] as const, ...methods]
  const requests = ([['agent', agent], ['admin', admin], ['oauth', admin], ['signup', signup]] as const).flatMap(
    ([caller, messages]) =>
      eras.flatMap((era) =>
        messages.map(([method, params]) => {
          const { headers, body } = wireRequest(era, method, params)
          const path = caller === 'signup' ? signupPath : caller === 'oauth' ? '/api/v1/grid' : gridPath
          const authorization: [string, string][] = caller === 'signup' ? [] : [bearer(keys[caller])]
          const all = [...authorization, ...Object.entries(headers)]
          return { door: `mcp ${caller}`, method: 'POST', target: path, headers: all, body: { json: body } }
        })
      ),
  )
  const accept: [string, string] = ['Accept', 'text/event-stream']
  return [...requests, plain('mcp stream', 'GET', gridPath, [bearer(keys.agent), accept])]
}

/** Arguments of a call: few, and all. */
function argumentsOf(call: Call): Args[] {
  const names = { to: '#release-train', message: 'x', alias: 'fuzzed', name: 'fuzzed', provider: 'pii', since: '1h' }
  return [validArguments(call, names), { ...allArguments(call, names), wait_seconds: undefined }]
}

const signupFields = { owner_email: 'new@x.example', alias: 'new-one', description: 'd', skills: ['a', 'b'] }

function a2aRequests(key: string): FuzzRequest[] {
  const part03 = [{ kind: 'text', text: 'a' }, { kind: 'data', data: { a: 1 } }, {
    kind: 'file',
    file: { bytes: 'AAAA', mimeType: 'image/png', name: 'a.png' },
  }]
  const part10 = [{ text: 'a', mediaType: 'text/plain', filename: 'b' }, { raw: 'AA' }, { data: [1] }]
  const bodies = [
    send03({ parts: part03, contextId: 'c', taskId: null, extensions: [], referenceTaskIds: ['t'] }, {
      configuration: { blocking: true, historyLength: 1, acceptedOutputModes: ['text/plain'] },
      metadata: { x: 1 },
    }),
    send10({ parts: part10, contextId: 'c', metadata: { to: '#release-train' } }, {
      tenant: 'bob',
      configuration: { returnImmediately: true },
    }),
    ...[
      'GetTask',
      'tasks/get',
      'tasks/cancel',
      'SubscribeToTask',
      'message/stream',
      'agent/getAuthenticatedExtendedCard',
    ].map(
      (method) => ({ jsonrpc: '2.0', id: 'a', method, params: { id: 't' } }),
    ),
    {
      ...{ jsonrpc: '2.0', id: 'a', method: 'ListTasks' },
      params: {
        contextId: 'c',
        status: 'TASK_STATE_WORKING',
        pageSize: 5,
        statusTimestampAfter: '2026-11-21T09:00:00Z',
      },
    },
  ]
  return bodies.map((body) => ({
    door: 'a2a',
    method: 'POST',
    target: '/a2a/v1/grid',
    headers: [
      bearer(key),
      ['Content-Type', json],
      ['A2A-Version', body.method === 'SendMessage' ? '1.0' : '0.3'],
      ['A2A-Extensions', 'https://x.example/e'],
      ['Idempotency-Key', 'key'],
    ],
    body: { json: body },
  }))
}

/** Store a message with a part that is set apart. Resolves to the id of the part. */
async function largePart(grid: LiveGrid): Promise<string> {
  const raw = { raw: Buffer.alloc(50_000, 'part').toString('base64'), mediaType: 'image/png' }
  await postA2a(grid, grid.alice.key, send10({ parts: [{ text: 'see the picture' }, raw] }))
  const [{ id }] = await rows(grid, 'SELECT id FROM parts WHERE account_id = ?', [grid.acme.id])
  return String(id)
}

function restRequests(
  { agent, admin }: Record<'agent' | 'admin', string>,
  guardrail: string,
  part: string,
): FuzzRequest[] {
  const things: Record<string, string> = { guardrail, id: part, lease: 'x' }
  const restRequest = ({ name, caller }: Call, { ...fields }: Args): FuzzRequest => {
    const [method, pattern] = name.split(' ')
    const target = pattern.replace(/{(\w+)}/, (_, name: string) => {
      delete fields[name]
      return things[name]
    })
    const hasBody = method === 'POST' || method === 'PATCH'
    const query = new URLSearchParams(fields as Record<string, string>)
    const key = caller === 'admin' ? admin : agent
    return {
      ...plain('rest', method, hasBody ? target : `${target}?${query}`, [
        bearer(key),
        ['Content-Type', json],
        ['Idempotency-Key', 'key'],
      ]),
      ...(hasBody && { body: { json: fields } }),
      isLast: method === 'DELETE',
    }
  }
  return [
    // An alias can be taken once.
    ...['rest-one', 'rest-two', 'rest-three', 'rest-four'].map((alias): FuzzRequest => ({
      door: 'rest signup',
      method: 'POST',
      target: '/api/v1/agentic-signup',
      headers: [['Content-Type', json]],
      body: { json: { ...signupFields, alias } },
    })),
    ...calls.filter(({ door }) => door === 'rest').flatMap((call) =>
      argumentsOf(call).map((args) => restRequest(call, args))
    ),
    plain('rest openapi', 'GET', '/api/v1/openapi.json', [['Accept-Encoding', 'br;q=x']]),
    plain('rest parts', 'GET', `/api/v1/parts/${part}?x=1`, [bearer(agent), ['Range', 'bytes=0-1'], [
      'If-Range',
      '"x"',
    ]]),
    plain('cards', 'GET', '/.well-known/agent-card.json', [['If-None-Match', '"x"']]),
    plain('health', 'GET', '/readyz', []),
  ]
}

function oauthRequests({ links }: SeededSite, token: string): FuzzRequest[] {
  const consent = new URLSearchParams(links.consent.split('?')[1])
  const client: [string, string] = ['client_id', consent.get('client_id')!]
  const post = (target: string, fields: [string, string][]): FuzzRequest => ({
    door: 'oauth',
    method: 'POST',
    target,
    headers: [['Content-Type', form], ['Authorization', `Basic ${btoa(`${client[1]}:grid_cs_x`)}`]],
    body: { fields },
  })
  const redirect: [string, string] = ['redirect_uri', consent.get('redirect_uri')!]
  return [
    post('/oauth/token', [
      ['grant_type', 'authorization_code'],
      ['code', 'x'],
      ['code_verifier', 'v'.repeat(64)],
      client,
      redirect,
    ]),
    post('/oauth/token', [['grant_type', 'refresh_token'], ['refresh_token', token.replace('oat', 'ort')], client, [
      'scope',
      'a',
    ]]),
    post('/oauth/revoke', [['token', `${token}x`], ['token_type_hint', 'access_token'], client]),
    {
      door: 'oauth',
      method: 'POST',
      target: '/oauth/register',
      headers: [['Content-Type', json]],
      body: {
        json: {
          client_name: 'Demo',
          redirect_uris: ['http://127.0.0.1:1/cb', 'https://x.example/cb'],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          scope: 'admin',
          client_uri: 'https://x.example',
        },
      },
    },
    plain('oauth', 'POST', '/api/oauth/api-key', [bearer(token)]),
    plain('oauth', 'GET', `${links.consent}&resource=x&state=s&prompt=login`, []),
    plain('oauth', 'GET', '/.well-known/oauth-protected-resource/mcp/v1/grid', []),
  ]
}

const endings =
  /\/(sign-out|delete|end|end-others|leave|hand-over|remove|role|key|withdraw)$|^\/(claim|reset|verify|new-address)\//

/** Every page, and every form on it as the page fills it. */
async function pageRequests(grid: LiveGrid, site: SeededSite): Promise<{ request: FuzzRequest; weight: number }[]> {
  const found = new Map<string, { request: FuzzRequest; weight: number }>()
  for (const { path, as = 'owner' } of await pagesOf(grid, site)) {
    const target = path(site)
    const visitor = site.browsers[as] ?? browser(grid)
    const { html } = await visitor.open(target)
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers: [string, string][] = [
      ['Accept', 'text/html'],
      ...(cookie ? [['Cookie', cookie] as [string, string]] : []),
    ]
    found.set(`GET ${target} ${as}`, { request: plain('pages', 'GET', target, headers), weight: 4 })
    for (const [, attributes, inner] of html.matchAll(/<form([^>]*)>([^]*?)<\/form>/g)) {
      const action = unescapeHtml(attributes.match(/action="([^"]*)"/)?.[1] ?? target)
      const fields = fieldsOf(inner)
      const isPost = attributes.includes('method="post"')
      const request: FuzzRequest = isPost
        ? {
          door: 'forms',
          method: 'POST',
          target: action,
          headers: [...headers, ['Origin', grid.url], ['Content-Type', form]],
          body: { fields },
          isLast: endings.test(action),
        }
        : plain('pages', 'GET', `${action}?${new URLSearchParams(fields)}`, headers)
      // Hashing a password takes as long as fifty other requests.
      found.set(`${action} ${fields.map(([name]) => name)} ${as}`, {
        request,
        weight: /password|current/.test(inner) ? 1 : 6,
      })
    }
  }
  return [...found.values()]
}

function fieldsOf(html: string): [string, string][] {
  return [...html.matchAll(/<(input|textarea|select|button)([^>]*)>([^<]*)/g)].flatMap(([, , attributes, text]) => {
    const name = attributes.match(/name="([^"]*)"/)?.[1]
    const value = attributes.match(/value="([^"]*)"/)?.[1] ?? text
    return name === undefined ? [] : [[unescapeHtml(name), unescapeHtml(value)] as [string, string]]
  })
}

function unescapeHtml(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&')
}

function plain(door: string, method: string, target: string, headers: [string, string][]): FuzzRequest {
  return { door, method, target, headers }
}

function bearer(key: string): [string, string] {
  return ['Authorization', `Bearer ${key}`]
}
