/** Calls of the REST endpoints of admins and agents, as the matrices make them. */
import type { TestGrid } from './grid.ts'

/** A response, with its body as it is on the wire. */
export interface RestResponse {
  status: number
  headers: Headers
  text: string
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/**
 * Call a route such as `PATCH /api/v1/guardrails/{guardrail}`. Arguments that the path names go into it, the others into
 * the query or the body.
 */
export async function callRest(
  grid: TestGrid,
  key: string | undefined,
  route: string,
  args: Record<string, unknown> = {},
): Promise<RestResponse> {
  const [method, pattern] = route.split(' ')
  const rest = { ...args }
  const path = pattern.replace(/[:{](\w+)}?/g, (_, name: string) => {
    delete rest[name]
    return encodeURIComponent(String(args[name]))
  })
  const hasBody = method === 'POST' || method === 'PATCH'
  const query = hasBody ? '' : `${new URLSearchParams(rest as Record<string, string>)}`
  const response = await grid.request(query === '' ? path : `${path}?${query}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(hasBody && { 'Content-Type': 'application/json' }),
    },
    ...(hasBody && { body: JSON.stringify(rest) }),
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream) await response.body!.cancel()
  const text = isStream ? '' : await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} }
}
