/**
 * Cross-origin access to routes that use no cookies. Pages of any origin may call these routes with a credential. See
 * docs/protocol/README.md, "Hosts".
 */
import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'

const anyOrigin = cors({
  origin: '*',
  allowMethods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
  // The headers are listed individually, because `*` would not cover `Authorization`.
  allowHeaders: [
    'Authorization',
    'Content-Type',
    'Accept',
    'MCP-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'Mcp-Session-Id',
    'Last-Event-ID',
    'A2A-Version',
    'Idempotency-Key',
    'If-None-Match',
  ],
  exposeHeaders: ['WWW-Authenticate', 'ETag', 'A2A-Version', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
  maxAge: 86_400,
})

/** Answers `OPTIONS` and adds the CORS headers. Only browsers read these headers, so other responses omit them. */
export const publicCors: MiddlewareHandler = function publicCors(c, next) {
  return c.req.method === 'OPTIONS' || c.req.raw.headers.has('origin') ? anyOrigin(c, next) : next()
}
