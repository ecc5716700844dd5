/**
 * `npm run new-connections`: how long a new connection waits for `/healthz` under busy clients, on each runtime, with
 * the server of the runtime as it is and with ours. See docs/operations.md, "New connections under load".
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { cleanUp, type Runtime, runtimes, startScript } from './bench/server.ts'
import { measureNewConnections } from './new-connections/measure.ts'

const { values } = parseArgs({
  options: {
    runtime: { type: 'string', default: runtimes.join() },
    clients: { type: 'string', default: '500,2000' },
    seconds: { type: 'string', default: '15' },
  },
})

const seconds = Number(values.seconds)
const round = (ms: number | undefined) => ms === undefined ? '-' : String(Math.round(ms))
const row = (...cells: unknown[]) => console.log(cells.map((cell) => String(cell).padStart(12)).join(''))

try {
  row('server', 'clients', 'probes', 'p50 ms', 'p99 ms', 'max ms', 'all served', 'starved', 'answers/s', 'cpu us each')
  for (const clients of values.clients.split(',').map(Number)) {
    for (const runtime of values.runtime.split(',') as Runtime[]) {
      for (const server of ['bare', 'listen']) {
        const program = await startScript(runtime, ['scripts/new-connections/server.ts', server])
        const cpuBefore = program.cpuMs()
        const { probes, p50, p99, max, allServedMs, starved, answersPerSecond } = await measureNewConnections(
          program.port,
          clients,
          seconds,
        )
        const times = [p50, p99, max, allServedMs].map(round)
        const cpuUs = (program.cpuMs() - cpuBefore) / (answersPerSecond * seconds) * 1_000
        row(`${runtime} ${server}`, clients, probes, ...times, starved, Math.round(answersPerSecond), Math.round(cpuUs))
        await program.stop()
      }
    }
  }
} finally {
  await cleanUp()
}
process.exit()
