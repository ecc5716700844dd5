import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { castBefore } from '../support/cast.ts'
import { runtimes, startServe, temporaryPlace } from '../support/process.ts'
import { faults, Ledger, noFaults, readAll, sendUntilGone } from './load.ts'

test.each(runtimes)('SIGTERM under load on %s: every acknowledged message is there, exit code 0', async (runtime) => {
  const place = temporaryPlace()
  const env = { DATABASE_URL: place.url }
  const { agents: [reader, ...senders] } = await castBefore(place.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
  const server = await startServe(runtime, env)
  const ledger = new Ledger()

  const load = sendUntilGone(server.url, [...senders, ...senders], reader.alias, ledger)
  while (ledger.acknowledged.size < 50) await sleep(10)
  const stoppedAt = performance.now()
  const [stopped] = await Promise.all([server.stop(), load.done])
  const stopMs = performance.now() - stoppedAt

  const next = await startServe('bun', env)
  const times = await readAll(next.url, reader)
  await next.stop()
  place.remove()
  expect(stopped.code).toBe(0)
  // Less than the grace: no connection kept it waiting.
  expect(stopMs).toBeLessThan(8_000)
  expect(faults(ledger, times)).toEqual(noFaults)
})
