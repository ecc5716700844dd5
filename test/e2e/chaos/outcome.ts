/** Calls of clients whose answers may get lost. */
import { bearer, mcp, post, toolOutput } from '../client.ts'
import { pause } from '../load.ts'

/** `unknown`: no answer, or an error that asks to repeat the call. */
// deno-lint-ignore no-explicit-any -- results of tools and methods differ
export type Outcome = { done: any } | { refused: string } | 'unknown'

/** The pause before a call is repeated. */
export const pauseMs = 50
/** Error codes that ask to repeat the call. */
const transientCodes = ['storage_full', 'unavailable', 'write_conflict']

/** Call a tool over MCP. */
export async function tool(base: string, key: string, name: string, args: object): Promise<Outcome> {
  const answer = await mcp(base, key, 'tools/call', { name, arguments: args }).catch(() => undefined)
  if (!answer || answer.status >= 500) return 'unknown'
  const { result } = answer.body ?? {}
  if (!result) return { refused: `${answer.status} ${JSON.stringify(answer.body)}` }
  if (!result.isError) return { done: toolOutput(result) }
  const { code, message } = JSON.parse(result.content[0].text).error
  return transientCodes.includes(code) ? 'unknown' : { refused: `${code}: ${message}` }
}

/** Send a message over A2A, optionally under an idempotency key. */
export async function messageSend(
  base: string,
  key: string,
  message: { messageId: string; to: string; text: string },
  idempotencyKey?: string,
): Promise<Outcome> {
  const { messageId, to, text } = message
  const parts = [{ kind: 'text', text }]
  const params = { message: { kind: 'message', messageId, role: 'user', parts, metadata: { to } } }
  const answer = await post(base, '/a2a/v1/grid', { jsonrpc: '2.0', id: 1, method: 'message/send', params }, {
    ...bearer(key),
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
  }).catch(() => undefined)
  if (!answer || answer.status >= 500) return 'unknown'
  if (answer.body?.result) return { done: { message_id: answer.body.result.messageId } }
  return { refused: `${answer.status} ${JSON.stringify(answer.body)}` }
}

/** Repeat a call until its outcome is known. Only for calls that are safe to repeat. */
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
