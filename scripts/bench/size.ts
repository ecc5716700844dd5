/** Whether a grid that has been in use for long, or one with many agents, is slower. */
import { callTool, reading, step } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, filledPlace, startGrid } from './grid.ts'
import type { Measured, Work } from './load.ts'
import { pairRow, readRow, sendRow, warm } from './pairs.ts'
import type { Connect, Row, Scenario, Stage } from './scenario.ts'

/** How many read, of the agents of a large account: so many that the pages of one mailbox help the next little. */
const maxReaders = 500

const rows: Row<BenchGrid>[] = [
  sendRow,
  readRow,
  pairRow,
  {
    name: 'since last_batch',
    measures:
      'read_messages with since: "last_batch", which shows the one message that was handed out last, of each reader in turn',
    limit: 'two searches in indexes',
    work: (grid, _clients, connect) => again(grid, connect, { since: 'last_batch' }, maxReaders),
  },
  {
    name: 'since 1h',
    measures: 'read_messages with since: "1h" and limit 1; all messages stored before are older',
    limit: 'two searches in indexes',
    work: (grid, _clients, connect) => again(grid, connect, { since: '1h', limit: 1 }, 1),
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
      `${measures}. With so many agents in the account and messages stored and read before; the remark compares with the fewest messages among as many agents`,
    limit,
  })),
  async run(stage) {
    const grids = []
    for (const agents of stage.agents) {
      for (const messages of stage.messages) {
        const place = await filledPlace(stage.database, filledWith({ agents, messages }))
        const grid = await warm(await startGrid(stage.runtime, place))
        grids.push({ agents, messages, grid })
      }
    }
    // What is compared is measured one right after the other: minutes later the machine is another one.
    for (const row of rows) {
      for (const agents of stage.agents) {
        let fewest: Measured | undefined
        for (const { grid, messages } of grids.filter((filled) => filled.agents === agents)) {
          const measured = await measure(stage, row, grid, `${short(agents)}/${short(messages)}`, fewest)
          fewest ??= measured
        }
      }
    }
    for (const { grid } of grids) await grid.server.stop()
  },
}

/** The population of a grid in use. */
export function filledWith(history: { agents: number; messages: number }) {
  return { agents: { sender: 1, sink: 1, reader: Math.min(history.agents - 2, maxReaders) }, history }
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
  base: Measured | undefined,
): Promise<Measured> {
  const name = `${row.name}, ${filled}`
  const measured = await loadServer(name, grid.server, stage.seconds, (connect) => row.work(grid, 1, connect))
  const times = (what: 'p50Ms' | 'p99Ms' | 'cpuUs') => (measured[what] / base![what]).toFixed(2)
  const remark = base && `p50 x ${times('p50Ms')}, p99 x ${times('p99Ms')}, CPU x ${times('cpuUs')}`
  await stage.report({ name, clients: 1, ...measured, usesDatabase: true, remark })
  return measured
}

function again(
  { server, agents: { reader } }: BenchGrid,
  connect: Connect,
  args: Record<string, unknown>,
  mailboxes: number,
): Work {
  const connection = connect()
  const looks = reader.slice(0, mailboxes)
    .map((agent) => step(connection, reading(server.port, agent, args), '"replayed":true'))
  let next = 0
  return { steps: [() => looks[next++ % looks.length]()] }
}
