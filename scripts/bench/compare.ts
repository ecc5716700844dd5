/** Compares message pairs (a send and a read) on the grid with pairs on all installed brokers. */
import type { Broker, Queue, RunningBroker } from './brokers/broker.ts'
import { nats } from './brokers/nats.ts'
import { postgresql, postgresqlBehindHttp } from './brokers/postgresql.ts'
import { redis } from './brokers/redis.ts'
import { sqlite } from './brokers/sqlite.ts'
import { Connection } from './connection.ts'
import { figuresOf, inSlices, ratioOf, rounds, type Step, type Workload } from './load.ts'
import { median } from './numbers.ts'
import { hello } from './context.ts'
import { pairRow, pairWork, startPairs } from './pairs.ts'
import type { BenchContext, Connect, Scenario, TextTable } from './scenario.ts'
import { nextText } from './words.ts'
import { type ServerProcess, temporaryFolder } from './server.ts'

const brokers: Broker[] = [postgresql, postgresqlBehindHttp, nats, redis, sqlite]

/** A running grid or broker. */
export interface Subject {
  name: string
  /** The name in the comparison table. */
  label: string
  server: ServerProcess
  open(clients: number): Promise<{ work: Workload; close(): unknown }>
}

export const echoRow = { ...hello, name: 'the echo' }

export const compare: Scenario = {
  rows: [
    { ...pairRow, name: 'the grid, pair' },
    echoRow,
    ...brokers.map(({ name, pairDescription: pair, speaksHttp }) => ({
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
    await compareSubjects(context, [
      gridSubject('the grid', grid, (clients, connect) => pairWork(grid, clients, connect)),
      ...await startOthers(context, brokers),
    ], 'pair')
  },
}

/** Starts the given brokers, if they are installed. Adds the echo server, which is already running. */
export async function startOthers(context: BenchContext, brokers: Broker[]): Promise<Subject[]> {
  const { floor } = context
  const subjects = [
    gridSubject('the echo', floor, (clients, connect) => hello.work(floor, clients, connect)),
  ]
  for (const broker of brokers) {
    const found = broker.find()
    if (found === undefined) context.note(`${broker.name} is not installed`)
    else subjects.push(subjectOf(context, broker, await broker.start(temporaryFolder(), found)))
  }
  return subjects
}

/** Measures the subjects in alternating slices, compares them with the first subject, and stops them. */
export async function compareSubjects(context: BenchContext, subjects: Subject[], unit: string): Promise<void> {
  const rates: Rates = subjects.map(({ name, label }) => ({ name, label, perSecond: new Map(), cpuUs: new Map() }))
  for (const clients of context.clients) {
    const opened = await Promise.all(
      subjects.map(async (subject) => ({ ...subject, ...await subject.open(clients) })),
    )
    for (const [i, slices] of (await inSlices(opened, context.seconds)).entries()) {
      const figures = figuresOf(slices)
      rates[i].perSecond.set(clients, slices.perSecond)
      rates[i].cpuUs.set(clients, figures.cpuUs)
      const name = `${rates[i].name}, ${unit}`
      await context.report({ name, clients, floorClients: null, ...figures, remark: `${rounds} slices` })
    }
    for (const { close } of opened) await close()
  }
  for (const server of new Set(subjects.map(({ server }) => server))) {
    if (server !== context.floor.server) await server.stop()
  }
  context.table(comparisonOf(rates, context.clients, unit))
}

/** Makes a subject from a server with the grid's interface. */
export function gridSubject(
  name: string,
  { server }: { server: ServerProcess },
  workOf: (clients: number, connect: Connect) => Workload,
): Subject {
  return {
    name,
    label: name,
    server,
    open(clients) {
      const connections: Connection[] = []
      const { steps, refill } = workOf(clients, () => {
        const connection = new Connection(server.port)
        connections.push(connection)
        return connection
      })
      // The workload's `prepare` is not needed, because pairs leave no messages in the inboxes.
      const close = () => connections.forEach((connection) => connection.close())
      return Promise.resolve({ work: { steps, refill }, close })
    },
  }
}

function subjectOf(
  context: BenchContext,
  { name }: Broker,
  { server, durability, isFsynced, open }: RunningBroker,
): Subject {
  context.note(durability)
  return {
    name,
    label: isFsynced ? name : `${name}, not fsynced`,
    server,
    async open(clients) {
      const queues = await Promise.all(Array.from({ length: clients }, (_, i) => open(`queue-${clients}-${i}`)))
      return {
        work: { steps: queues.map(pairOf) },
        close: () => Promise.allSettled(queues.map((queue) => queue.close())),
      }
    },
  }
}

/** Publishes a message and takes it. Throws if the taken message differs. */
function pairOf(queue: Queue): Step {
  return async () => {
    const text = nextText()
    await queue.publish(text)
    const taken = await queue.take()
    if (taken !== text) throw new Error(`"${taken}" was taken where "${text}" was sent`)
  }
}

/**
 * Each subject's counts per second (one per slice, in order) and processor time, by the number of clients. The first
 * subject is the grid.
 */
type Rates = { name: string; label: string; perSecond: Map<number, number[]>; cpuUs: Map<number, number> }[]

/**
 * Builds a table with a row per subject and a column per number of clients. A ratio is the median of the ratios between
 * slices of the same round.
 */
function comparisonOf([grid, ...others]: Rates, clients: number[], unit: string): TextTable {
  const cellOf = ({ perSecond, cpuUs }: Rates[number], count: number): string => {
    const rates = perSecond.get(count)!
    const cpu = grid.cpuUs.get(count)! / cpuUs.get(count)!
    return `${rate(rates)} (grid x ${ratioOf(grid.perSecond.get(count)!, rates).toFixed(2)}, CPU x ${cpu.toFixed(1)})`
  }
  return {
    headings: [`${unit}s per second`, ...clients.map((count) => count === 1 ? '1 client' : `${count} clients`)],
    rows: [
      [grid.label, ...clients.map((count) => rate(grid.perSecond.get(count)!))],
      ...others.map((other) => [other.label, ...clients.map((count) => cellOf(other, count))]),
    ],
  }
}

function rate(perSecond: number[]): string {
  return Math.round(median(perSecond)).toLocaleString('en')
}
