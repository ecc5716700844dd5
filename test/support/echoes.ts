/** Agents that answer each message that they read, as in a runaway conversation. They use the MCP endpoint. */
import { writeMessage } from '../../src/grid/conversations/write.ts'
import { newId } from '../../src/lib/id.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { TestAgent, TestGrid } from './grid.ts'
import { callTool } from './mcp.ts'
import { personWithAlias } from './person-aliases.ts'

// deno-lint-ignore no-explicit-any -- the answer of a tool
type Answer = any

/** Sends a message as an agent. Resolves to the tool's answer or error. */
export async function send(grid: TestGrid, from: TestAgent, to: string, more: object = {}): Promise<Answer> {
  const { text } = await callTool(grid, from.key, 'send_message', { to, message: 'hi', ...more })
  return text.error ?? text
}

/** Sends a message as a new member of Acme. */
export async function sendAsPerson(grid: TestGrid, to: string): Promise<void> {
  const { account } = await personWithAlias(grid, `p-${newId().slice(-12)}`)
  await writeMessage(account, { to, text: 'go on' })
}

/** Reads an agent's unread messages. Returns the messages and the other fields of the answer. */
export async function read(grid: TestGrid, by: TestAgent): Promise<{ messages: Answer[]; more: Answer }> {
  const { text, more } = await callTool(grid, by.key, 'read_messages', {})
  return { messages: text, more }
}

/** The behaviour of echoing agents. */
export interface EchoOptions {
  /** Whether answers name the message that they reply to. Default: no. */
  withReplyIds?: boolean
  /** Maximum number of messages sent; 1,000 by default. */
  most?: number
  /** Whether the first agent answers the last read message again, as if its answer had been refused. */
  again?: boolean
  /** The recipient to which all agents send; by default the next agent in the ring. */
  to?: string
  onSent?(sent: Answer): void
  /** The grid processes that the agents connect to, in turn. */
  grids?: TestGrid[]
}

let lastRead: Answer

/**
 * Lets agents pass a message around a ring. Each agent reads the message and sends it to the next one, starting with
 * the first agent's inbox. Resolves to the number of messages sent, and the error that ended the exchange.
 */
export async function echo(grid: TestGrid, ring: TestAgent[], options: EchoOptions) {
  const { withReplyIds, most = 1_000, again, onSent, to, grids = [grid] } = options
  for (let turns = 0; turns < most; turns++) {
    const at = turns % ring.length
    const by = grids[turns % grids.length]
    const { messages } = await read(by, ring[at])
    const message = messages.at(-1) ?? (again && lastRead)
    if (!message) throw new Error(`${ring[at].alias} has nothing to answer`)
    lastRead = message
    const sent = await send(by, ring[at], to ?? `@${ring[(at + 1) % ring.length].alias}`, {
      ...(withReplyIds && { reply_to_message_id: message.message_id }),
    })
    if (sent.code !== undefined) return { turns, refused: sent }
    onSent?.(sent)
  }
  return { turns: most, refused: undefined }
}

/** Returns Acme's paused conversations. */
export function pausesOf(grid: TestGrid) {
  return grid.acme.store.read.turns.paused()
}

/** Pauses these agents' conversation, as its last permitted turn would. Resolves to the key of the conversation. */
export async function pausedConversation(account: AccountStore, agents: string[]): Promise<string> {
  const key = agents.map((alias) => `@${alias}`).sort().join(' ')
  const at = account.deps.now()
  const [, id] = account.change.turns.markNotified(key, at).args
  await account.write([{
    sql: `INSERT INTO conversation_turns (account_id, key, sender, turns, since, agents, is_long, paused_at)
      VALUES (?, ?, ?, 200, ?, ?, 1, ?)
      ON CONFLICT DO UPDATE SET turns = 200, agents = excluded.agents, is_long = 1, paused_at = excluded.paused_at`,
    args: [id, key, agents[0], at, JSON.stringify(agents), at],
  }])
  return key
}
