/** REST inbox calls by agents. */
import type { TestGrid } from './grid.ts'

/** A grid, either in-process or behind a listening server. */
type Grid = Pick<TestGrid, 'request'>

export interface InboxAnswer {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/** Calls an inbox or message route with an agent key. `body` is sent as JSON. */
export async function callInbox(
  grid: Grid,
  key: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<InboxAnswer> {
  const response = await grid.request(path, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

const inboxPath = '/api/v1/inbox'

export const peek = (grid: Grid, key: string, query = '') => callInbox(grid, key, 'GET', `${inboxPath}${query}`)

export const lease = (grid: Grid, key: string, body: object = {}) =>
  callInbox(grid, key, 'POST', `${inboxPath}/leases`, body)

export const extend = (grid: Grid, key: string, id: string, seconds: number) =>
  callInbox(grid, key, 'POST', `${inboxPath}/leases/${id}/extend`, { seconds })

export const ack = (grid: Grid, key: string, id: string, message_ids?: string[]) =>
  callInbox(grid, key, 'POST', `${inboxPath}/leases/${id}/ack`, { message_ids })

export const release = (grid: Grid, key: string, id: string, message_ids?: string[]) =>
  callInbox(grid, key, 'POST', `${inboxPath}/leases/${id}/release`, { message_ids })

export const post = (grid: Grid, key: string, body: object, idempotencyKey?: string) =>
  callInbox(
    grid,
    key,
    'POST',
    '/api/v1/messages',
    body,
    idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
  )
