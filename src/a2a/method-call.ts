import type { A2aVersion, Codec } from './codec.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, heartbeat } from '../lib/http/event-stream.ts'
import type { AccountStore } from '../store/account.ts'

/** A checked request of either binding. `params` is not read yet. */
export interface MethodCall {
  account: AccountStore
  codec: Codec
  /** The name of the method in the version of the codec. */
  method: string
  params: unknown
  /** The aliases in the path: of the endpoint, or of the tenant. Empty on the shared endpoint. */
  aliases: readonly string[]
  /** The URIs of the extensions that the request activates. */
  extensions: readonly string[]
  /** The `Idempotency-Key` header. */
  idempotencyKey: string | undefined
  cards: { extendedCard(account: AccountStore, version: A2aVersion, alias?: string): Promise<unknown> }
  /** The longest wait the client wants, from the `Prefer` header (RFC 7240 §4.3). */
  waitSeconds: number | undefined
  /** The last event that the client has seen, from the `Last-Event-ID` header. */
  lastEventId: number | undefined
  connection: CallerConnection
  /** Fails when the credential has ended. */
  check(): Promise<unknown>
}

export type StreamItem = { id?: number; result: unknown } | 'heartbeat'

/** The result of an operation that streams. What fails before it is answered as any other call. */
export class EventStream {
  readonly items: AsyncGenerator<StreamItem>

  constructor(items: AsyncGenerator<StreamItem>) {
    this.items = items
  }
}

/** The response of a stream; `frame` makes the data of an event from a result. */
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
