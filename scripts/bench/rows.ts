/** What is measured: each row of the table says what its requests are and what they cost. */
import { type Answer, Connection, post } from './connection.ts'
import type { BenchAgent } from './agents.ts'
import { type BenchGrid, readerCount } from './grid.ts'
import type { Step, Work } from './load.ts'
import type { Server } from './server.ts'

/** A row, for what `Under` says is running. */
export interface Row<Under> {
  name: string
  /** What one request is and which work it contains. */
  measures: string
  /** What its figure depends on, in a sentence. */
  limit: string
  /** Reads or writes the database. */
  usesDatabase?: boolean
  /** Connections are made by `connect` and closed by the caller. */
  work(under: Under, clients: number, connect: () => Connection): Work
}

/** The server of `floor.ts`, which takes any well-formed key. */
export interface Floor {
  server: Server
  key: string
}

type Call = { name: string; arguments: Record<string, unknown> }
type Era = '2025-11-25' | '2026-07-28'

const listChannels: Call = { name: 'list_channels', arguments: {} }

export const floorRows: Row<Floor>[] = [
  {
    name: 'hello',
    measures: 'POST on Hono: the body and headers of the tools/call below, parsed and sent back',
    limit: 'HTTP of the runtime and of its Hono adapter; this is the floor',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, '/hello')),
  },
  {
    name: 'tools/call',
    measures:
      'The whole service (Host, Origin, key, JSON limits, zod) on a store that answers from memory: list_channels',
    limit: 'what the service itself adds to the floor, without its database',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, path)),
  },
  {
    name: 'tools/call, 2025 era',
    measures: 'The same from a client of MCP revision 2025-11-25; all other rows speak 2026-07-28',
    limit: 'the same',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, path, '2025-11-25')),
  },
  {
    name: 'tools/call, MCP SDK',
    measures: 'For comparison: the same tools and call on Hono with McpServer built per request, and no check of a key',
    limit: 'building the server object and the schemas of its tools on each request',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, '/sdk')),
  },
]

export const gridRows: Row<BenchGrid>[] = [
  {
    name: 'tools/list',
    measures: 'The service: key looked up in the database, list of the agent tools (no storage beyond the look-up)',
    limit: 'the query of the look-up and an answer of 2 kB',
    usesDatabase: true,
    work: ({ server, senders }, clients, connect) => ({
      steps: senders.slice(0, clients).map(({ key }) => step(connect(), rpc(server.port, path, key, 'tools/list'))),
    }),
  },
  {
    name: 'send',
    measures: 'tools/call send_message to an agent of the same account, acknowledged after its commit',
    limit:
      'SQLite at work on two kept statements and a commit of four; sends that arrive together share the commit and its fsync',
    usesDatabase: true,
    work: ({ server, senders, sinks }, clients, connect) => ({
      steps: senders.slice(0, clients).map((sender, i) => step(connect(), send(server.port, sender, sinks[i]))),
    }),
  },
  {
    name: 'read',
    measures: 'tools/call read_messages of a mailbox in which one message waits',
    limit:
      'SQLite at work on three kept statements and a commit of two; reads that arrive together share the commit and its fsync',
    usesDatabase: true,
    work: readWork,
  },
  {
    name: 'send + read',
    measures: 'A pair: one agent sends, then the recipient reads; one pair counts as one request',
    limit: 'the two together',
    usesDatabase: true,
    work: ({ server, senders, readers }, clients, connect) => ({
      steps: senders.slice(0, clients).map((sender, i) => {
        const connection = connect()
        const sending = step(connection, send(server.port, sender, readers[i]))
        const reading = step(connection, read(server.port, readers[i]), holdsMessage)
        return async () => {
          await sending()
          await reading()
        }
      }),
    }),
  },
]

const path = '/mcp/v1/grid'
const refillConnections = 32

/** Each client reads its own share of the mailboxes, one after the other; those it has read get a new message. */
function readWork({ server, senders, readers }: BenchGrid, clients: number, connect: () => Connection): Work {
  const empty = new Set(readers)
  const share = Math.floor(readerCount / clients)
  const steps = Array.from({ length: clients }, (_, client): Step => {
    const connection = connect()
    const mine = readers.slice(client * share, (client + 1) * share)
      .map((reader) => ({ reader, reading: step(connection, read(server.port, reader), holdsMessage) }))
    let next = 0
    return async () => {
      const { reader, reading } = mine[next++ % share]
      empty.add(reader)
      await reading()
    }
  })
  const refillers = Array.from({ length: refillConnections }, connect)
  const refill = async () => {
    const waiting = [...empty]
    empty.clear()
    await Promise.all(refillers.map(async (connection) => {
      for (let reader = waiting.pop(); reader; reader = waiting.pop()) {
        await step(connection, send(server.port, senders[0], reader))()
      }
    }))
  }
  return { steps, refill: { every: share, run: refill } }
}

function callOf({ server, key }: Floor, at: string, era: Era = '2026-07-28'): Buffer {
  return rpc(server.port, at, key, 'tools/call', listChannels, era)
}

function same(clients: number, connect: () => Connection, request: Buffer): Work {
  return { steps: Array.from({ length: clients }, () => step(connect(), request)) }
}

function step(connection: Connection, request: Buffer, isGood: (answer: Answer) => boolean = isResult): Step {
  return async () => {
    const answer = await connection.send(request)
    if (!isGood(answer)) throw new Error(`The server answered ${answer.status}: ${answer.body.slice(0, 500)}`)
  }
}

function isResult({ status, body }: Answer): boolean {
  return status === 200 && !body.includes('"isError":true') && !body.includes('"error":')
}

function holdsMessage(answer: Answer): boolean {
  return isResult(answer) && answer.body.includes('message_id')
}

function send(port: number, from: BenchAgent, to: BenchAgent): Buffer {
  const call = { name: 'send_message', arguments: { to: `@${to.alias}`, message: 'What is 6 times 7?' } }
  return rpc(port, path, from.key, 'tools/call', call)
}

function read(port: number, reader: BenchAgent): Buffer {
  return rpc(port, path, reader.key, 'tools/call', { name: 'read_messages', arguments: {} })
}

/** A request of an MCP client. */
function rpc(port: number, at: string, key: string, method: string, call?: Call, era: Era = '2026-07-28'): Buffer {
  const isModern = era === '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  }
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...call, ...(isModern && { _meta: meta }) } }
  return post(port, at, body, {
    Authorization: `Bearer ${key}`,
    'MCP-Protocol-Version': era,
    ...(isModern && { 'Mcp-Method': method }),
    ...(isModern && call && { 'Mcp-Name': call.name }),
  })
}
