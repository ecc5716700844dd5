/** Requests of clients over HTTP to a grid known only by its URL. */
import { type Era, gridPath, wireRequest } from '../support/mcp.ts'
import { waitFor } from '../support/wait-for.ts'

export interface ApiResponse {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

export async function get(base: string, path: string): Promise<ApiResponse> {
  return await answerOf(await fetch(base + path))
}

export async function post(
  base: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }
  return await answerOf(await fetch(base + path, { ...request, body: JSON.stringify(body) }))
}

/** Sends an MCP request as a correct client of the era does, without a credential if `key` is undefined. */
export function mcp(
  base: string,
  key: string | undefined,
  method: string,
  params: Record<string, unknown> = {},
  era: Era = 'legacy',
): Promise<ApiResponse> {
  const { headers, body } = wireRequest(era, method, params)
  return post(base, gridPath, body, { ...headers, ...bearer(key) })
}

/** Calls a tool. Resolves to its `toolOutput`. */
export async function callTool(base: string, key: string, name: string, args: object = {}, era?: Era) {
  const { body } = await mcp(base, key, 'tools/call', { name, arguments: args }, era)
  if (!body.result) throw new Error(`${name} answered ${JSON.stringify(body)}`)
  return toolOutput(body.result)
}

/** A tool's result object, or its error as `{error: {code, message}}`. */
// deno-lint-ignore no-explicit-any -- the results of tools differ
export function toolOutput({ content: [{ text }] }: any): any {
  return JSON.parse(text)
}

/**
 * Resolves when the server has authenticated an agent's first call. If the call waits, its wait has begun by then.
 * `key` belongs to a different agent of the account.
 */
export async function firstCall(base: string, key: string, alias: string): Promise<void> {
  await waitFor(`the first call of @${alias}`, async () => {
    const { agents } = await callTool(base, key, 'list_agents', { search: alias })
    return agents.some((agent: { alias: string; last_seen: string | null }) =>
      agent.alias === `@${alias}` && agent.last_seen !== null
    )
  })
}

export function a2a(base: string, key: string | undefined, method: string, message: object): Promise<ApiResponse> {
  return post(base, '/a2a/v1/grid', { jsonrpc: '2.0', id: 'a-1', method, params: { message } }, bearer(key))
}

export function bearer(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { Authorization: `Bearer ${key}` }
}

async function answerOf(response: Response): Promise<ApiResponse> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
