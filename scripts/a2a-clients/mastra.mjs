/** Tests Mastra's `A2AAgent`. It gets the agent's URL and headers with the key. `A2A_VERSION`: 0.3 or 1.0. */
import process from 'node:process'
import { load, report } from './driver.mjs'

const { A2AAgent } = await load('@mastra/core/a2a')

const newAgent = () =>
  new A2AAgent({
    url: process.env.AGENT_URL,
    headers: { Authorization: `Bearer ${process.env.AGENT_KEY}` },
    protocolVersion: process.env.A2A_VERSION,
  })

await report({
  send: async (text) => (await newAgent().generate(text)).text,
  async stream(text) {
    const chunks = []
    for await (const { type, payload } of (await newAgent().stream(text)).fullStream) {
      if (type === 'text-delta') chunks.push(payload.text)
    }
    return chunks
  },
  async turn(text, answer) {
    const agent = newAgent()
    const asked = await agent.generate(text, { runId: 'a-run' })
    const { text: end } = await agent.resumeGenerate(answer, { runId: 'a-run' })
    return [asked.text, end]
  },
})
