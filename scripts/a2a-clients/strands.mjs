/** Tests Strands' `A2AAgent`. It gets the agent's URL, and a client that sends the key. */
import process from 'node:process'
import { load, report, withKey } from './driver.mjs'

const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } = await load('@a2a-js/sdk/client')
const { A2AAgent } = await load('@strands-agents/sdk/a2a')

const clientFactory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl: withKey })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl: withKey }),
})
const newAgent = () => new A2AAgent({ url: process.env.AGENT_URL, clientFactory })

await report({
  send: async (text) => String(await newAgent().invoke(text)),
  async stream(text) {
    const chunks = []
    for await (const { event } of newAgent().stream(text)) {
      if (event?.kind === 'artifact-update') chunks.push(...event.artifact.parts.map(({ text }) => text))
    }
    return chunks
  },
  // The framework shows the question but cannot answer it, because it does not support tasks.
  async turn(text) {
    const questions = []
    for await (const { event } of newAgent().stream(text)) {
      if (event?.status?.state === 'input-required') {
        questions.push(event.status.message.parts.map(({ text }) => text).join(''))
      }
    }
    return questions
  },
})
