/** Requests of MCP clients of both protocol eras, in wire format. */
import type { TestGrid } from './grid.ts'

export type Era = 'legacy' | 'modern'
export const eras: Era[] = ['legacy', 'modern']

export const gridPath = '/mcp/v1/grid'
export const signupPath = '/mcp/v1/signup'

/** A request's headers and body, which tests may change. */
export interface WireRequest {
  headers: Record<string, string>
  // deno-lint-ignore no-explicit-any -- tests make it invalid on purpose
  body: any
}

/** Returns the `_meta` of the modern era, with additional entries. */
export function envelope(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'demo', version: '1' },
    ...more,
  }
}

/** Creates a request as a well-behaved client of the era sends it. */
export function wireRequest(era: Era, method: string, params?: Record<string, unknown>, id: unknown = 1): WireRequest {
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': era === 'modern' ? '2026-07-28' : '2025-11-25',
  }
  if (era === 'legacy') return { headers, body: { jsonrpc: '2.0', id, method, ...(params && { params }) } }
  headers['Mcp-Method'] = method
  const name = params?.name ?? params?.uri
  if (typeof name === 'string') headers['Mcp-Name'] = name
  return { headers, body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope() } } }
}

/** A response and its parsed body, if it has one. */
export interface WireResponse {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/** Sends a request with a credential, or without one if `key` is undefined. */
export async function sendWire(
  grid: Pick<TestGrid, 'request'>,
  key: string | undefined,
  { headers, body }: WireRequest,
  path: string = gridPath,
): Promise<WireResponse> {
  const authorization: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const response = await grid.request(path, {
    method: 'POST',
    headers: { ...headers, ...authorization },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** Sends a well-behaved client's request. */
export function mcp(
  grid: Pick<TestGrid, 'request'>,
  key: string,
  method: string,
  params?: Record<string, unknown>,
  era: Era = 'legacy',
) {
  return sendWire(grid, key, wireRequest(era, method, params))
}

/** Calls a tool. See `toolResult`. */
export async function callTool(
  grid: Pick<TestGrid, 'request'>,
  key: string,
  name: string,
  args: Record<string, unknown> = {},
  era: Era = 'legacy',
) {
  const { body } = await mcp(grid, key, 'tools/call', { name, arguments: args }, era)
  if (body.error) throw new Error(`${body.error.code} ${body.error.message}`)
  return toolResult(body.result, name)
}

/** The name of the field that contains the list in an agent tool's answer, for tools that return a list. */
const lists: Record<string, string> = {
  read_messages: 'messages',
  search_messages: 'messages',
  list_agents: 'agents',
  list_channels: 'channels',
  list_skills: 'skills',
  list_reservations: 'reservations',
}

/** Returns a tool call's result: the JSON object in its text, and the error. */
// deno-lint-ignore no-explicit-any -- the results of tools differ
export function toolResult(result: any, tool: string) {
  const whole = JSON.parse(result.content[0].text)
  const list = result.isError ? undefined : lists[tool]
  const { [list ?? '']: listed, ...others } = whole
  return {
    /** The complete object. */
    whole,
    /** The list, for a tool that returns one; otherwise the complete object. */
    text: list === undefined ? whole : listed,
    /** The fields next to the list, such as how to continue and how much remains. */
    more: list === undefined || Object.keys(others).length === 0 ? undefined : others,
    code: result.isError ? whole.error.code as string : undefined,
    message: result.isError ? whole.error.message as string : undefined,
  }
}
