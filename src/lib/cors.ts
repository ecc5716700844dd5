/** Cross-origin access to what needs no cookie: any page may ask, and brings its own credential. Security: O19. */

// `*` would not cover `Authorization`, so every header is named.
const requestHeaders = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
  'Last-Event-ID',
  'A2A-Version',
  'If-None-Match',
].join(', ')

/** The headers of every answer. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'WWW-Authenticate, ETag, A2A-Version',
} as const

/** The answer to a preflight: 204. `methods` as in `POST, OPTIONS`. */
export function preflight(methods: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders,
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': requestHeaders,
      'Access-Control-Max-Age': '86400',
    },
  })
}
