/**
 * An in-memory grid with one inbox: its REST lease endpoints and its wake stream, as in docs/protocol/README.md. For
 * tests of programs that run agents. Tests can make calls fail, revoke keys, and end leases.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { InboxMessage, SendRequest } from '../../src/clients/grid-client.ts'
import { version as ownVersion } from '../../src/lib/version.ts'

interface Entry {
  message: InboxMessage
  state: 'unread' | 'leased' | 'read'
  leaseId?: string
}

interface Failure {
  status: number
  code: string
}

/** A sent message, and its idempotency key. */
interface SentMessage extends SendRequest {
  key: string
}

export type InboxServer = Awaited<ReturnType<typeof startInboxServer>>

/** Starts the grid with the agent `@worker`. */
export async function startInboxServer() {
  const entries: Entry[] = []
  const sent: SentMessage[] = []
  const calls: string[] = []
  const streams = new Map<ServerResponse, string>()
  const failures: { path: RegExp; failure: Failure; isAfter: boolean }[] = []
  const answers = new Map<string, unknown>()
  let isRevoked = false
  let clock = () => Date.now()
  let version = ownVersion
  let attended = false
  const leases = new Set<string>()

  const server = createServer(async (request, response) => {
    const path = request.url!.split('?')[0]
    calls.push(`${request.method} ${path.replace(/leases\/[^/]+\//, 'leases/ID/')}`)
    const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body))
    const fail = ({ status, code }: Failure) => send(status, { error: { code, message: `It failed with ${code}.` } })
    if (isRevoked) return fail({ status: 401, code: 'unauthenticated' })
    const planned = failures.findIndex((plan) => plan.path.test(path))
    const [plan] = planned < 0 ? [] : failures.splice(planned, 1)
    if (plan && !plan.isAfter) return fail(plan.failure)
    if (path === '/api/agents/wake-stream') return openStream(request, response)
    const result = answer(request, path, await bodyOf(request))
    if (plan) return response.destroy()
    return 'code' in result ? fail(result) : send(200, result.ok)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function answer(request: IncomingMessage, path: string, body: Record<string, unknown>): { ok: unknown } | Failure {
    if (path === '/api/v1/me') return { ok: me() }
    if (path === '/api/v1/inbox') return { ok: peek() }
    if (path === '/api/v1/inbox/leases') return { ok: lease(body) }
    if (path === '/api/v1/messages') {
      return store(body as unknown as SendRequest, String(request.headers['idempotency-key']))
    }
    const [, id, action] = path.match(/^\/api\/v1\/inbox\/leases\/([^/]+)\/(\w+)$/) ?? []
    if (id === undefined) return { status: 404, code: 'not_found' }
    if (!leases.has(id)) return { status: 409, code: 'stale_lease' }
    if (action === 'extend') return { ok: { expires_at: new Date().toISOString() } }
    const count = end(id, action === 'ack' ? 'read' : 'unread', body.message_ids as string[] | undefined)
    return { ok: { [action === 'ack' ? 'acked' : 'released']: count } }
  }

  function me() {
    const key = { name: 'claude on laptop', last4: 'abcd' }
    return { agent: '@worker', account: 'Acme', key, grid: { version, url }, clock: new Date(clock()).toISOString() }
  }

  function peek() {
    const unread = entries.filter(({ state }) => state === 'unread').map(({ message }) => message)
    const messages = unread.map(({ message: _, ...summary }) => summary)
    return { agent: '@worker', unread: unread.length, messages, has_more: false, presence: { attended } }
  }

  function lease({ message_ids, limit = 50 }: { message_ids?: string[]; limit?: number }) {
    const found = entries.filter(({ state, message }) =>
      state === 'unread' && (message_ids?.includes(message.message_id) ?? true)
    ).slice(0, limit)
    const id = randomUUID()
    if (found.length > 0) leases.add(id)
    for (const entry of found) Object.assign(entry, { state: 'leased', leaseId: id })
    return {
      lease_id: found.length > 0 ? id : null,
      expires_at: null,
      messages: found.map(({ message }) => message),
      remaining: 0,
    }
  }

  function store(message: SendRequest, key: string): { ok: unknown } | Failure {
    if (answers.has(key)) return { ok: answers.get(key) }
    const { acks } = message
    if (acks && !leases.has(acks.lease_id)) return { status: 409, code: 'stale_lease' }
    sent.push({ ...message, key })
    if (acks) end(acks.lease_id, 'read', acks.message_ids)
    const next = message.next && lease(message.next)
    answers.set(key, { message_id: randomUUID(), recipient: message.to, next })
    return { ok: answers.get(key) }
  }

  /** Ends a lease, or only the lease on these messages. */
  function end(id: string, state: 'unread' | 'read', messageIds?: string[]): number {
    const ended = entries.filter((entry) =>
      entry.state === 'leased' && entry.leaseId === id && (messageIds?.includes(entry.message.message_id) ?? true)
    )
    for (const entry of ended) {
      entry.state = state
      if (state === 'unread') entry.message.redelivered = true
    }
    if (!entries.some((entry) => entry.state === 'leased' && entry.leaseId === id)) leases.delete(id)
    if (state === 'unread') wake()
    return ended.length
  }

  function openStream(request: IncomingMessage, response: ServerResponse): void {
    streams.set(response, new URL(request.url!, 'http://grid').searchParams.toString())
    response.once('close', () => streams.delete(response))
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(entries.some(({ state }) => state === 'unread') ? 'data: wake\n\n' : ': heartbeat\n')
  }

  function wake(): void {
    for (const stream of streams.keys()) stream.write('data: wake\n\n')
  }

  return {
    url,
    sent,
    /** The received calls, such as `GET /api/v1/inbox`. */
    calls,
    /** The query parameters of the open wake streams. */
    streams: () => [...streams.values()],
    /** Puts a message into the inbox and wakes the streams. Returns its id. */
    put(message: Partial<InboxMessage>): string {
      const message_id = randomUUID()
      const { user = '@asker' } = message
      const defaults = {
        message_id,
        channel: 'direct',
        user,
        type: 'agent',
        reply_to: user,
        message: 'What is 6 times 7?',
      }
      entries.push({ message: { ...defaults, ...message }, state: 'unread' })
      wake()
      return message_id
    },
    stateOf: (id: string) => entries.find(({ message }) => message.message_id === id)?.state,
    /** Makes the next call of a path fail. With `isAfter`, the call takes effect but its response is lost. */
    failNext: (path: RegExp, failure: Failure = { status: 503, code: 'overloaded' }, isAfter = false) =>
      failures.push({ path, failure, isAfter }),
    revoke() {
      isRevoked = true
      for (const stream of streams.keys()) stream.end()
    },
    /** Changes the grid's reported clock or version, or marks the agent as attended by a person. */
    pretend(other: { clock?: () => number; version?: string; attended?: boolean }) {
      clock = other.clock ?? clock
      version = other.version ?? version
      attended = other.attended ?? attended
    },
    /** Ends all leases as if they had expired. */
    expire: () => [...leases].forEach((id) => end(id, 'unread')),
    close() {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text === '' ? {} : JSON.parse(text)
}
