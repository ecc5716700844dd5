/** The pair of the grid beside the same on brokers that are installed. */
import type { Broker, Running } from './brokers/broker.ts'
import { nats } from './brokers/nats.ts'
import { postgresql, postgresqlBehindHttp } from './brokers/postgresql.ts'
import { redis } from './brokers/redis.ts'
import { load, type Step } from './load.ts'
import { pairRow, startPairs } from './pairs.ts'
import { measure } from './requests.ts'
import type { Scenario, Stage } from './scenario.ts'
import { temporaryFolder } from './server.ts'

const all: Broker[] = [postgresql, postgresqlBehindHttp, redis, nats]

export const brokers: Scenario = {
  rows: [
    pairRow,
    ...all.map(({ name, pair, speaksHttp }) => ({
      name: `${name}, pair`,
      measures:
        `A message is published and acknowledged, then taken by its recipient; each client has a queue of its own. ${pair}`,
      limit: speaksHttp
        ? 'the one JavaScript thread of the service'
        : 'its protocol is plain TCP without a key, HTTP or JSON, so the comparison flatters it',
    })),
  ],
  async run(stage) {
    const grid = await startPairs(stage)
    await measure(stage, pairRow, grid)
    await grid.server.stop()
    for (const broker of all) {
      const found = broker.find()
      if (found === undefined) stage.say(`${broker.name} is not installed`)
      else await measureBroker(stage, broker, await broker.start(temporaryFolder(), found))
    }
  },
}

async function measureBroker(stage: Stage, { name }: Broker, { server, durability, open }: Running): Promise<void> {
  stage.say(durability)
  for (const clients of stage.clients) {
    const queues = await Promise.all(Array.from({ length: clients }, (_, i) => open(`queue-${clients}-${i}`)))
    try {
      const measured = await load({ steps: queues.map(pairOf) }, server, stage.seconds)
      await stage.report({ name: `${name}, pair`, clients, ...measured })
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}\n${server.lastWords()}`, { cause: error })
    } finally {
      await Promise.allSettled(queues.map((queue) => queue.close()))
    }
  }
  await server.stop()
}

/** What is taken must be what was sent. */
function pairOf(queue: Awaited<ReturnType<Running['open']>>): Step {
  let n = 0
  return async () => {
    const text = `What is 6 times ${n++}?`
    await queue.publish(text)
    const taken = await queue.take()
    if (taken !== text) throw new Error(`"${taken}" was taken where "${text}" was sent`)
  }
}
