/** Whether many stored messages or many agents make the grid slower. */
import { readMessagesRequest, step, toolCallRequest } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, filledDatabase, startGrid } from './grid.ts'
import type { Measured, Workload } from './load.ts'
import { pairRow, readRow, sendRow, warm } from './pairs.ts'
import type { BenchContext, Connect, Row, Scenario } from './scenario.ts'

/** Enough agents that the cached database pages of one inbox hardly help the next one. */
const maxReaders = 500

const rows: Row<BenchGrid>[] = [
  sendRow,
  readRow,
  pairRow,
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
    // Compared figures are measured right after each other, because the speed of the machine varies over minutes.
    for (const row of rows) {
      for (const agents of context.agents) {
        let fewest: Measured | undefined
        for (const { grid, messages } of grids.filter((filled) => filled.agents === agents)) {
          const measured = await measure(context, row, grid, `${abbreviate(agents)}/${abbreviate(messages)}`, fewest)
          fewest ??= measured
        }
      }
    }
    for (const { grid } of grids) await grid.server.stop()
  },
}

/** A population with a history of messages. */
export function populationWithHistory(history: { agents: number; messages: number }) {
  return { agents: { sender: 1, sink: 1, reader: Math.min(history.agents - 2, maxReaders) }, history }
}

/** 10000 as 10k. */
export function abbreviate(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`
  return count >= 1_000 ? `${count / 1_000}k` : String(count)
}

async function measure(
  context: BenchContext,
  row: Row<BenchGrid>,
  grid: BenchGrid,
  sizes: string,
  base: Measured | undefined,
): Promise<Measured> {
  const name = `${row.name}, ${sizes}`
  const measured = await loadServer(name, grid.server, context.seconds, (connect) => row.work(grid, 1, connect))
  const ratio = (figure: 'p50Ms' | 'p99Ms' | 'cpuUs') => (measured[figure] / base![figure]).toFixed(2)
  const remark = base && `p50 x ${ratio('p50Ms')}, p99 x ${ratio('p99Ms')}, CPU x ${ratio('cpuUs')}`
  await context.report({ name, clients: 1, ...measured, usesDatabase: true, remark })
  return measured
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
