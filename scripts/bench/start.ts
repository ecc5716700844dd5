/** The time from the start of the process to its first response, and its memory afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchDatabase, createDatabase, filledDatabase, startGrid } from './grid.ts'
import { median } from './numbers.ts'
import type { BenchContext, Scenario } from './scenario.ts'
import { abbreviate, populationWithHistory } from './size.ts'

/** After this time the process is idle. */
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
    await measure(context, 'start, empty', await createDatabase(context.database, { agents: {} }))
    await measure(
      context,
      `start, ${abbreviate(agents)}/${abbreviate(messages)}`,
      await filledDatabase(context.database, populationWithHistory({ agents, messages })),
    )
  },
}

async function measure(context: BenchContext, name: string, database: BenchDatabase): Promise<void> {
  const times: number[] = []
  const memory: number[] = []
  for (let n = 0; n < context.starts; n++) {
    const { server } = await startGrid(context.runtime, database)
    times.push(server.startedInMs)
    // Measuring it once is enough.
    if (n === 0) {
      await sleep(idleMs)
      memory.push(server.residentKiB() / 1_024)
    }
    await server.stop()
  }
  const remark = `${memory[0].toFixed(0)} MiB when idle`
  await context.report({ name, clients: 1, p50Ms: median(times), floorClients: null, remark })
}
