/** All routes of the service. */
import { Hono } from 'hono'
import { callbackPath, remoteCallback } from './a2a/callbacks.ts'
import { agentCardPaths, card10Paths, Cards, extendedCardPaths, rootCardPaths } from './a2a/cards/cards.ts'
import { keySetPath } from './a2a/cards/signing.ts'
import { a2aGrid } from './a2a/endpoint.ts'
import { extensionTexts } from './a2a/extensions.ts'
import { a2aHttpJson, a2aPathError } from './a2a/http-json.ts'
import { pushAttempt } from './a2a/push.ts'
import { createAuthenticator, createCallLimits, keysOnly } from './auth/bearer.ts'
import { createSessions } from './auth/session.ts'
import { askedOrigin, createCallLog, createEdge, programOrigins, servedOrigins } from './edge.ts'
import { GridError } from './errors.ts'
import { features, webFeatures } from './features.ts'
import { publicCors } from './lib/http/cors.ts'
import { requestPath } from './lib/http/request-path.ts'
import { refusedKeyLimit } from './lib/limits/call-limits.ts'
import { redact } from './lib/redact.ts'
import { ResponseHeaders } from './lib/http/response-headers.ts'
import { mcpGrid, mcpSignup } from './mcp/endpoint.ts'
import { authorizePage } from './oauth/authorize.ts'
import { documentProbe } from './oauth/client-document.ts'
import { createClients } from './oauth/clients.ts'
import { authorizeDecision } from './oauth/decision.ts'
import { oauthEndpoint } from './oauth/form.ts'
import { issuerAt, protectedResources, resourceReader, serverMetadata, serverMetadataPaths } from './oauth/metadata.ts'
import { registerClient } from './oauth/register.ts'
import { revokeEndpoint, tokenEndpoint } from './oauth/token.ts'
import type { AppEnv, Route } from './request-context.ts'
import { live, ready } from './rest/health.ts'
import { clientPackage, joinText, llmsText } from './rest/join.ts'
import { handlerOf, type Route as RestRoute } from './rest/route.ts'
import { restRoutes } from './rest/routes.ts'
import type { Store } from './store/store.ts'
import { assets, manifest } from './web/assets.ts'
import { AttentionCounts } from './web/attention/counts.ts'
import { errorFrame } from './web/error-frame.ts'
import { livePath, liveStream } from './web/live.ts'
import { inChosenTheme } from './web/theme.ts'
import { createWebApp } from './web/web.ts'
import { htmlError, restError, rpcFrameError } from './wire.ts'

/** The grid as a request handler, identical on Node, Deno and Bun. */
export function createApp(store: Store): Hono<AppEnv> {
  const { deps } = store
  const { config, overload } = deps
  const origins = programOrigins(config)
  const asked = askedOrigin(config)
  /** The edge rejects requests for other hosts. */
  const originOf = (request: Request) => asked(request) ?? config.baseUrl
  const responseHeaders = new ResponseHeaders(origins.every((origin) => origin.startsWith('https:')))

  const authenticate = createAuthenticator(store)
  const refusedKeys = refusedKeyLimit()
  const withCallLimits = createCallLimits(store, refusedKeys)
  const authenticateCall = withCallLimits(authenticate)
  const authenticateKey = withCallLimits(keysOnly(authenticate))
  const cards = new Cards(store, authenticateKey, originOf)
  const people = createSessions(store, servedOrigins(config))
  const attention = new AttentionCounts(deps)
  const resources = protectedResources(originOf)
  const oauth = { store, clients: createClients(store), resourceOf: resourceReader(origins) }
  const asRoute = (route: RestRoute): Route => {
    const handler = handlerOf(route, store, { call: authenticateCall, key: authenticateKey })
    return [route.method, route.path.replace(/{(\w+)}/g, ':$1'), handler]
  }
  const authorize = { ...oauth, sessions: people, issuerAt: (host?: string) => issuerAt(host, origins, config) }

  const a2aRpc = a2aGrid(authenticateKey, deps, cards)
  const grid = mcpGrid(authenticateCall, responseHeaders, deps, resources.metadataUrl)

  /** Routes that pages of any origin may call, because each request carries its own credential. */
  const openToPages: Route[] = [
    ['ALL', ['/mcp/v1/grid', '/api/v1/grid'], grid],
    ['ALL', '/mcp/v1/signup', mcpSignup(store, responseHeaders)],

    ['GET', [...rootCardPaths, card10Paths.root], cards.root],
    ['GET', [...agentCardPaths, card10Paths.agent], cards.agent],
    ['GET', extendedCardPaths, cards.extended],
    ['GET', keySetPath, cards.keySet],
    ['GET', '/a2a/ext/:name/v1', extensionTexts(config)],

    ...restRoutes.filter((route) => route.isOpenToPages).map(asRoute),

    ['GET', ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/*'], resources.metadata],
    ['GET', serverMetadataPaths, serverMetadata(config, originOf, documentProbe(deps).canFetch)],
    ['POST', '/oauth/token', oauthEndpoint(tokenEndpoint(oauth))],
    ['POST', '/oauth/register', oauthEndpoint(registerClient(store))],
    ['POST', '/oauth/revoke', oauthEndpoint(revokeEndpoint(oauth))],
  ]
  const others: Route[] = [
    ['POST', ['/a2a/v1/grid', '/a2a/v1/agents/:alias'], a2aRpc],
    ['POST', callbackPath, remoteCallback(store)],
    ...features.flatMap(({ routes }) => routes?.(store, refusedKeys) ?? []),
    ['GET', '/agent-grid.tgz', clientPackage(deps)],
    ['GET', '/llms.txt', llmsText(config)],
    ['GET', '/join.md', joinText(config)],
    ...restRoutes.filter((route) => !route.isOpenToPages).map(asRoute),
    ['GET', ['/oauth/authorize', '/oauth/authorize/:host'], authorizePage(authorize)],
    ['POST', '/oauth/authorize', authorizeDecision(authorize)],
    ['GET', livePath, liveStream({ store, sessions: people, attention })],
    ['GET', manifest.path, (c) => manifest.answer(c.req.raw)],
    ...assets.map(({ path, answer }): Route => ['GET', path, (c) => answer(c.req.raw)]),
    ...a2aHttpJson(authenticateKey, deps, cards),
  ]

  /** Health checks, which even an overloaded process serves, so that a supervisor can tell that it is alive. */
  const health: Route[] = [
    ['GET', '/healthz', live],
    ['GET', '/readyz', ready(store)],
    ...features.flatMap(({ probes }) => probes?.(store) ?? []),
  ]

  const app = new Hono<AppEnv>({ strict: true, getPath: requestPath })
  app.use(createCallLog(deps))
  app.use(createEdge(deps, responseHeaders))
  addRoutes(health)
  for (const [method, paths] of openToPages) app.on([method, 'OPTIONS'], [paths].flat(), publicCors)
  // Sheds load. See docs/security.md, "Overload".
  app.use(function shed(c, next) {
    overload.check(c.env.waitedMs)
    return next()
  })
  addRoutes(openToPages)
  app.use(inChosenTheme)
  addRoutes(others)
  const pages = { store, sessions: people, attention, features: webFeatures() }
  app.route('/', createWebApp(pages))

  function addRoutes(routes: Route[]): void {
    for (const [method, paths, handler] of routes) app.on(method, [paths].flat(), handler)
  }

  app.notFound(async (c) => {
    const { method } = c.req
    const allowed = methodsOf(c.req.path)
    // The path may contain a token.
    const path = redact(c.req.path)
    const where = method === 'GET' ? path : `${method} ${path}`
    const error = allowed.length === 0
      ? new GridError('not_found', `There is nothing at ${where}.`)
      : new GridError('method_not_allowed', `${path} takes ${allowed.join(', ')}, not ${method}.`)
    // A request for HTML is from a browser, after a click on a link or a typing error. Programs do not request HTML.
    const isPage = c.req.header('accept')?.includes('text/html')
    const answer = isPage
      ? await htmlError(error, await errorFrame(pages, c.req.raw, error))
      : a2aPathError(config, path, error) ?? restError(error)
    if (allowed.length > 0) answer.headers.set('Allow', allowed.join(', '))
    return answer
  })

  /** Returns the methods of the routes that match a path. Ignores middleware, which is registered for all methods. */
  function methodsOf(path: string): string[] {
    const methods = new Set(app.routes.map(({ method }) => method).filter((method) => method !== 'ALL'))
    return [...methods].filter((method) => {
      const [matches] = app.router.match(method, path)
      return matches.some(([[, route]]) => route.method === method)
    })
  }

  app.onError((error, c) => {
    const trace = c.get('trace')
    const known = trace.refusal(error)
    const answer = isRpcPath(c.req.path)
      ? rpcFrameError(known, known.kind === 'unavailable' ? -32603 : -32600)
      : restError(known)
    return responseHeaders.finishError(answer, trace.requestId)
  })

  return app
}

/** Whether the callers of a path parse only JSON-RPC, so that errors must also be JSON-RPC. */
function isRpcPath(path: string): boolean {
  return path.startsWith('/mcp/') || path.startsWith('/a2a/') || path === '/api/v1/grid'
}

/** Returns the functions that make the worker's outgoing requests with bodies in the format of API responses. */
export function outboxAttempts(store: Store): { push: ReturnType<typeof pushAttempt> } {
  return { push: pushAttempt(store) }
}
