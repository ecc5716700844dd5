/** An A2A agent outside the grid. Each test chooses its behaviour. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RemoteCall {
  method: string
  params: Record<string, unknown> & { message?: RemoteMessage; id?: string }
  headers: IncomingHttpHeaders
  at: number
}

interface RemoteMessage {
  messageId: string
  contextId?: string
  taskId?: string
  parts: Record<string, unknown>[]
  metadata?: Record<string, unknown>
}

/**
 * The agent's response: the method's result, an HTTP status, a JSON-RPC error, bytes, `hang`, or a function that
 * responds.
 */
export type Answer =
  | { raw: string; headers: Record<string, string> }
  | { result: unknown }
  | { status: number }
  | { error: { code: number; message: string } }
  | 'hang'
  | ((response: ServerResponse) => void)

export type RemoteAgent = Awaited<ReturnType<typeof remoteAgent>>

/** Starts an agent on a free port, or on the port of a closed agent. `card` overrides fields of the agent's card. */
export async function remoteAgent(
  answer: (call: RemoteCall) => Answer | Promise<Answer>,
  card: object | ((url: string) => object) = {},
  port = 0,
) {
  const calls: RemoteCall[] = []
  const cardHeaders: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'GET') {
      cardHeaders.push(request.headers)
      if (request.url === '/.well-known/agent-card.json') {
        json(200, typeof card === 'function' ? card(url) : { ...cardOf(url), ...card })
      } else json(404, {})
      return
    }
    let text = ''
    request.on('data', (chunk) => text += chunk).on('end', async () => {
      const isRest = request.url === '/rpc/message:send'
      const { id, method, params } = isRest
        ? { id: 0, method: 'SendMessage', params: JSON.parse(text) }
        : JSON.parse(text)
      const call = { method, params, headers: request.headers, at: Date.now() }
      calls.push(call)
      const said = await answer(call)
      if (said === 'hang') return
      if (typeof said === 'function') return said(response)
      if ('raw' in said) response.writeHead(200, said.headers).end(said.raw)
      else if (isRest && 'result' in said) json(200, said.result)
      else if ('status' in said) json(said.status, { error: 'refused' })
      else json(200, { jsonrpc: '2.0', id, ...said })
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    calls,
    cardHeaders,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

function cardOf(url: string) {
  return {
    name: 'Remote',
    description: 'Answers',
    version: '1',
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'a', name: 'Adding', description: 'Adds', tags: ['math'] }],
  }
}

/** Returns a message as the result of `SendMessage`. */
export function messageResult(text: string, contextId = 'remote-context') {
  return { result: { message: { messageId: crypto.randomUUID(), contextId, role: 'ROLE_AGENT', parts: [{ text }] } } }
}

/** Returns a task with a state, as the result of `SendMessage`, or with `isLook` as the result of `GetTask`. */
export function taskResult(id: string, state: string, { said, made, isLook }: {
  said?: string
  made?: Record<string, unknown>[]
  isLook?: boolean
} = {}) {
  const task = {
    id,
    contextId: 'remote-context',
    status: {
      state: `TASK_STATE_${state}`,
      ...(said && { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: said }] } }),
    },
    ...(made && { artifacts: [{ artifactId: 'a', parts: made }] }),
  }
  return { result: isLook ? task : { task } }
}
