/** Every route of the service. */
import { type Context, Hono } from 'hono'
import { a2aGrid } from './a2a/endpoint.ts'
import { agentCard } from './a2a/agent-card.ts'
import { bearer } from './auth/bearer.ts'
import { type AppEnv, edge, finish } from './edge.ts'
import { GridError } from './errors.ts'
import { clientAddress } from './lib/address.ts'
import { mcpGrid, mcpSignup } from './mcp/endpoint.ts'
import { resourceMetadata } from './oauth/metadata.ts'
import { live, ready } from './rest/health.ts'
import { restSignup } from './rest/signup.ts'
import type { Store } from './store/store.ts'
import { welcome } from './web/welcome.tsx'
import { asGridError, restError, rpcFrameError } from './wire.ts'

/** The grid as a function from request to response, unchanged on Node, Deno and Bun. */
export function createApp(store: Store): Hono<AppEnv> {
  const { deps } = store
  const authenticate = bearer(store)
  const app = new Hono<AppEnv>({ strict: true })
  const address = (c: Context<AppEnv>) =>
    clientAddress(c.env.remoteAddress, c.req.header('x-forwarded-for') ?? null, deps.config.trustedProxies)

  app.use(async (c, next) => {
    await next()
    finish(c.res, c.get('requestId'))
  })
  app.use(edge(deps))

  const mcp = mcpGrid(authenticate, deps)
  app.all('/mcp/v1/grid', (c) => mcp(c.req.raw))
  app.all('/api/v1/grid', (c) => mcp(c.req.raw))
  app.all('/mcp/v1/signup', (c) => mcpSignup(store, c.req.raw, address(c)))

  const a2a = a2aGrid(authenticate, deps)
  const card = agentCard(deps)
  app.get('/.well-known/agent-card.json', (c) => card(c.req.raw))
  app.get('/.well-known/agent.json', (c) => card(c.req.raw))
  for (const path of ['/a2a/v1/grid', '/a2a/v1/grid/']) {
    app.get(path, (c) => card(c.req.raw))
    app.post(path, (c) => a2a(c.req.raw))
  }
  app.get('/a2a/v1/.well-known/agent-card.json', (c) => card(c.req.raw))
  app.get('/a2a/v1/grid/.well-known/agent-card.json', (c) => card(c.req.raw))

  app.post('/api/v1/agentic-signup', (c) => restSignup(store, c.req.raw, address(c)))
  app.get('/.well-known/oauth-protected-resource/*', (c) => resourceMetadata(deps, c.req.raw))
  app.get('/.well-known/oauth-protected-resource', (c) => resourceMetadata(deps, c.req.raw))

  app.get('/healthz', () => live())
  app.get('/readyz', () => ready(store))
  app.get('/', () => welcome(deps.config))

  app.notFound((c) => restError(new GridError('not_found', `There is nothing at ${c.req.method} ${c.req.path}.`)))
  app.onError((error, c) => {
    const requestId = c.get('requestId')
    const known = asGridError(error, deps.log, requestId)
    const answer = isRpcPath(c.req.path) ? rpcFrameError(known, -32600) : restError(known)
    return finish(answer, requestId)
  })
  return app
}

/** Callers of these paths read JSON-RPC and nothing else, also in a refusal. */
function isRpcPath(path: string): boolean {
  return path.startsWith('/mcp/') || path.startsWith('/a2a/') || path === '/api/v1/grid'
}
