import type { A2aVersion, Codec } from './codec.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, heartbeat } from '../lib/http/event-stream.ts'
import type { AccountStore } from '../store/account.ts'

/** A validated request of either binding. `params` are validated by the operation. */
export interface MethodCall {
  account: AccountStore
  codec: Codec
  /** The method's name in the codec's version. */
  method: string
  params: unknown
  /** The aliases in the path, from the endpoint or the tenant. Empty on the shared endpoint. */
  aliases: readonly string[]
  /** The URIs of the extensions activated by the request. */
  extensions: readonly string[]
  /** The `Idempotency-Key` header. */
  idempotencyKey: string | undefined
  cards: { extendedCard(account: AccountStore, version: A2aVersion, alias?: string): Promise<unknown> }
  /** The client's maximum wait, from the `Prefer` header (RFC 7240 §4.3). */
  waitSeconds: number | undefined
  /** The last event that the client received, from the `Last-Event-ID` header. */
  lastEventId: number | undefined
  connection: CallerConnection
  /** Fails if the credential is no longer valid. */
  check(): Promise<unknown>
}

export type StreamItem = { id?: number; result: unknown } | 'heartbeat'

/** The result of a streaming operation. A failure before the stream starts gets an ordinary error response. */
export class EventStream {
  readonly items: AsyncGenerator<StreamItem>

  constructor(items: AsyncGenerator<StreamItem>) {
    this.items = items
  }
}

/** Creates a stream's response. `frame` converts a result to an event's data. */
export function streamResponse(
  { items }: EventStream,
  connection: CallerConnection,
  headers: Record<string, string>,
  frame: (result: unknown) => unknown,
): Response {
  const response = eventStream(frames(items, frame), connection)
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

async function* frames(
  items: AsyncGenerator<StreamItem>,
  frame: (result: unknown) => unknown,
): AsyncGenerator<string> {
  for await (const item of items) {
    yield item === 'heartbeat' ? heartbeat : event(JSON.stringify(frame(item.result)), undefined, item.id)
  }
}
