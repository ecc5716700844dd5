/**
 * A model that does what a script says, with Anthropic's Messages API and OpenAI's Responses API. It keeps each request
 * with its time. One model serves several clients, each at its own path.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ModelRequest, serveModel, type Text, textOf, toolsIn } from '../clients/fake-model.ts'

/** What a model is asked. */
export interface Asked {
  /** The path of the client, such as `claude`. */
  client: string
  /** In ms since 1970. */
  at: number
  /** Everything since the model spoke last: what the user typed, what hooks said, what tools answered. */
  news: string
  /** The answers of tools among the news. */
  answers: string[]
  /** The names of the tools that are offered. */
  tools: string[]
  /** The length of the whole request, which is all that the model reads. */
  bytes: number
}

/** What a model does: call a tool, or say something, which ends its turn. */
export type Act = { tool: string; arguments: Record<string, unknown>; delayMs?: number } | {
  text: string
  delayMs?: number
}

export interface ScriptedModel {
  /** The address for a client, without `/v1`. */
  url(client: string): string
  /** All requests of turns, in order. Requests for titles and the like are not turns. */
  asked: Asked[]
  /** What the model does from now on. */
  script: (asked: Asked) => Act
  /** Whether a client will ask again: the last thing that the model said to it was a call. */
  isBusy(client: string): boolean
  close(): Promise<void>
}

interface Part {
  type?: string
  text?: string
  content?: Text
}

/** Start a model. */
export async function startScriptedModel(script: ScriptedModel['script']): Promise<ScriptedModel> {
  const busy = new Set<string>()
  const pending = new Map<string, Act>()
  let calls = 0
  const server = await serveModel(async (body, client) => {
    const offered = toolsIn(body)
    const bytes = Buffer.byteLength(JSON.stringify(body))
    const asked: Asked = { client, at: Date.now(), ...newsIn(body), tools: offered.map(({ name }) => name), bytes }
    if (offered.length === 0) return { call: undefined, said: 'A title' }
    model.asked.push(asked)
    busy.add(client)
    const searched = pending.get(client)
    const act = searched ?? model.script(asked)
    pending.delete(client)
    if (act.delayMs !== undefined) await sleep(act.delayMs)
    const tool = 'tool' in act ? act : undefined
    const find = (wanted: string) => offered.find(({ name }) => name.endsWith(wanted))
    let found = tool && find(tool.tool)
    let words = tool?.arguments ?? {}
    if (tool && !found && !searched && find('ToolSearch')) {
      // Claude Code lists tools by name, and loads them after a search.
      found = find('ToolSearch')
      words = { query: `select:mcp__agent-grid__${tool.tool}` }
      pending.set(client, act)
    }
    const call = found && { ...found, id: `call_${++calls}`, arguments: words }
    if (!call) busy.delete(client)
    return { call, said: 'text' in act ? act.text : `There is no tool ${act.tool}.` }
  })
  const model: ScriptedModel = {
    url: (client) => `${server.url}/${client}`,
    asked: [],
    script,
    isBusy: (client) => busy.has(client),
    close: server.close,
  }
  return model
}

/** What came after the last words of the model. */
function newsIn({ messages = [], input = [] }: ModelRequest): { news: string; answers: string[] } {
  const entries = [...messages, ...input] as (Part & { role?: string; output?: Text })[]
  const isModels = ({ role, type }: typeof entries[number]) => role === 'assistant' || type === 'function_call'
  const recent = entries.slice(entries.findLastIndex(isModels) + 1)
  const parts = recent.flatMap((entry): Part[] => {
    if (entry.type === 'function_call_output') return [{ type: 'tool_result', content: entry.output }]
    return Array.isArray(entry.content) ? entry.content as Part[] : [{ type: 'text', text: entry.content }]
  })
  const answers = parts.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content))
  return { news: parts.map(({ text, content }) => text ?? textOf(content)).join('\n'), answers }
}

/** Whether a hook announces unread messages. The grid also announces them in its list of tools. */
export function isNotified({ news }: Asked): boolean {
  return /\d+(?: or more)? unread messages? from @/.test(news)
}

/**
 * Read when unread messages are announced, and answer each message. A prompt with `work` makes two calls of a
 * tool, two seconds each, before it ends.
 */
export function readAndAnswer(asked: Asked): Act {
  if (isNotified(asked)) return { tool: 'read_messages', arguments: {} }
  const sender = asked.answers.join('\n').match(/"reply_to":"(@[\w-]+)"/)?.[1]
  if (sender !== undefined) return { tool: 'send_message', arguments: { to: sender, message: 'I have read it.' } }
  if (/work twice/.test(asked.news)) return { tool: 'list_agents', arguments: {}, delayMs: 2_000 }
  if (asked.answers.some((answer) => answer.includes('"agents"') || answer.includes('"alias"'))) {
    return { text: 'That was the work.', delayMs: 2_000 }
  }
  return { text: 'All right.' }
}
