/**
 * A model that follows a script, with Anthropic's Messages API and OpenAI's Responses API. It records each request and
 * its time. One model serves several clients, each at its own path.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ModelRequest, serveModel, type Text, textOf, toolsIn } from '../clients/fake-model.ts'

/** A request to the model. */
export interface Asked {
  /** The client's path, such as `claude`. */
  client: string
  /** Time of the request, in ms since 1970. */
  at: number
  /** All input since the model's last reply: the user's prompts, the output of hooks, and tool answers. */
  news: string
  /** The tool answers among the news. */
  answers: string[]
  /** The names of the offered tools. */
  tools: string[]
  /** The length of the complete request, which the model reads. */
  bytes: number
}

/** The model's next action: a tool call, or a text, which ends the turn. */
export type Act = { tool: string; arguments: Record<string, unknown>; delayMs?: number } | {
  text: string
  delayMs?: number
}

export interface ScriptedModel {
  /** Returns the base URL for a client, without `/v1`. */
  url(client: string): string
  /** All requests that are turns, in order. Requests for titles, for example, are not turns. */
  asked: Asked[]
  /** Decides what the model does. Can be replaced at any time. */
  script: (asked: Asked) => Act
  /** Whether a client will send another request, because the model last replied with a call. */
  isBusy(client: string): boolean
  close(): Promise<void>
}

interface Part {
  type?: string
  text?: string
  content?: Text
}

/** Starts a model. */
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
      // Claude Code lists tools only by name, and loads them after a search.
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

/** Returns all input after the model's last reply. */
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

/** Whether a hook announces unread messages. An announcement in the grid's list of tools does not count. */
export function isNotified({ news }: Asked): boolean {
  return /\d+(?: or more)? unread messages? from @/.test(news)
}

/**
 * Reads when unread messages are announced, and answers each message. A prompt that contains `work` first causes two
 * tool calls of two seconds each.
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
