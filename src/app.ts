/** Every route of the service. */
import { type Context, Hono } from 'hono'
import { agentCard, cardPaths } from './a2a/agent-card.ts'
import { a2aGrid } from './a2a/endpoint.ts'
import { gridRoutingPath, gridRoutingText } from './a2a/grid-routing.ts'
import { bearer } from './auth/bearer.ts'
import { sessions } from './auth/session.ts'
import { type AppEnv, edge, servedOrigins } from './edge.ts'
import { GridError } from './errors.ts'
import { clientAddress } from './lib/address.ts'
import { Answers } from './lib/answers.ts'
import { mcpGrid, mcpSignup } from './mcp/endpoint.ts'
import { protectedResources } from './oauth/metadata.ts'
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
  const answers = new Answers(origins.every((origin) => origin.startsWith('https:')))
  app.use(edge(deps, answers))

  const resources = protectedResources(origins)
  const mcp = mcpGrid(authenticate, answers, deps, resources.metadataUrl)
  const mcpForSignup = mcpSignup(store, answers)
  app.all('/mcp/v1/grid', (c) => mcp(c.req.raw, c.get('requestId')))
  app.all('/api/v1/grid', (c) => mcp(c.req.raw, c.get('requestId')))
  app.all('/mcp/v1/signup', (c) => mcpForSignup(c.req.raw, c.get('requestId'), address(c)))

  const a2a = a2aGrid(authenticate, deps)
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

  app.get('/healthz', () => live())
  app.get('/readyz', () => ready(store))
  for (const asset of assets) app.get(asset.path, () => serveAsset(asset))
  app.route('/', web({ store, sessions: sessions(store, origins), address }))

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
