/** Measures sends, reads, and pairs of both, on a running service. */
import type { BenchAgent } from './agents.ts'
import {
  callWithRetries,
  checkHoldsOnly,
  drainConnections,
  drainInboxes,
  readMessagesRequest,
  sendMessage,
  sendMessageRequest,
  sendMessageRequests,
} from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import type { Step, Workload } from './load.ts'
import type { BenchContext, Connect, Row } from './scenario.ts'

const warmSeconds = 10
const warmClients = 32

/** Starts a grid with enough agents for the largest number of clients. `settings` are added to its environment. */
export async function startPairs({ runtime, database, clients, inboxes }: BenchContext): Promise<BenchGrid> {
  const most = Math.max(...clients)
  const agents = { sender: most, sink: most, reader: Math.max(inboxes, most) }
  return await warm(await startGrid(runtime, await createDatabase(database, { agents })))
}

/** Runs pairs for some seconds, because a new server process has not compiled its code yet. */
export async function warm(grid: BenchGrid): Promise<BenchGrid> {
  const { server, agents: { sender, reader } } = grid
  const clients = Math.min(sender.length, reader.length, warmClients)
  await loadServer('warm-up', server, warmSeconds, (connect) => pairWork(grid, clients, connect))
  return grid
}

export const sendRow: Row<BenchGrid> = {
  name: 'send',
  measures: 'tools/call send_message to an agent of the same account, acknowledged after its commit',
  limit:
    'SQLite: two prepared statements and a commit of three; sends that arrive together share the commit and its fsync',
  work: sendWork,
}

export const readRow: Row<BenchGrid> = {
  name: 'read',
  measures:
    'tools/call read_messages of an inbox with one unread message. Measured in rounds: each inbox gets one message, which does not count, and is then read once',
  limit:
    'SQLite: two prepared statements and a commit of three; reads that arrive together share the commit and its fsync',
  work: readWork,
}

export const pairRow: Row<BenchGrid> = {
  name: 'send + read',
  measures: 'A pair: one agent sends, then the recipient reads; one pair counts as one request',
  limit: 'the two together',
  work: pairWork,
}

/** Measures sends. Each client sends to its own recipient, which reads only during `verify`. */
function sendWork({ server, agents: { sender, sink } }: BenchGrid, clients: number, connect: Connect): Workload {
  const sent = Array.from({ length: clients }, () => 0)
  const sinks = sink.slice(0, clients)
  return {
    async prepare() {
      await drainInboxes(server.port, sinks, connect)
      sent.fill(0)
    },
    steps: sender.slice(0, clients).map((from, i) => {
      const connection = connect()
      const nextSend = sendMessageRequests(server.port, from, `@${sink[i].alias}`)
      return async () => {
        await sendMessage(connection, nextSend())
        sent[i]++
      }
    }),
    async verify() {
      const stored = await drainInboxes(server.port, sinks, connect)
      const lost = stored.findIndex((count, i) => count !== sent[i])
      if (lost !== -1) throw new Error(`${sent[lost]} messages were sent to an agent, but it read ${stored[lost]}`)
    },
  }
}

/** Measures pairs. Each client sends to its own recipient, which reads the message. */
export function pairWork(
  { server, agents: { sender, reader } }: BenchGrid,
  clients: number,
  connect: Connect,
): Workload {
  return {
    prepare: async () => void await drainInboxes(server.port, reader, connect),
    steps: sender.slice(0, clients).map((from, i) => {
      const connection = connect()
      const nextSend = sendMessageRequests(server.port, from, `@${reader[i].alias}`)
      const toRead = readMessagesRequest(server.port, reader[i])
      return async () => {
        const id = await sendMessage(connection, nextSend())
        checkHoldsOnly(await connection.send(toRead), id)
      }
    }),
  }
}

/** Measures reads. Each client reads its share of the inboxes in turn, and `refill` sends them new messages. */
function readWork({ server, agents: { sender, reader } }: BenchGrid, clients: number, connect: Connect): Workload {
  const { port } = server
  const waiting = new Map<BenchAgent, string>()
  const share = Math.floor(reader.length / clients)
  const steps = Array.from({ length: clients }, (_, client): Step => {
    const connection = connect()
    const ownInboxes = reader.slice(client * share, (client + 1) * share)
      .map((agent) => ({ agent, request: readMessagesRequest(port, agent) }))
    let next = 0
    return async () => {
      const { agent, request } = ownInboxes[next++ % share]
      const id = waiting.get(agent)!
      waiting.delete(agent)
      checkHoldsOnly(await connection.send(request), id)
    }
  })
  const refillers = Array.from({ length: refillConnections }, connect)
  const refill = async () => {
    const empty = reader.filter((agent) => !waiting.has(agent))
    await Promise.all(refillers.map(async (connection) => {
      for (let agent = empty.pop(); agent; agent = empty.pop()) {
        waiting.set(
          agent,
          await sendMessage(connection, sendMessageRequest(port, sender[0], `@${agent.alias}`), callWithRetries),
        )
      }
    }))
  }
  return {
    async prepare() {
      let next = 0
      await drainInboxes(port, reader, () => refillers[next++])
      waiting.clear()
    },
    steps,
    refill: { every: share, run: refill },
  }
}

/** The number of connections that `drainInboxes` uses. */
const refillConnections = drainConnections
