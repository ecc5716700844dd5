/** From the start of the process to its first answer, and what it then holds in memory. */
import { setTimeout as sleep } from 'node:timers/promises'
import { filledPlace, newPlace, type Place, startGrid } from './grid.ts'
import { median } from './numbers.ts'
import type { Scenario, Stage } from './scenario.ts'
import { filledWith, short } from './size.ts'

/** Until the work of starting is over. */
const idleMs = 1_000

export const start: Scenario = {
  rows: [{
    name: 'start, AGENTS/MESSAGES',
    measures:
      'From the start of the process to its first good answer at /readyz, for which it has opened the database: median of --starts. Memory: resident, one second later',
    limit:
      'loading the modules (Deno and Bun compile TypeScript on the way, on Node it is built before), then the pragmas and a look at the schema',
  }],
  async run(stage) {
    const agents = Math.max(...stage.agents)
    const messages = Math.max(...stage.messages)
    await measure(stage, 'start, empty', await newPlace(stage.database, { agents: {} }))
    await measure(
      stage,
      `start, ${short(agents)}/${short(messages)}`,
      await filledPlace(stage.database, filledWith({ agents, messages })),
    )
  },
}

async function measure(stage: Stage, name: string, place: Place): Promise<void> {
  const times: number[] = []
  const memory: number[] = []
  for (let n = 0; n < stage.starts; n++) {
    const { server } = await startGrid(stage.runtime, place)
    times.push(server.startedInMs)
    // Once is enough to see it.
    if (n === 0) {
      await sleep(idleMs)
      memory.push(server.residentKiB() / 1_024)
    }
    await server.stop()
  }
  const remark = `${memory[0].toFixed(0)} MiB when idle`
  await stage.report({ name, clients: 1, p50Ms: median(times), floorClients: null, remark })
}
