/**
 * A model that does what a script says, with Anthropic's Messages API and OpenAI's Responses API. It keeps when it was
 * asked what. One model serves several clients: each calls it at an own path.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropicEvents, type ModelRequest, openAiEvents, type Text } from '../clients/fake-model.ts'

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
}

/** What a model does: call a tool, or say something, which ends its turn. */
export type Act = { tool: string; arguments: Record<string, unknown>; delayMs?: number } | {
  text: string
  delayMs?: number
}

export interface ScriptedModel {
  /** The address for a client, without `/v1`. */
  url(client: string): string
  /** All requests of turns, in order. Clients also ask for titles and the like, which are no turns. */
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
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const at = Date.now()
    const [, client, api] = request.url!.match(/^\/([\w.-]+)\/v1\/(messages|responses)(?:\?|$)/) ?? []
    if (api === undefined) return response.writeHead(404).end('{}')
    const body: ModelRequest = JSON.parse(text)
    const offered = (body.tools ?? []).flatMap(({ name, tools }) =>
      tools ? tools.map((tool) => ({ name: tool.name!, namespace: name })) : name ? [{ name }] : []
    )
    const asked: Asked = { client, at, ...newsIn(body), tools: offered.map(({ name }) => name) }
    const isTurn = asked.tools.length > 0
    if (isTurn) {
      model.asked.push(asked)
      busy.add(client)
    }
    const act = isTurn ? pending.get(client) ?? model.script(asked) : { text: 'A title' }
    if (isTurn) pending.delete(client)
    if (act.delayMs !== undefined) await sleep(act.delayMs)
    const tool = 'tool' in act ? act : undefined
    const find = (wanted: string) => offered.find(({ name }) => name === wanted || name.endsWith(`_${wanted}`))
    let found = tool && find(tool.tool)
    let words = tool?.arguments ?? {}
    if (tool && !found && find('ToolSearch')) {
      // Claude Code tells of tools by name, and loads them when they are searched.
      found = find('ToolSearch')
      words = { query: `select:mcp__agent-grid__${tool.tool}` }
      pending.set(client, act)
    }
    const call = found && { ...found, id: `call_${++calls}`, arguments: words }
    const said = 'text' in act ? act.text : `There is no tool ${act.tool}.`
    if (isTurn && !call) busy.delete(client)
    const events = api === 'messages' ? anthropicEvents(call, said) : openAiEvents(call, said)
    response.setHeader('Content-Type', 'text/event-stream').end(events)
  })
  const busy = new Set<string>()
  const pending = new Map<string, Act>()
  let calls = 0
  const model: ScriptedModel = {
    url: (client) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${client}`,
    asked: [],
    script,
    isBusy: (client) => busy.has(client),
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
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

function textOf(text: Text | undefined): string {
  return typeof text === 'string' ? text : (text ?? []).map(({ text }) => text ?? '').join('\n')
}
