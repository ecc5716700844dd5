/** Measures whether many stored messages or many agents slow the grid down. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  drainConnections,
  drainInboxes,
  readMessagesRequest,
  sendMessage,
  sendMessageRequest,
  step,
  toolCallRequest,
} from './calls.ts'
import { withConnections } from './connections.ts'
import { type BenchDatabase, type BenchGrid, createDatabase, filledDatabase, startGrid } from './grid.ts'
import { figuresOf, inSlices, ratioOf, rounds, type Slices, type Workload } from './load.ts'
import { median } from './numbers.ts'
import { readRow, warm } from './pairs.ts'
import type { BenchContext, Connect, Row, Scenario } from './scenario.ts'

/** With this many agents, cached database pages of one inbox rarely serve the next inbox. */
const maxReaders = 500

/** The maximum cost of a send and a read with many stored messages, relative to the cost with the fewest messages. */
const aim = 1.2

const sendInTurn: Row<BenchGrid> = {
  name: 'send',
  measures: 'tools/call send_message to each of up to 500 agents in turn, acknowledged after its commit',
  limit: 'the pages of each inbox and of the indexes of all messages',
  work: sendInTurnWork,
}

/** The rows that must meet the aim. */
const judged: Row<BenchGrid>[] = [sendInTurn, readRow]

const rows: Row<BenchGrid>[] = [
  ...judged,
  {
    name: 'since last_batch',
    measures:
      'read_messages with since: "last_batch" by each reader in turn; returns the one message that was read last',
    limit: 'two index searches',
    work: (grid, _clients, connect) => readAgain(grid, connect, { since: 'last_batch' }, maxReaders),
  },
  {
    name: 'since 1h',
    measures: 'read_messages with since: "1h" and limit 1; the messages stored beforehand are older',
    limit: 'two index searches',
    work: (grid, _clients, connect) => readAgain(grid, connect, { since: '1h', limit: 1 }, 1),
  },
  {
    name: 'list_agents, search',
    measures: 'list_agents with a search that one agent of the account matches',
    limit: 'reads the texts of all agents of the account, so it grows with their number',
    work: ({ server, agents: { sender, sink } }, _clients, connect) => {
      const found = `@${sink[0].alias}`
      return {
        steps: [
          step(connect(), toolCallRequest(server.port, sender[0], 'list_agents', { search: found.slice(1) }), found),
        ],
      }
    },
  },
]

export const size: Scenario = {
  rows: rows.map(({ name, measures, limit }) => ({
    name: `${name}, AGENTS/MESSAGES`,
    measures:
      `${measures}. With this number of agents in the account, and of messages stored and read beforehand; the remark compares with the smallest number of messages and the same agents`,
    limit,
  })),
  async run(context) {
    const grids = []
    for (const agents of context.agents) {
      for (const messages of context.messages) {
        const database = await filledDatabase(context.database, populationWithHistory({ agents, messages }))
        const grid = await warm(await startGrid(context.runtime, database))
        grids.push({ agents, messages, grid })
      }
    }
    for (const row of rows) {
      for (const agents of context.agents) {
        await measure(
          context,
          row,
          grids.filter((filled) => filled.agents === agents),
        )
      }
    }
    for (const { grid } of grids) await grid.server.stop()
  },
}

/** Returns a population with a history of messages. */
function populationWithHistory(history: { agents: number; messages: number }) {
  return { agents: { sender: 1, sink: 1, reader: Math.min(history.agents - 2, maxReaders) }, history }
}

/** Abbreviates a count, such as 10000 as 10k. */
function abbreviate(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`
  return count >= 1_000 ? `${count / 1_000}k` : String(count)
}

interface FilledGrid {
  agents: number
  messages: number
  grid: BenchGrid
}

/** Measures a row on grids with equally many agents, in alternating slices. The first grid has the fewest messages. */
async function measure(context: BenchContext, row: Row<BenchGrid>, grids: FilledGrid[]): Promise<void> {
  const names = grids.map(({ agents, messages }) => `${row.name}, ${abbreviate(agents)}/${abbreviate(messages)}`)
  const measured = await withAllConnections(grids, (connects) => {
    const contenders = grids.map(({ grid }, i) => {
      return { name: names[i], server: grid.server, work: row.work(grid, 1, connects[i]) }
    })
    return inSlices(contenders, context.seconds)
  })
  for (const [i, slices] of measured.entries()) {
    const remark = remarkOf(slices, i > 0 ? measured[0] : undefined, judged.includes(row))
    await context.report({ name: names[i], clients: 1, ...figuresOf(slices), usesDatabase: true, remark })
  }
}

function remarkOf({ cpuUs, bytesRead, perSecond }: Slices, fewest: Slices | undefined, isJudged: boolean): string {
  const read = `${(bytesRead / 1_024).toFixed(1)} KiB read`
  if (!fewest) return `${read}; ${rounds} slices`
  const cpu = cpuUs / fewest.cpuUs
  const bytes = bytesRead / fewest.bytesRead
  const isMet = (ratio: number) => ratio <= aim ? 'met' : 'missed'
  const aims = isJudged ? `; aim ${aim}: CPU ${isMet(cpu)}, read ${isMet(bytes)}` : ''
  const rate = ratioOf(perSecond, fewest.perSecond)
  return `${read}; CPU x ${cpu.toFixed(2)}, read x ${bytes.toFixed(2)}, per second x ${rate.toFixed(2)}${aims}`
}

/** Calls `run` with one function per grid, which opens connections to that grid. Closes them afterwards. */
async function withAllConnections<Result>(
  grids: FilledGrid[],
  run: (connects: Connect[]) => Promise<Result>,
  connects: Connect[] = [],
): Promise<Result> {
  if (connects.length === grids.length) return await run(connects)
  const { server: { port } } = grids[connects.length].grid
  return await withConnections(port, (connect) => withAllConnections(grids, run, [...connects, connect]))
}

/** Measures sends to each reader in turn. Readers read only during `verify`. */
function sendInTurnWork(
  { server: { port }, agents: { sender, reader } }: BenchGrid,
  _clients: number,
  connect: Connect,
): Workload {
  const connection = connect()
  const requests = reader.map(({ alias }) => sendMessageRequest(port, sender[0], `@${alias}`))
  const drainers = Array.from({ length: drainConnections }, connect)
  const drain = async () => {
    let next = 0
    return (await drainInboxes(port, reader, () => drainers[next++])).reduce((sum, count) => sum + count)
  }
  let sent = 0
  return {
    async prepare() {
      await drain()
      sent = 0
    },
    steps: [async () => void await sendMessage(connection, requests[sent++ % requests.length])],
    async verify() {
      const stored = await drain()
      if (stored !== sent) throw new Error(`${sent} messages were sent, and ${stored} arrived`)
    },
  }
}

function readAgain(
  { server, agents: { reader } }: BenchGrid,
  connect: Connect,
  args: Record<string, unknown>,
  inboxes: number,
): Workload {
  const connection = connect()
  const steps = reader.slice(0, inboxes)
    .map((agent) => step(connection, readMessagesRequest(server.port, agent, args), '\\"replayed\\":true'))
  let next = 0
  return { steps: [() => steps[next++ % steps.length]()] }
}

/** Time after which the process is considered idle. */
const idleMs = 1_000

export const start: Scenario = {
  rows: [{
    name: 'start, AGENTS/MESSAGES',
    measures:
      'From the start of the process to its first 200 from /readyz, for which it has opened the database: median of --starts. Memory: resident, one second later',
    limit:
      'loading the modules (Deno and Bun compile TypeScript then, on Node it is built beforehand), then the pragmas and a check of the schema',
  }],
  async run(context) {
    const agents = Math.max(...context.agents)
    const messages = Math.max(...context.messages)
    await measureStarts(context, 'start, empty', await createDatabase(context.database, { agents: {} }))
    await measureStarts(
      context,
      `start, ${abbreviate(agents)}/${abbreviate(messages)}`,
      await filledDatabase(context.database, populationWithHistory({ agents, messages })),
    )
  },
}

async function measureStarts(context: BenchContext, name: string, database: BenchDatabase): Promise<void> {
  const times: number[] = []
  const memory: number[] = []
  for (let n = 0; n < context.starts; n++) {
    const { server } = await startGrid(context.runtime, database)
    times.push(server.startedInMs)
    // Memory is measured once, because the measurement is slow.
    if (n === 0) {
      await sleep(idleMs)
      memory.push(server.residentKiB() / 1_024)
    }
    await server.stop()
  }
  const remark = `${memory[0].toFixed(0)} MiB when idle`
  await context.report({ name, clients: 1, p50Ms: median(times), floorClients: null, remark })
}
