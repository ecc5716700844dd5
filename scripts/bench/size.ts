/** Whether a grid that has been in use for long, or one with many agents, is slower. */
import { callTool, reading, step } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, filledPlace, startGrid } from './grid.ts'
import type { Measured, Work } from './load.ts'
import { pairRow, readRow, sendRow, warm } from './pairs.ts'
import type { Connect, Row, Scenario, Stage } from './scenario.ts'

/** Few, so that each is an agent with a long history; all of them are counted among the account's agents. */
const known = { sender: 1, sink: 1, reader: 4 }

const rows: Row<BenchGrid>[] = [
  sendRow,
  readRow,
  pairRow,
  {
    name: 'since last_batch',
    measures: 'read_messages with since: "last_batch", which shows the one message that was handed out last',
    limit: 'two searches in indexes',
    work: (grid, _clients, connect) => again(grid, connect, { since: 'last_batch' }),
  },
  {
    name: 'since 1h',
    measures: 'read_messages with since: "1h" and limit 1; all messages stored before are older',
    limit: 'two searches in indexes',
    work: (grid, _clients, connect) => again(grid, connect, { since: '1h', limit: 1 }),
  },
  {
    name: 'list_agents, search',
    measures: 'list_agents with a search that one agent of the account matches',
    limit: 'the text of each agent of the account is looked at, so this grows with them',
    work: ({ server, agents: { sender, sink } }, _clients, connect) => {
      const found = `@${sink[0].alias}`
      return {
        steps: [step(connect(), callTool(server.port, sender[0], 'list_agents', { search: found.slice(1) }), found)],
      }
    },
  },
]

export const size: Scenario = {
  rows: rows.map(({ name, measures, limit }) => ({
    name: `${name}, AGENTS/MESSAGES`,
    measures:
      `${measures}. With so many agents in the account and messages stored and read before; the remark compares with the fewest of both`,
    limit,
  })),
  async run(stage) {
    const smallest = new Map<string, Measured>()
    for (const agents of stage.agents) {
      for (const messages of stage.messages) {
        const place = await filledPlace(stage.database, filledWith({ agents, messages }))
        const grid = await warm(await startGrid(stage.runtime, place))
        for (const row of rows) await measure(stage, row, grid, `${short(agents)}/${short(messages)}`, smallest)
        await grid.server.stop()
      }
    }
  },
}

/** The population of a grid in use. */
export function filledWith(history: { agents: number; messages: number }) {
  return { agents: known, history }
}

/** 10000 as 10k. */
export function short(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`
  return count >= 1_000 ? `${count / 1_000}k` : String(count)
}

async function measure(
  stage: Stage,
  row: Row<BenchGrid>,
  grid: BenchGrid,
  filled: string,
  smallest: Map<string, Measured>,
): Promise<void> {
  const name = `${row.name}, ${filled}`
  const measured = await loadServer(name, grid.server, stage.seconds, (connect) => row.work(grid, 1, connect))
  const base = smallest.get(row.name)
  if (!base) smallest.set(row.name, measured)
  const times = (what: 'p50Ms' | 'p99Ms' | 'cpuUs') => (measured[what] / base![what]).toFixed(2)
  const remark = base && `p50 x ${times('p50Ms')}, p99 x ${times('p99Ms')}, CPU x ${times('cpuUs')}`
  await stage.report({ name, clients: 1, ...measured, usesDatabase: true, remark })
}

function again({ server, agents: { reader } }: BenchGrid, connect: Connect, args: Record<string, unknown>): Work {
  return { steps: [step(connect(), reading(server.port, reader[0], args), '"replayed":true')] }
}
