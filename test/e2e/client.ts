/** What a client of the grid sends, over HTTP and knowing only its address. */
export interface Answer {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- what a test expects of it is the test
  body: any
}

export type Era = 'legacy' | 'modern'

const clientMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'scenario', version: '1' },
}

export async function get(base: string, path: string): Promise<Answer> {
  return await answerOf(await fetch(base + path))
}

export async function post(
  base: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }
  return await answerOf(await fetch(base + path, { ...request, body: JSON.stringify(body) }))
}

/** An MCP request of a well-behaved client of the era; without a key none is sent. */
export function mcp(
  base: string,
  key: string | undefined,
  method: string,
  params: Record<string, unknown> = {},
  era: Era = 'legacy',
): Promise<Answer> {
  const headers: Record<string, string> = {
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': era === 'modern' ? '2026-07-28' : '2025-11-25',
    ...bearer(key),
  }
  if (era === 'legacy') return post(base, '/mcp/v1/grid', { jsonrpc: '2.0', id: 1, method, params }, headers)
  headers['Mcp-Method'] = method
  if (typeof params.name === 'string') headers['Mcp-Name'] = params.name
  const withMeta = { ...params, _meta: clientMeta }
  return post(base, '/mcp/v1/grid', { jsonrpc: '2.0', id: 1, method, params: withMeta }, headers)
}

/** A tool call; what the tool answered, or its error as `{error: {code, message}}`. */
export async function callTool(base: string, key: string, name: string, args: object = {}, era?: Era) {
  const { body } = await mcp(base, key, 'tools/call', { name, arguments: args }, era)
  if (!body.result) throw new Error(`${name} answered ${JSON.stringify(body)}`)
  return body.result.isError ? JSON.parse(body.result.content[0].text) : body.result.structuredContent
}

export function a2a(base: string, key: string | undefined, method: string, message: object): Promise<Answer> {
  return post(base, '/a2a/v1/grid', { jsonrpc: '2.0', id: 'a-1', method, params: { message } }, bearer(key))
}

export function bearer(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { Authorization: `Bearer ${key}` }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
