/**
 * `npm run flood`: what honest accounts notice while one account offers ten times what the grid can serve, with the
 * default limits. See docs/operations.md, "Floods".
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { cleanUp, type Runtime } from './bench/server.ts'
import { type FloodReport, measureFlood } from './flood/measure.ts'
import type { Traffic } from './flood/requests.ts'

const { values } = parseArgs({
  options: {
    runtime: { type: 'string', default: 'node' },
    /** `mixed`, or `posts`: one agent posts to a channel of all agents. */
    traffic: { type: 'string', default: 'mixed' },
    seconds: { type: 'string', default: '60' },
    quiet: { type: 'string', default: '10' },
    honest: { type: 'string', default: '20' },
    rate: { type: 'string', default: '5' },
    agents: { type: 'string', default: '100' },
    connections: { type: 'string', default: '500' },
    times: { type: 'string', default: '10' },
  },
})

/** What honest accounts and the server must keep to in the flood and after it. */
const aims = { share: 0.8, p99Ms: 500, maxMiB: 300, recoveryMs: 2_000 }

const row = (...cells: unknown[]) => console.log(cells.map((cell) => String(cell).padStart(11)).join(''))
const round = (value: number) => Math.round(value).toLocaleString('en')
const percent = (share: number) => `${Math.round(share * 100)} %`

function print({ capacity, phases, flood, recoveryMs }: FloodReport): boolean {
  const [before, during] = phases
  console.log(`The grid serves ${round(capacity)} calls a second; ${round(flood.offered)} were offered:`)
  console.log(Object.entries(flood.answers).map(([outcome, count]) => `  ${outcome}: ${round(count)}`).join('\n'))
  row('', 'seconds', 'honest/s', 'share', 'refused', 'p50 ms', 'p99 ms', 'max ms', 'MiB', 'server CPU', 'all CPU')
  for (const phase of phases) {
    const { name, seconds, honestPerSecond, honestRefused, p50Ms, p99Ms, maxMs, maxMiB, cpu, machineCpu } = phase
    const share = percent(honestPerSecond / before.honestPerSecond)
    const times = [p50Ms, p99Ms, maxMs].map(round)
    row(
      name,
      round(seconds),
      round(honestPerSecond),
      share,
      honestRefused,
      ...times,
      round(maxMiB),
      percent(cpu),
      percent(machineCpu),
    )
  }
  const share = during.honestPerSecond / before.honestPerSecond
  const maxMiB = Math.max(...phases.map((phase) => phase.maxMiB))
  const checks: [string, boolean][] = [
    [`honest rate ${percent(share)}, at least ${percent(aims.share)}`, share >= aims.share],
    [`p99 ${round(during.p99Ms)} ms, below ${aims.p99Ms} ms`, during.p99Ms < aims.p99Ms],
    [`memory ${round(maxMiB)} MiB, below ${aims.maxMiB} MiB`, maxMiB < aims.maxMiB],
    [`recovery ${round(recoveryMs)} ms, below ${aims.recoveryMs} ms`, recoveryMs < aims.recoveryMs],
  ]
  for (const [what, isMet] of checks) console.log(`${isMet ? 'met    ' : 'NOT MET'}  ${what}`)
  return checks.every(([, isMet]) => isMet)
}

let allMet = true
try {
  for (const runtime of values.runtime.split(',') as Runtime[]) {
    console.log(`\n${runtime}`)
    const report = await measureFlood({
      runtime,
      traffic: values.traffic as Traffic,
      seconds: Number(values.seconds),
      quietSeconds: Number(values.quiet),
      honest: Number(values.honest),
      honestPerSecond: Number(values.rate),
      agents: Number(values.agents),
      connections: Number(values.connections),
      times: Number(values.times),
    })
    allMet = print(report) && allMet
  }
} finally {
  await cleanUp()
}
process.exit(allMet ? 0 : 1)
