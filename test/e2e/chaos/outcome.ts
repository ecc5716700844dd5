/** Calls of clients whose responses may get lost. */
import { bearer, mcp, post, toolOutput } from '../client.ts'
import { pause } from '../load.ts'

/** `unknown` means no response, or an error that tells the client to retry the call. */
// deno-lint-ignore no-explicit-any -- results of tools and methods differ
export type Outcome = { done: any } | { refused: string } | 'unknown'

/** Pause before a call is retried. */
export const pauseMs = 50
/** Error codes that tell the client to retry the call. */
const transientCodes = ['storage_full', 'unavailable', 'write_conflict']

/** Calls a tool over MCP. */
export async function tool(base: string, key: string, name: string, args: object): Promise<Outcome> {
  const answer = await mcp(base, key, 'tools/call', { name, arguments: args }).catch(() => undefined)
  if (!answer || answer.status >= 500) return 'unknown'
  const { result } = answer.body ?? {}
  if (!result) return { refused: `${answer.status} ${JSON.stringify(answer.body)}` }
  if (!result.isError) return { done: toolOutput(result) }
  const { code, message } = JSON.parse(result.content[0].text).error
  return transientCodes.includes(code) ? 'unknown' : { refused: `${code}: ${message}` }
}

/** Sends a message over A2A, optionally with an idempotency key. */
export async function messageSend(
  base: string,
  key: string,
  message: { messageId: string; to: string; text: string },
  idempotencyKey?: string,
): Promise<Outcome> {
  const { messageId, to, text } = message
  const parts = [{ kind: 'text', text }]
  const params = { message: { kind: 'message', messageId, role: 'user', parts, metadata: { to } } }
  const outcome = await rpc(base, key, '/a2a/v1/grid', 'message/send', params, idempotencyKey)
  return outcome !== 'unknown' && 'done' in outcome ? { done: { message_id: outcome.done.messageId } } : outcome
}

/** Calls an A2A method at a path, optionally with an idempotency key. */
export async function rpc(
  base: string,
  key: string,
  path: string,
  method: string,
  params: object,
  idempotencyKey?: string,
): Promise<Outcome> {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  const answer = await post(base, path, body, headersOf(key, idempotencyKey)).catch(() => undefined)
  if (!answer || answer.status >= 500) return 'unknown'
  return answer.body?.result
    ? { done: answer.body.result }
    : { refused: `${answer.status} ${JSON.stringify(answer.body)}` }
}

/** Posts to the REST API, optionally with an idempotency key. */
export async function rest(
  base: string,
  key: string,
  path: string,
  body: object,
  idempotencyKey?: string,
): Promise<Outcome> {
  const answer = await post(base, path, body, headersOf(key, idempotencyKey)).catch(() => undefined)
  if (!answer || answer.status >= 500) return 'unknown'
  if (answer.status < 300) return { done: answer.body }
  const { code, message } = answer.body.error
  return transientCodes.includes(code) ? 'unknown' : { refused: `${code}: ${message}` }
}

function headersOf(key: string, idempotencyKey?: string): Record<string, string> {
  return { ...bearer(key), ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }) }
}

/** Retries a call until its outcome is known. Only for calls that are safe to retry. */
export async function settled(
  attempt: () => Promise<Outcome>,
  onUnknown: () => void = () => {},
): Promise<Exclude<Outcome, 'unknown'>> {
  for (;;) {
    const outcome = await attempt()
    if (outcome !== 'unknown') return outcome
    onUnknown()
    await pause(pauseMs)
  }
}
