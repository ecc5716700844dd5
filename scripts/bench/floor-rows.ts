/** The rows that are measured without a database. */
import { type Era, gridPath, rpc, step, type ToolCall } from './calls.ts'
import type { Workload } from './load.ts'
import type { Connect, Floor, Row } from './scenario.ts'

const listChannels: ToolCall = { name: 'list_channels', arguments: {} }
const noChannels = '"text":"[]"'

export const hello: Row<Floor> = {
  name: 'hello',
  measures: 'POST on Hono: body and headers of the tools/call below; the JSON body is parsed and sent back',
  limit: 'HTTP in the runtime and its Hono adapter; this is the floor',
  work: (floor, clients, connect) => sameRequest(clients, connect, toolCall(floor, '/hello'), listChannels.name),
}

export const floorRows: Row<Floor>[] = [
  {
    name: 'tools/call',
    measures: 'The whole service (Host, Origin, key, JSON limits, zod) on an in-memory store: list_channels',
    limit: 'what the service adds to the floor, without its database',
    work: (floor, clients, connect) => sameRequest(clients, connect, toolCall(floor, gridPath), noChannels),
  },
  {
    name: 'tools/call, 2025 era',
    measures: 'The same from a client of MCP revision 2025-11-25; all other rows speak 2026-07-28',
    limit: 'the same',
    work: (floor, clients, connect) =>
      sameRequest(clients, connect, toolCall(floor, gridPath, '2025-11-25'), noChannels),
  },
  {
    name: 'tools/call, MCP SDK',
    measures: 'For comparison: the same tools and call on Hono with an McpServer per request, without checking a key',
    limit: 'creating the server object and the schemas of its tools for each request',
    work: (floor, clients, connect) => sameRequest(clients, connect, toolCall(floor, '/sdk'), noChannels),
  },
]

function toolCall({ server, key }: Floor, at: string, era?: Era): Buffer {
  return rpc(server.port, at, key, 'tools/call', listChannels, era)
}

function sameRequest(clients: number, connect: Connect, request: Buffer, text: string): Workload {
  return { steps: Array.from({ length: clients }, () => step(connect(), request, text)) }
}
