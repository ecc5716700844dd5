/** Sending, reading, and both in turn, on the real service. */
import type { BenchAgent } from './agents.ts'
import { askPatiently, drain, holdsOnly, reading, send, sending } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, newPlace, startGrid } from './grid.ts'
import type { Step, Work } from './load.ts'
import type { Connect, Row, Stage } from './scenario.ts'

const warmSeconds = 10
const warmClients = 32

/** A grid with an agent of each kind for each client. */
export async function startPairs({ runtime, database, clients, mailboxes }: Stage): Promise<BenchGrid> {
  const most = Math.max(...clients)
  const agents = { sender: most, sink: most, reader: Math.max(mailboxes, most) }
  return await warm(await startGrid(runtime, await newPlace(database, { agents })))
}

/** The same grid after some seconds of pairs: a server that has just started runs code that is not compiled yet. */
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
    'SQLite at work on two kept statements and a commit of three; sends that arrive together share the commit and its fsync',
  work: sendWork,
}

export const readRow: Row<BenchGrid> = {
  name: 'read',
  measures:
    'tools/call read_messages of a mailbox in which one message waits. Measured in rounds: each mailbox gets one message, which does not count, and is then read once',
  limit:
    'SQLite at work on two kept statements and a commit of three; reads that arrive together share the commit and its fsync',
  work: readWork,
}

export const pairRow: Row<BenchGrid> = {
  name: 'send + read',
  measures: 'A pair: one agent sends, then the recipient reads; one pair counts as one request',
  limit: 'the two together',
  work: pairWork,
}

/** Each to a recipient who reads nothing before the end, and then everything. */
function sendWork({ server, agents: { sender, sink } }: BenchGrid, clients: number, connect: Connect): Work {
  const sent = Array.from({ length: clients }, () => 0)
  const sinks = sink.slice(0, clients)
  return {
    prepare: async () => void await drain(server.port, sinks, connect),
    steps: sender.slice(0, clients).map((from, i) => {
      const connection = connect()
      const request = sending(server.port, from, `@${sink[i].alias}`)
      return async () => {
        await send(connection, request)
        sent[i]++
      }
    }),
    async verify() {
      const stored = await drain(server.port, sinks, connect)
      const lost = stored.findIndex((count, i) => count !== sent[i])
      if (lost !== -1) throw new Error(`${sent[lost]} messages were sent to one agent, who read ${stored[lost]}`)
    },
  }
}

function pairWork({ server, agents: { sender, reader } }: BenchGrid, clients: number, connect: Connect): Work {
  return {
    prepare: async () => void await drain(server.port, reader, connect),
    steps: sender.slice(0, clients).map((from, i) => {
      const connection = connect()
      const toSend = sending(server.port, from, `@${reader[i].alias}`)
      const toRead = reading(server.port, reader[i])
      return async () => {
        const id = await send(connection, toSend)
        holdsOnly(await connection.send(toRead), id)
      }
    }),
  }
}

/** Each client reads its own share of the mailboxes, one after the other; those it has read get a new message. */
function readWork({ server, agents: { sender, reader } }: BenchGrid, clients: number, connect: Connect): Work {
  const { port } = server
  const waiting = new Map<BenchAgent, string>()
  const share = Math.floor(reader.length / clients)
  const steps = Array.from({ length: clients }, (_, client): Step => {
    const connection = connect()
    const mine = reader.slice(client * share, (client + 1) * share)
      .map((agent) => ({ agent, request: reading(port, agent) }))
    let next = 0
    return async () => {
      const { agent, request } = mine[next++ % share]
      const id = waiting.get(agent)!
      waiting.delete(agent)
      holdsOnly(await connection.send(request), id)
    }
  })
  const refillers = Array.from({ length: refillConnections }, connect)
  const refill = async () => {
    const empty = reader.filter((agent) => !waiting.has(agent))
    await Promise.all(refillers.map(async (connection) => {
      for (let agent = empty.pop(); agent; agent = empty.pop()) {
        waiting.set(agent, await send(connection, sending(port, sender[0], `@${agent.alias}`), askPatiently))
      }
    }))
  }
  return {
    prepare: async () => void await drain(port, reader, connect),
    steps,
    refill: { every: share, run: refill },
  }
}

const refillConnections = 32
