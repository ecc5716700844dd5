/** A fake model with Anthropic's Messages API. It calls one tool, and then says that it is done. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Identity } from './environment.ts'

export interface FakeModel {
  /** Without `/v1`. */
  url: string
  close(): Promise<void>
}

interface MessagesRequest {
  stream?: boolean
  tools?: { name: string }[]
  messages: { content: string | { type: string }[] }[]
}

type Content = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown }

/** Start a model that calls the tool of the identity. Clients add a prefix to tool names. */
export async function startFakeModel({ tool, arguments: input }: Identity): Promise<FakeModel> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    if (!request.url!.startsWith('/v1/messages?') && request.url !== '/v1/messages') {
      return response.writeHead(404).end('{}')
    }
    const body: MessagesRequest = JSON.parse(text)
    const name = body.tools?.map((tool) => tool.name).find((name) => name.endsWith(`_${tool}`))
    const content: Content = name === undefined || hasResult(body)
      ? { type: 'text', text: 'Done.' }
      : { type: 'tool_use', id: 'toolu_1', name, input }
    if (body.stream) response.setHeader('Content-Type', 'text/event-stream').end(events(content))
    else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(message([content], content)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function hasResult({ messages }: MessagesRequest): boolean {
  return messages.some(({ content }) =>
    typeof content !== 'string' && content.some(({ type }) => type === 'tool_result')
  )
}

function stopReason({ type }: Content): string {
  return type === 'text' ? 'end_turn' : 'tool_use'
}

function message(content: Content[], last?: Content) {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const stop_reason = last ? stopReason(last) : null
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'model',
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  }
}

function events(content: Content): string {
  const isText = content.type === 'text'
  const block = isText ? { ...content, text: '' } : { ...content, input: {} }
  const delta = isText
    ? { type: 'text_delta', text: content.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(content.input) }
  return [
    { type: 'message_start', message: message([]) },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(content), stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
