/** Tests `RemoteA2AAgent` from Google's Agent Development Kit, with the agent's URL and a client that adds the key. */
import process from 'node:process'
import { load, report, withKey } from './driver.mjs'

const { ClientFactory, JsonRpcTransportFactory } = await load('@a2a-js/sdk/client')
const { InMemoryRunner, isFinalResponse, RemoteA2AAgent } = await load('@google/adk')

const clientFactory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl: withKey })] })
const agent = new RemoteA2AAgent({ name: 'bob', agentCard: process.env.AGENT_URL, clientFactory })
const runner = new InMemoryRunner({ agent, appName: 'a2a-clients' })

async function session() {
  const { id } = await runner.sessionService.createSession({ appName: 'a2a-clients', userId: 'ann' })
  return id
}

async function ask(sessionId, text) {
  const events = []
  const newMessage = { role: 'user', parts: [{ text }] }
  for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) events.push(event)
  const failed = events.find(({ errorMessage }) => errorMessage)
  if (failed) throw new Error(failed.errorMessage)
  const textOf = ({ content }) => (content?.parts ?? []).map(({ text }) => text ?? '').join('')
  return {
    answer: events.filter(isFinalResponse).map(textOf).join(''),
    chunks: events.filter(({ partial }) => partial).map(textOf),
  }
}

await report({
  send: async (text) => (await ask(await session(), text)).answer,
  // The framework streams if the agent's card declares streaming.
  stream: async (text) => (await ask(await session(), text)).chunks,
  // The framework shows the question. It forgets the task unless the task is a function call, so an answer would begin
  // a new task.
  turn: async (text) => [(await ask(await session(), text)).answer],
})
