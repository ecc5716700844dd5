/** Tests `a2a-ai-provider` for Vercel's AI SDK. It gets the card's URL. Only the replaced `fetch` adds the key. */
import process from 'node:process'
import { load, report, withKey } from './driver.mjs'

const { a2a } = await load('a2a-ai-provider')
const { generateText, streamText } = await load('ai')

globalThis.fetch = withKey
globalThis.AI_SDK_LOG_WARNINGS = false
const model = a2a(`${process.env.AGENT_URL}.well-known/agent-card.json`)

await report({
  send: async (prompt) => (await generateText({ model, prompt })).text,
  async stream(prompt) {
    const chunks = []
    for await (const chunk of streamText({ model, prompt }).textStream) chunks.push(chunk)
    return chunks
  },
  // The framework supports neither tasks nor their states.
  turn: undefined,
})
