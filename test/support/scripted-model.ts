/**
 * A model that follows a script: it reads the inbox, answers the message in it, and stops. It has no imports, because
 * `npm run lab -- frameworks` loads it with Node alone.
 */

export type Step = { tool: string; args: Record<string, string> } | { text: string }

/** Returns the next step. `seen` is the model's input so far; `toolNames` are the framework's names for the tools. */
export function nextStep(seen: unknown, toolNames: string[]): Step {
  const named = (tool: string) => toolNames.find((name) => name.endsWith(tool)) ?? tool
  const text = JSON.stringify(seen)
  // Quotes may be escaped, because results are JSON inside the prompt's JSON.
  const found = (field: string) => text.match(new RegExp(`\\b${field}\\\\*":\\s*\\\\*"([^"\\\\]+)`))?.[1]
  if (found('recipient')) return { text: 'Answered.' }
  const id = found('message_id')
  if (id === undefined) return { tool: named('read_messages'), args: {} }
  const message = `You asked: ${found('message')}`
  return { tool: named('send_message'), args: { to: found('reply_to') ?? '', message, reply_to_message_id: id } }
}

interface Call {
  prompt: unknown
  tools?: { name: string }[]
}

/** Creates an AI SDK language model, for the SDK's own functions and for Mastra. */
export function aiSdkModel() {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
  const usage = { inputTokens: tokens, outputTokens: tokens }
  let calls = 0

  function respond({ prompt, tools = [] }: Call) {
    const step = nextStep(prompt, tools.map(({ name }) => name))
    const reason = 'text' in step ? 'stop' : 'tool-calls'
    const part = 'text' in step ? { type: 'text', text: step.text } : {
      type: 'tool-call',
      toolCallId: `call-${++calls}`,
      toolName: step.tool,
      input: JSON.stringify(step.args),
    }
    return { content: [part], finishReason: { unified: reason, raw: reason }, usage, warnings: [] }
  }

  return {
    specificationVersion: 'v3',
    provider: 'script',
    modelId: 'script',
    supportedUrls: {},
    doGenerate: (call: Call) => Promise.resolve(respond(call)),
    doStream(call: Call) {
      const { content: [part], finishReason } = respond(call)
      const parts = part.type === 'text'
        ? [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: part.text }, {
          type: 'text-end',
          id: 't',
        }]
        : [part]
      const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }]
      return Promise.resolve({ stream: ReadableStream.from(all) })
    },
  }
}
