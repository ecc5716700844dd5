/** Tests of the benchmark itself. */
import { onTestFinished, test } from 'vitest'
import { Connection } from '../../scripts/bench/connection.ts'
import { turnsOn } from '../../scripts/bench/exchange.ts'
import type { Workload } from '../../scripts/bench/load.ts'
import { setTurnLimits } from '../../src/grid/messaging/turns.ts'
import { liveGrid } from '../support/server.ts'

test('the benchmark reuses the questions that remain when the number of clients changes', async () => {
  const grid = await liveGrid()
  onTestFinished(grid.close)
  await setTurnLimits(grid.acme.store, { warn: 0, perHour: 0 })
  const workloadOf = turnsOn({
    server: { port: grid.deps.config.port },
    agents: { sender: [grid.alice], sink: [grid.bob] },
  })
  const connect = () => {
    const connection = new Connection(grid.deps.config.port)
    onTestFinished(() => connection.close())
    return connection
  }

  await takeTurns(workloadOf(1, connect), 1)
  await takeTurns(workloadOf(1, connect))
})

/**
 * Takes turns, by default until no question is left. A step fails if its worker finds too many or too few questions.
 */
async function takeTurns({ steps: [step], refill }: Workload, count = refill!.every): Promise<void> {
  await refill!.run()
  for (let n = 0; n < count; n++) await step()
}
