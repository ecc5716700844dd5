/** Measures send + read on the grid, and the same on all installed brokers. */
import type { Broker, RunningBroker } from './brokers/broker.ts'
import { nats } from './brokers/nats.ts'
import { postgresql, postgresqlBehindHttp } from './brokers/postgresql.ts'
import { redis } from './brokers/redis.ts'
import { load, type Step } from './load.ts'
import { pairRow, startPairs } from './pairs.ts'
import { measure } from './requests.ts'
import type { BenchContext, Scenario } from './scenario.ts'
import { temporaryFolder } from './server.ts'

const all: Broker[] = [postgresql, postgresqlBehindHttp, redis, nats]

export const brokers: Scenario = {
  rows: [
    pairRow,
    ...all.map(({ name, pairDescription: pair, speaksHttp }) => ({
      name: `${name}, pair`,
      measures:
        `A message is published and acknowledged, then taken by its recipient; each client has its own queue. ${pair}`,
      limit: speaksHttp
        ? 'the single JavaScript thread of the service'
        : 'none comparable: plain TCP without key, HTTP or JSON, so the comparison favours it',
    })),
  ],
  async run(context) {
    const grid = await startPairs(context)
    await measure(context, pairRow, grid)
    await grid.server.stop()
    for (const broker of all) {
      const found = broker.find()
      if (found === undefined) context.note(`${broker.name} is not installed`)
      else await measureBroker(context, broker, await broker.start(temporaryFolder(), found))
    }
  },
}

async function measureBroker(
  context: BenchContext,
  { name }: Broker,
  { server, durability, open }: RunningBroker,
): Promise<void> {
  context.note(durability)
  for (const clients of context.clients) {
    const queues = await Promise.all(Array.from({ length: clients }, (_, i) => open(`queue-${clients}-${i}`)))
    try {
      const measured = await load({ steps: queues.map(pairOf) }, server, context.seconds)
      await context.report({ name: `${name}, pair`, clients, ...measured })
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}\n${server.lastOutput()}`, { cause: error })
    } finally {
      await Promise.allSettled(queues.map((queue) => queue.close()))
    }
  }
  await server.stop()
}

/** Publishes a message and takes it. Throws if it is not the same message. */
function pairOf(queue: Awaited<ReturnType<RunningBroker['open']>>): Step {
  let n = 0
  return async () => {
    const text = `What is 6 times ${n++}?`
    await queue.publish(text)
    const taken = await queue.take()
    if (taken !== text) throw new Error(`"${taken}" was taken where "${text}" was sent`)
  }
}
