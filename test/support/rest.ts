/** REST calls. The OpenAPI document must describe every response. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { openApiDocument } from '../../src/rest/openapi.ts'
import { restRoutes } from '../../src/rest/routes.ts'
import type { TestGrid } from './grid.ts'

/** A response, with its body in wire format. */
export interface RestResponse {
  status: number
  headers: Headers
  text: string
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/**
 * Calls a route such as `PATCH /api/v1/guardrails/{guardrail}`. Arguments that the path names go into the path, all
 * others into the query or the body.
 */
export async function callRest(
  grid: TestGrid,
  key: string | undefined,
  route: string,
  args: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<RestResponse> {
  const [method, pattern] = route.split(' ')
  const rest = { ...args }
  const path = pattern.replace(/[:{](\w+)}?/g, (_, name: string) => {
    delete rest[name]
    return encodeURIComponent(String(args[name]))
  })
  const hasBody = ['POST', 'PATCH'].includes(method) || pattern.endsWith('/wake')
  const query = hasBody ? '' : `${new URLSearchParams(rest as Record<string, string>)}`
  const response = await grid.request(query === '' ? path : `${path}?${query}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(hasBody && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(hasBody && { body: JSON.stringify(rest) }),
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream) await response.body!.cancel()
  const text = isStream ? '' : await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const body = isJson ? JSON.parse(text) : {}
  if (isJson) expectAsDocumented(method, pattern.replace(/:(\w+)/g, '{$1}'), response.status, body)
  return { status: response.status, headers: response.headers, text, body }
}

// deno-lint-ignore no-explicit-any -- a document of JSON
const document = openApiDocument(restRoutes, ['http://localhost'], 'closed') as any
const ajv = new Ajv2020({ strict: false, validateFormats: false })
const validators = new Map<string, ValidateFunction | undefined>()

/**
 * Expects that the route documents the status. A success may have only documented fields, and an error must have a
 * documented code.
 */
function expectAsDocumented(method: string, path: string, status: number, body: unknown): void {
  const where = `${method} ${path}: ${status} ${JSON.stringify(body)}`
  const operation = document.paths[path]?.[method.toLowerCase()]
  // Responses outside of any route are not checked.
  if (!operation || status === 404 && (body as { error?: { code: string } }).error?.code === 'not_found') return
  const key = `${method} ${path} ${status}`
  if (!validators.has(key)) {
    const response = operation.responses[status]
    expect(response, where).toBeDefined()
    const schema = response.content?.['application/json']?.schema
    // The schema's references point to the document's components.
    validators.set(key, schema && ajv.compile({ ...schema, components: document.components }))
  }
  const validate = validators.get(key)
  if (validate) expect(validate(body) ? [] : validate.errors, where).toEqual([])
}
