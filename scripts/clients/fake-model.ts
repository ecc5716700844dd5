/**
 * A fake model with Anthropic's Messages API and OpenAI's Responses API. It makes the planned tool calls one after the
 * other, keeps what it is shown of each answer, and then says that it is done, or what it is told to say.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ToolCall {
  tool: string
  arguments: Record<string, unknown>
}

export interface FakeModel {
  /** Without `/v1`. */
  url: string
  /** The texts of the answer to each call, in order, as the client passed them on. */
  shown(): string[]
  close(): Promise<void>
}

export type Text = string | { text?: string }[]

/** A request in one of the two APIs. */
export interface ModelRequest {
  stream?: boolean
  tools?: OfferedTool[]
  /** Anthropic. */
  messages?: {
    role?: string
    content: string | { type: string; text?: string; tool_use_id?: string; content?: Text }[]
  }[]
  /** OpenAI. */
  input?: { type: string; role?: string; content?: Text; call_id?: string; output?: Text }[]
}

/** OpenAI's tools of an MCP server may be in a namespace. */
interface OfferedTool {
  name?: string
  tools?: OfferedTool[]
}

/** A tool call that a model makes now, with the name that the client gave the tool. */
export interface NextCall {
  id: string
  name: string
  namespace?: string
  arguments: Record<string, unknown>
}

/** What the model says when it makes no call, to a conversation with these texts of its user. */
export type Say = (texts: string[]) => string | Promise<string>

/** Start a model that makes these calls. Clients add a prefix to tool names. */
export async function startFakeModel(calls: readonly ToolCall[], say: Say = () => 'Done.'): Promise<FakeModel> {
  const shown = new Map<string, string>()
  const server = await serveModel(async (body) => {
    for (const [id, answer] of answersIn(body)) shown.set(id, answer)
    const call = nextCall(calls, body)
    return { call, said: call ? '' : await say(userTexts(body)) }
  })
  return { ...server, shown: () => calls.map((_, n) => shown.get(callId(n)) ?? '') }
}

/** Serve both APIs. `act` says what the model does; `client` is the path in front of `/v1`. */
export async function serveModel(
  act: (body: ModelRequest, client: string) => Promise<{ call: NextCall | undefined; said: string }>,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const [, client = '', api] = request.url!.match(/^(?:\/([\w.-]+))?\/v1\/(messages|responses)(?:\?|$)/) ?? []
    if (api === undefined) return response.writeHead(404).end('{}')
    const body: ModelRequest = JSON.parse(text)
    const { call, said } = await act(body, client)
    if (api === 'messages' && !body.stream) {
      const message = anthropicMessage([blockOf(call, said)], call)
      return response.setHeader('Content-Type', 'application/json').end(JSON.stringify(message))
    }
    const events = api === 'messages' ? anthropicEvents(call, said) : openAiEvents(call, said)
    response.setHeader('Content-Type', 'text/event-stream').end(events)
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

const callId = (n: number) => `call_${n}`

/** The call that the conversation has no answer to; undefined if none is left, or the request offers no such tool. */
function nextCall(calls: readonly ToolCall[], request: ModelRequest): NextCall | undefined {
  const n = answersIn(request).size
  const call = calls[n]
  const found = call && toolsIn(request).find(({ name }) => name === call.tool || name.endsWith(`_${call.tool}`))
  return found && { ...found, id: callId(n), arguments: call.arguments }
}

/** The tools that a request offers. */
export function toolsIn({ tools: offered = [] }: ModelRequest): Pick<NextCall, 'name' | 'namespace'>[] {
  return offered.flatMap(({ name, tools }): Pick<NextCall, 'name' | 'namespace'>[] =>
    tools ? tools.map((tool) => ({ name: tool.name!, namespace: name })) : name ? [{ name }] : []
  )
}

/** What the user of the client, or the program that runs it, wrote. */
function userTexts({ messages = [], input = [] }: ModelRequest): string[] {
  const anthropic = messages.filter(({ role }) => role === 'user').map(({ content }) =>
    typeof content === 'string' ? content : textOf(content.filter(({ type }) => type === 'text'))
  )
  const openAi = input.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return [...anthropic, ...openAi].filter((text) => text !== '')
}

export function textOf(text: Text | undefined): string {
  return typeof text === 'string' ? text : (text ?? []).map(({ text }) => text ?? '').join('\n')
}

/** The text of each answer in the conversation, by the id of its call. */
function answersIn({ messages = [], input = [] }: ModelRequest): Map<string, string> {
  const anthropic = messages.flatMap(({ content }) => typeof content === 'string' ? [] : content)
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id, content }) => [tool_use_id!, textOf(content)] as const)
  const openAi = input.filter(({ type }) => type === 'function_call_output')
    .map(({ call_id, output }) => [call_id!, textOf(output)] as const)
  return new Map([...anthropic, ...openAi])
}

function blockOf(call: NextCall | undefined, said: string) {
  if (!call) return { type: 'text', text: said }
  return { type: 'tool_use', id: call.id, name: call.name, input: call.arguments }
}

function anthropicMessage(content: unknown[], call?: NextCall) {
  return {
    // Clients put messages of the same id together.
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model: 'model',
    content,
    stop_reason: content.length === 0 ? null : call ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
}

/** An answer in Anthropic's API, as an event stream: the call, or without one `text`. */
function anthropicEvents(call: NextCall | undefined, text: string): string {
  const block = call ? { ...blockOf(call, text), input: {} } : { type: 'text', text: '' }
  const delta = call
    ? { type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) }
    : { type: 'text_delta', text }
  return eventStream([
    { type: 'message_start', message: anthropicMessage([]) },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ])
}

/** The same in OpenAI's API. */
function openAiEvents(call: NextCall | undefined, text: string): string {
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null }
  const item = call
    ? {
      type: 'function_call',
      id: `item_${call.id}`,
      call_id: call.id,
      name: call.name,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
      arguments: JSON.stringify(call.arguments),
    }
    : { type: 'message', id: 'item_done', role: 'assistant', content: [{ type: 'output_text', text }] }
  return eventStream([
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', usage: { ...usage, total_tokens: 2 } } },
  ])
}

function eventStream(events: ({ type: string } & Record<string, unknown>)[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
