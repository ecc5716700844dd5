/**
 * A fake model with Anthropic's Messages API, OpenAI's Responses API and Google's Gemini API. It makes one tool call
 * after the other and records each result as the client shows it. Finally it says that it is done, or returns the
 * configured text.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ToolCall {
  tool: string
  arguments: Record<string, unknown>
}

/** Returns the model's next call after these results; undefined once the model is done. */
export type Next = (shown: readonly string[]) => ToolCall | undefined

export interface FakeModel {
  /** The base URL, without `/v1` or `/v1beta`. */
  url: string
  /** The texts of each call's result, in order, as the client last sent them. */
  shown(): string[]
  close(): Promise<void>
}

export type Text = string | { text?: string }[]

/** A request in one of the APIs. */
export interface ModelRequest {
  stream?: boolean
  tools?: OfferedTool[]
  /** The conversation in Anthropic's API. */
  messages?: {
    role?: string
    content: string | { type: string; text?: string; tool_use_id?: string; content?: Text }[]
  }[]
  /** The conversation in OpenAI's API. */
  input?: { type: string; role?: string; content?: Text; call_id?: string; output?: Text; tools?: OfferedTool[] }[]
  /** The conversation in Google's API. */
  contents?: { role?: string; parts?: { text?: string; functionResponse?: { response?: object } }[] }[]
}

/** A tool in a request. OpenAI may put an MCP server's tools into a namespace, and Google puts them into lists. */
interface OfferedTool {
  type?: string
  name?: string
  tools?: OfferedTool[]
  functionDeclarations?: OfferedTool[]
}

/** The model's next tool call, with the client's name for the tool. */
export interface NextCall {
  id: string
  name: string
  namespace?: string
  arguments: Record<string, unknown>
}

/** Returns the model's text when it makes no call. `texts` are the user's texts in the conversation. */
export type Say = (texts: string[]) => string | Promise<string>

/** Starts a model. Clients add a prefix to tool names. */
export async function startFakeModel(next: Next, say: Say = () => 'Done.'): Promise<FakeModel> {
  const shown: string[] = []
  const server = await serveModel(async (body) => {
    const answers = answersIn(body)
    answers.forEach((answer, n) => shown[n] = answer)
    const call = nextCall(next, answers, body)
    return { call, said: call ? '' : await say(userTexts(body)) }
  })
  return { ...server, shown: () => shown }
}

/** The path of a request: the client's path, then the API's. @see https://ai.google.dev/api/generate-content */
const apiPath =
  /^(?:\/([\w.-]+))?(?:\/v1\/(?=m|r)|\/v1beta\/models\/[\w.-]+:)(messages|responses|(?:stream)?[gG]enerateContent)(?:\?|$)/

/** Serves all APIs. `act` decides the model's response; `client` is the path before `/v1` or `/v1beta`. */
export async function serveModel(
  act: (body: ModelRequest, client: string) => Promise<{ call: NextCall | undefined; said: string }>,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const [, client = '', api] = request.url!.match(apiPath) ?? []
    if (api === undefined) return response.writeHead(404).end('{}')
    const body: ModelRequest = JSON.parse(text)
    const { call, said } = await act(body, client)
    const json = (value: unknown) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(value))
    const events = (text: string) => response.setHeader('Content-Type', 'text/event-stream').end(text)
    if (api === 'responses') return events(openAiEvents(call, said))
    if (api === 'messages') {
      return body.stream ? events(anthropicEvents(call, said)) : json(anthropicMessage([blockOf(call, said)], call))
    }
    const answer = geminiAnswer(call, said)
    return api.startsWith('stream') ? events(`data: ${JSON.stringify(answer)}\n\n`) : json(answer)
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

/** The prefix of a tool search's call id. */
const searchId = 'search_'

/** Returns the next call, or undefined if there are no more calls or the request does not offer the tool. */
function nextCall(next: Next, answers: readonly string[], request: ModelRequest): NextCall | undefined {
  const call = next(answers)
  if (!call) return undefined
  const offered = toolsIn(request)
  const find = (wanted: string) => offered.find(({ name }) => name === wanted || name.endsWith(`_${wanted}`))
  const found = find(call.tool)
  if (found) return { ...found, id: `call_${answers.length}`, arguments: call.arguments }
  // Claude Code and Codex load MCP servers' tools only after a search by the model.
  const id = `${searchId}${answers.length}`
  if (request.input?.some(({ call_id }) => call_id === id)) return undefined
  if (resultsIn(request).some(({ tool_use_id }) => tool_use_id === id)) return undefined
  const search = find('ToolSearch') ?? find('tool_search')
  const query = search?.name === 'tool_search'
    ? `${call.tool} agent-grid`
    : `select:mcp__grid__${call.tool},mcp__agent-grid__${call.tool}`
  return search && { ...search, id, arguments: { query } }
}

/** The tools offered by a request, including those found by a search. */
export function toolsIn({ tools = [], input = [] }: ModelRequest): Pick<NextCall, 'name' | 'namespace'>[] {
  const offered = [...tools, ...input.flatMap(({ type, tools = [] }) => type === 'tool_search_output' ? tools : [])]
  return offered.flatMap(({ type, name, tools, functionDeclarations }): Pick<NextCall, 'name' | 'namespace'>[] => {
    if (type === 'tool_search') return [{ name: type }]
    if (functionDeclarations) return toolsIn({ tools: functionDeclarations })
    return tools ? tools.map((tool) => ({ name: tool.name!, namespace: name })) : name ? [{ name }] : []
  })
}

/** The texts written by the client's user, or by the program that runs the client. */
function userTexts({ messages = [], input = [], contents = [] }: ModelRequest): string[] {
  const anthropic = messages.filter(({ role }) => role === 'user').map(({ content }) =>
    typeof content === 'string' ? content : textOf(content.filter(({ type }) => type === 'text'))
  )
  const openAi = input.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  const google = contents.filter(({ role }) => role === 'user').map(({ parts }) => textOf(parts))
  return [...anthropic, ...openAi, ...google].filter((text) => text !== '')
}

export function textOf(text: Text | undefined): string {
  return typeof text === 'string' ? text : (text ?? []).map(({ text }) => text ?? '').join('\n')
}

/** The text of each result in the conversation, in order, except results of tool searches. */
function answersIn(request: ModelRequest): string[] {
  const { input = [], contents = [] } = request
  const anthropic = resultsIn(request).map(({ tool_use_id, content }) => [tool_use_id!, textOf(content)] as const)
  const openAi = input.filter(({ type }) => type === 'function_call_output')
    .map(({ call_id, output }) => [call_id!, textOf(output)] as const)
  const google = contents.flatMap(({ parts = [] }) => parts)
    .flatMap(({ functionResponse }) =>
      functionResponse ? [Object.values(functionResponse.response ?? {}).join('\n')] : []
    )
  const byId = new Map([...anthropic, ...openAi])
  return [...[...byId].filter(([id]) => !id.startsWith(searchId)).map(([, answer]) => answer), ...google]
}

/** Returns the tool results in Anthropic's format. */
function resultsIn({ messages = [] }: ModelRequest) {
  return messages.flatMap(({ content }) => typeof content === 'string' ? [] : content)
    .filter(({ type }) => type === 'tool_result')
}

function blockOf(call: NextCall | undefined, said: string) {
  if (!call) return { type: 'text', text: said }
  return { type: 'tool_use', id: call.id, name: call.name, input: call.arguments }
}

function anthropicMessage(content: unknown[], call?: NextCall) {
  return {
    // Clients merge messages with the same id.
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

/** A response in Anthropic's API, as an event stream. It contains the call or, without a call, `text`. */
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

/** Builds an event stream in OpenAI's format. */
function openAiEvents(call: NextCall | undefined, text: string): string {
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null }
  const item = call?.name === 'tool_search'
    ? {
      type: 'tool_search_call',
      call_id: call.id,
      execution: 'client',
      status: 'completed',
      arguments: call.arguments,
    }
    : call
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

/** Builds an answer in Google's format. */
function geminiAnswer(call: NextCall | undefined, text: string) {
  const part = call ? { functionCall: { id: call.id, name: call.name, args: call.arguments } } : { text }
  const tokens = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: tokens,
  }
}

function eventStream(events: ({ type: string } & Record<string, unknown>)[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
