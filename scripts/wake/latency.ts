/** How long it takes from the send of a message until the model of an idle session is asked. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Lab, openSession } from './lab.ts'
import { listens } from './wake-client.ts'

/** When the model has ended its turn, clients still run hooks, and opencode gives the session a title. */
const settleMs = 700

/** Send so many messages to one session, each when it is idle again. Resolves to the percentiles. */
export async function measure(lab: Lab, messages: number): Promise<string> {
  const session = await openSession(lab)
  const times: number[] = []
  for (let i = 0; i < messages; i++) {
    await listens(session.place)
    await lab.grid.isAttended(session.place.agent)
    await sleep(settleMs)
    times.push(await session.isTold(await session.send(`message ${i}`)))
    await session.isIdle()
  }
  times.sort((a, b) => a - b)
  const percentile = (share: number) => times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)]
  return `send to model asked: p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, max ${times.at(-1)} ms`
}
