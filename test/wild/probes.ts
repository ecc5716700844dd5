import type { WildClient, WildRequest } from './wild.ts'

const plain = (
  method: string,
  path: string,
  host: string,
  status: number,
  headers?: Record<string, string>,
): WildRequest => ({
  does: `${method} ${path} of ${host || 'no host'}`,
  method,
  path,
  headers: { host },
  expect: { status, headers },
})

const client: WildClient = {
  client:
    'probes and plain requests: without Host, as HTTP/1.0 and the plain httpchk of HAProxy send them, and by other names',
  seen: 'by hand, over raw connections; test/e2e/bad-requests.test.ts sends them on each runtime',
  env: { BASE_URL: 'http://localhost:8787', APP_URL: 'http://localhost:8787' },
  requests: [
    plain('GET', '/healthz', '', 200),
    plain('GET', '/readyz', '', 200),
    plain('HEAD', '/healthz', '', 200),
    plain('GET', '/', '', 400),
    plain('OPTIONS', '/', '', 400),
    plain('GET', '/api/v1/me', '', 400),
    plain('HEAD', '/', 'localhost:8787', 200),
    plain('OPTIONS', '/mcp/v1/grid', 'localhost:8787', 204),
    plain('DELETE', '/healthz', 'localhost:8787', 405, { allow: 'GET' }),
    plain('GET', '/llms.txt', '[::1]:8787', 200),
    plain('GET', '/llms.txt', 'LOCALHOST:8787', 200),
    plain('GET', '/llms.txt', 'localhost.:8787', 200),
    plain('GET', '/llms.txt', 'localhost:9999', 421),
  ],
}
export default client
