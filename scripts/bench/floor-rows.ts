/** What one runtime can do without a database. */
import { type Call, type Era, gridPath, rpc, step } from './calls.ts'
import type { Work } from './load.ts'
import type { Connect, Row } from './scenario.ts'
import type { Server } from './server.ts'

/** The server of `floor.ts`, which takes any well-formed key. */
export interface Floor {
  server: Server
  key: string
}

const listChannels: Call = { name: 'list_channels', arguments: {} }
const noChannels = '"channels":[]'

export const hello: Row<Floor> = {
  name: 'hello',
  measures: 'POST on Hono: the body and headers of the tools/call below, parsed and sent back',
  limit: 'HTTP of the runtime and of its Hono adapter; this is the floor',
  work: (floor, clients, connect) => same(clients, connect, callOf(floor, '/hello'), listChannels.name),
}

export const floorRows: Row<Floor>[] = [
  {
    name: 'tools/call',
    measures:
      'The whole service (Host, Origin, key, JSON limits, zod) on a store that answers from memory: list_channels',
    limit: 'what the service itself adds to the floor, without its database',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, gridPath), noChannels),
  },
  {
    name: 'tools/call, 2025 era',
    measures: 'The same from a client of MCP revision 2025-11-25; all other rows speak 2026-07-28',
    limit: 'the same',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, gridPath, '2025-11-25'), noChannels),
  },
  {
    name: 'tools/call, MCP SDK',
    measures: 'For comparison: the same tools and call on Hono with McpServer built per request, and no check of a key',
    limit: 'building the server object and the schemas of its tools on each request',
    work: (floor, clients, connect) => same(clients, connect, callOf(floor, '/sdk'), noChannels),
  },
]

function callOf({ server, key }: Floor, at: string, era?: Era): Buffer {
  return rpc(server.port, at, key, 'tools/call', listChannels, era)
}

function same(clients: number, connect: Connect, request: Buffer, text: string): Work {
  return { steps: Array.from({ length: clients }, () => step(connect(), request, text)) }
}
