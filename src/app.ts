/** Every route of the service. */
import { type Context, Hono } from 'hono'
import { agentCard, cardPaths } from './a2a/agent-card.ts'
import { a2aGrid } from './a2a/endpoint.ts'
import { gridRoutingPath, gridRoutingText } from './a2a/grid-routing.ts'
import { bearer, keysOnly } from './auth/bearer.ts'
import { sessions } from './auth/session.ts'
import { type AppEnv, edge, servedOrigins } from './edge.ts'
import { GridError } from './errors.ts'
import { clientAddress } from './lib/address.ts'
import { Answers } from './lib/response-headers.ts'
import { mcpGrid, mcpSignup } from './mcp/endpoint.ts'
import { oauthApiKey } from './oauth/api-key.ts'
import { authorizePage } from './oauth/authorize.ts'
import { createClients } from './oauth/clients.ts'
import { authorizeDecision } from './oauth/decision.ts'
import { documentProbe } from './oauth/document-probe.ts'
import { oauthEndpoint } from './oauth/endpoint.ts'
import { protectedResources } from './oauth/metadata.ts'
import { registerClient } from './oauth/register.ts'
import { resourceReader } from './oauth/resources.ts'
import { revokeToken } from './oauth/revoke.ts'
import { serverMetadata, serverMetadataPaths } from './oauth/server-metadata.ts'
import { tokenEndpoint } from './oauth/token.ts'
import { live, ready } from './rest/health.ts'
import { restSignup } from './rest/signup.ts'
import { wakeStream } from './rest/wake-stream.ts'
import type { Store } from './store/store.ts'
import { assets, serveAsset } from './web/assets.ts'
import { web } from './web/web.ts'
import { asGridError, htmlError, restError, rpcFrameError } from './wire.ts'

/** The grid as a function from request to response, unchanged on Node, Deno and Bun. */
export function createApp(store: Store): Hono<AppEnv> {
  const { deps } = store
  const authenticate = bearer(store)
  const app = new Hono<AppEnv>({ strict: true })
  const address = (c: Context<AppEnv>) =>
    clientAddress(c.env.remoteAddress, c.req.header('x-forwarded-for') ?? null, deps.config.trustedProxies)

  const origins = servedOrigins(deps.config)
  const people = sessions(store, origins)
  const answers = new Answers(origins.every((origin) => origin.startsWith('https:')))
  app.use(edge(deps, answers))

  const resources = protectedResources(origins, deps.config.appUrl)
  const mcp = mcpGrid(authenticate, answers, deps, resources.metadataUrl)
  const mcpForSignup = mcpSignup(store, answers)
  app.all('/mcp/v1/grid', (c) => mcp(c.req.raw, c.get('requestId'), c.env.delivered))
  app.all('/api/v1/grid', (c) => mcp(c.req.raw, c.get('requestId'), c.env.delivered))
  app.all('/mcp/v1/signup', (c) => mcpForSignup(c.req.raw, c.get('requestId'), address(c)))

  const a2a = a2aGrid(keysOnly(authenticate), deps)
  const card = agentCard(deps)
  for (const path of cardPaths) app.on(['GET', 'OPTIONS'], path, (c) => card(c.req.raw))
  for (const path of ['/a2a/v1/grid', '/a2a/v1/grid/']) app.post(path, (c) => a2a(c.req.raw, c.get('requestId')))
  app.get(gridRoutingPath, () => gridRoutingText(deps))

  app.post('/api/v1/agentic-signup', (c) => restSignup(store, c.req.raw, address(c)))
  const wake = wakeStream(authenticate)
  app.on(['GET', 'OPTIONS'], '/api/agents/wake-stream', (c) => wake(c.req.raw))
  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/*']) {
    app.on(['GET', 'OPTIONS'], path, (c) => resources.metadata(c.req.raw))
  }

  const clients = createClients(store)
  const metadata = serverMetadata(deps.config, origins, documentProbe(deps).areRead)
  for (const path of serverMetadataPaths) app.on(['GET', 'OPTIONS'], path, (c) => metadata(c.req.raw))
  const resourceOf = resourceReader(origins)
  const authorize = {
    store,
    sessions: people,
    issuer: deps.config.appUrl,
    clients,
    redirectAllow: deps.config.oauthRedirectAllow,
    resourceOf,
  }
  const showPicker = authorizePage(authorize)
  const decide = authorizeDecision(authorize)
  app.get('/oauth/authorize', (c) => showPicker(c.req.raw, c.get('requestId')))
  app.post('/oauth/authorize', (c) => decide(c.req.raw, c.get('requestId')))
  const endpoints = {
    '/oauth/token': oauthEndpoint(deps.log, async (request) => {
      return Response.json(await tokenEndpoint({ store, clients, resourceOf }, request))
    }),
    '/oauth/register': oauthEndpoint(deps.log, (request, address) => registerClient(store, request, address)),
    '/oauth/revoke': oauthEndpoint(deps.log, async (request, _address, requestId) => {
      await revokeToken(store, clients, request, requestId)
      return new Response(null, { status: 200 })
    }),
  }
  for (const [path, endpoint] of Object.entries(endpoints)) {
    app.on(['POST', 'OPTIONS'], path, (c) => endpoint(c.req.raw, c.get('requestId'), address(c)))
  }
  const apiKey = oauthApiKey(authenticate)
  app.on(['POST', 'OPTIONS'], '/api/oauth/api-key', (c) => apiKey(c.req.raw, c.get('requestId')))

  app.get('/healthz', () => live())
  app.get('/readyz', () => ready(store))
  for (const asset of assets) app.get(asset.path, () => serveAsset(asset))
  app.route('/', web({ store, sessions: people, address }))

  app.notFound((c) => {
    const { method, path } = c.req
    const allowed = app.routes.filter((route) => route.path === path && route.method !== 'ALL').map(({ method }) =>
      method
    )
    if (allowed.length === 0) {
      const error = new GridError('not_found', `There is nothing at ${method} ${path}.`)
      // Somebody in a browser, by a link or a slip: programs do not ask for HTML.
      return c.req.header('accept')?.includes('text/html') ? htmlError(error) : restError(error)
    }
    const answer = restError(new GridError('method_not_allowed', `${path} takes ${allowed.join(', ')}, not ${method}.`))
    answer.headers.set('Allow', allowed.join(', '))
    return answer
  })
  app.onError((error, c) => {
    const requestId = c.get('requestId')
    const known = asGridError(error, deps.log, requestId)
    const answer = isRpcPath(c.req.path) ? rpcFrameError(known, -32600) : restError(known)
    return answers.refuse(answer, requestId)
  })
  return app
}

/** Callers of these paths read JSON-RPC and nothing else, also in a refusal. */
function isRpcPath(path: string): boolean {
  return path.startsWith('/mcp/') || path.startsWith('/a2a/') || path === '/api/v1/grid'
}
