/** An A2A client: requests and responses as they are on the wire. */
import type { GridMessage } from '../../src/grid/messaging/inbox-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import type { TestAgent, TestGrid } from './grid.ts'

export const endpoint = '/a2a/v1/grid'

/** A response of the JSON-RPC endpoint. */
export interface A2aResponse {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/** POST a body, given as text or as JSON, with the key of an agent. */
export async function postA2a(
  grid: TestGrid,
  key: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
  path = endpoint,
): Promise<A2aResponse> {
  const credential: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const response = await grid.post(path, body, { ...credential, ...headers })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** A `message/send` (0.3) with these fields of the message over the usual ones. */
export function send03(message: Record<string, unknown> = {}, params: Record<string, unknown> = {}) {
  return request('message/send', {
    message: {
      kind: 'message',
      messageId: '6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11',
      role: 'user',
      parts: [{ kind: 'text', text: 'hi' }],
      metadata: { to: '@bob' },
      ...message,
    },
    ...params,
  })
}

/** A `SendMessage` (1.0) with these fields of the message over the usual ones. */
export function send10(message: Record<string, unknown> = {}, params: Record<string, unknown> = {}) {
  return request('SendMessage', {
    message: {
      messageId: '6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11',
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
      metadata: { to: '@bob' },
      ...message,
    },
    ...params,
  })
}

export function request(method: unknown, params?: unknown, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

/** The `google.rpc.ErrorInfo` of an error. */
export function errorInfo(reason: string, domain: string, metadata?: Record<string, string>) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain, metadata }
}

/** The unread messages of an agent. Reading them leases them. */
export async function inboxOf(grid: TestGrid, agent: TestAgent): Promise<GridMessage[]> {
  const account = agent === grid.eve ? grid.evil : grid.acme
  const actor = { type: 'agent', agentId: agent.id, alias: agent.alias, credentialId: 'test' } as const
  return (await readMessages(grid.store.account(account.id, actor), {})).messages
}
