import { tryRemote } from '../grid/remote-agents/try-remote.ts'
import { storeCommand } from './command.ts'
import { table } from './tables.ts'

/** Sends one message to a remote agent, bypassing all inboxes. See docs/protocol/a2a.md, "Remote agents". */
export const tryRemoteCommand = storeCommand({
  name: 'try-remote',
  summary: 'Read the card of a remote agent, send it a message, and print its answer.',
  operands: ['url'],
  options: {
    url: { placeholder: 'URL', description: 'URL of the agent: its card, endpoint or host', required: true },
    token: { placeholder: 'TOKEN', description: 'bearer token for the agent', env: 'REMOTE_TOKEN' },
    text: { placeholder: 'TEXT', description: 'the message (default: a greeting)' },
  },
  run: (store, { url, token, text = 'Hello. This is a test of the connection.' }) =>
    tryRemote(store, { url, ...(token !== undefined && { token }) }, text),
  print({ url, card, answer, problem, milliseconds }) {
    const rows: [string, string][] = [['Address', url]]
    if (card) {
      const { name, readFrom, endpoint, otherOrigins } = card
      rows.push(['Card', `${name}, from ${readFrom}`])
      rows.push(['Endpoint', `${endpoint.url} (A2A ${endpoint.version}, ${endpoint.binding})`])
      if (card.isForged) {
        rows.push(['Signature', 'signed, but the signature is invalid: the card was changed in transit'])
      }
      if (otherOrigins.length > 0) rows.push(['Not used', `endpoints at ${otherOrigins.join(', ')}`])
    }
    if (answer) rows.push(['Answer', `${answer.state}, after ${milliseconds} ms`])
    if (problem !== null) rows.push(['Problem', problem])
    const parts = answer && answer.parts.length > 0 ? ['', JSON.stringify(answer.parts, undefined, 2)] : []
    return [table(rows), ...parts].join('\n')
  },
})
