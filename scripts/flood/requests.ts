/** The requests of `npm run lab -- flood`, as bytes prepared in advance, and the categories of their responses. */
import type { BenchAgent } from '../bench/agents.ts'
import { readMessagesRequest, sendMessageRequest } from '../bench/calls.ts'
import { post, type RawResponse } from '../bench/connection.ts'
import { nextText } from '../bench/words.ts'
import type { FloodAccount } from './accounts.ts'

/** A response's category. `quota` is a tool error caused by a limit, `error` any other error. */
export type Outcome = 'served' | '429' | '503' | 'quota' | 'busy' | 'error'

/** Classifies a response. */
export function outcomeOf({ status, body }: RawResponse): Outcome {
  if (status === 429) return '429'
  if (status === 503) return '503'
  if (/(quota|rate_limit)_exceeded/.test(body)) return 'quota'
  if (body.includes('"isError":true') && body.includes('unavailable')) return 'busy'
  return status === 200 && !body.includes('"error":') && !body.includes('"isError":true') ? 'served' : 'error'
}

/** The kind of a flood. `mixed`: all kinds of calls. `posts`: one agent's posts to the channel of all agents. */
export type Traffic = 'mixed' | 'posts'

/**
 * A flood's requests, which repeat. A mixed flood has four sends, three reads, two A2A sends and one post to the
 * channel per agent.
 */
export function floodRequests(port: number, { agents, channel }: FloodAccount, traffic: Traffic): Buffer[] {
  if (traffic === 'posts') return [sendMessageRequest(port, agents[0], `#${channel}`)]
  const rounds = agents.map((agent, n) => {
    const to = agents[(n + 1) % agents.length]
    const send = sendMessageRequest(port, agent, `@${to.alias}`)
    const read = readMessagesRequest(port, agent)
    const a2a = a2aSendRequest(port, agent, to)
    return [send, read, a2a, send, read, send, a2a, read, send, sendMessageRequest(port, agent, `#${channel}`)]
  })
  // Takes one request per agent in turn, so that all keys are in constant use.
  return rounds[0].flatMap((_, i) => rounds.map((round) => round[i]))
}

/** The alternating requests of two agents of a well-behaved account: one sends, the other reads. */
export function honestRequests(port: number, { agents: [sender, reader] }: FloodAccount): Buffer[] {
  const read = readMessagesRequest(port, reader)
  return [sendMessageRequest(port, sender, `@${reader.alias}`), read, a2aSendRequest(port, sender, reader), read]
}

function a2aSendRequest(port: number, from: BenchAgent, to: BenchAgent): Buffer {
  const message = {
    kind: 'message',
    messageId: 'flood',
    role: 'user',
    parts: [{ kind: 'text', text: nextText() }],
    metadata: { to: `@${to.alias}` },
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
  return post(port, '/a2a/v1/grid', body, { Authorization: `Bearer ${from.key}` })
}
