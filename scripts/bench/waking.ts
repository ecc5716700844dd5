/** How long somebody who waits for mail hears nothing of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import { holdsOnly, reading, send, sending } from './calls.ts'
import type { Answer, Connection } from './connection.ts'
import { loadServer, withConnections } from './connections.ts'
import { type BenchGrid, newPlace, startGrid } from './grid.ts'
import type { Step, Work } from './load.ts'
import { warm } from './pairs.ts'
import type { Connect, Scenario, Stage } from './scenario.ts'
import { openWakeStream } from './stream.ts'

/** Longer than the request of a waiter takes to arrive. */
const settleMs = 5
/** How often a process asks for the mail of others. */
const pollMs = 200
/** Who waits at the same time across processes, so that there are many times although each is long. */
const pairsAcross = 32

const limit = 'the send and the read; waking is a call of a function'
const limitAcross = 'how often a process asks the database for mail of others, every 200 ms, and one such question'

export const waking: Scenario = {
  rows: [
    {
      name: 'wake, waiting read',
      measures:
        'One agent waits in read_messages with wait_seconds, another sends: from the start of the send to the answer of the read, which holds the message',
      limit,
    },
    {
      name: 'wake, stream',
      measures:
        'One agent has its wake stream open: from the start of the send to "data: wake". It then reads, uncounted',
      limit,
    },
    {
      name: 'wake across, waiting read',
      measures:
        'The same with two processes on one libsql-server: one waits at the first, one sends at the second. The processor time is that of the first',
      limit: limitAcross,
    },
    { name: 'wake across, stream', measures: 'The same for a stream', limit: limitAcross },
  ],
  async run(stage) {
    const agents = { sender: pairsAcross, reader: pairsAcross }
    const place = await newPlace(stage.database, { agents })
    const first = await warm(await startGrid(stage.runtime, place))
    await measure(stage, 'wake, waiting read', readThatWaits, first, first)
    await measure(stage, 'wake, stream', wakeStream, first, first)
    if (stage.database === 'libsql') {
      const second = await warm(await startGrid(stage.runtime, place))
      await measure(stage, 'wake across, waiting read', readThatWaits, first, second)
      await measure(stage, 'wake across, stream', wakeStream, first, second)
      await second.server.stop()
    } else {
      stage.say('wake across processes: a local file has one process; see --database libsql')
    }
    await first.server.stop()
  },
}

/** Somebody who waits for mail. */
interface Waiter {
  /** Begins to listen. Resolves when there is mail: with the read that has it, or with nothing. */
  hear(): Promise<Answer | void>
  /** What is read after hearing only that there is mail. */
  read(): Promise<Answer>
  close(): void
}

type OpenWaiter = (port: number, agent: BenchAgent, connection: Connection) => Promise<Waiter>

async function measure(
  stage: Stage,
  name: string,
  open: OpenWaiter,
  { server, agents: { reader, sender } }: BenchGrid,
  { server: { port } }: BenchGrid,
): Promise<void> {
  const isAcross = port !== server.port
  const clients = isAcross ? pairsAcross : 1
  // The pause is no part of the figure, and of all lengths that the interval has.
  const settle = () => sleep(settleMs + (isAcross ? Math.random() * pollMs : 0))
  await withConnections(server.port, async (connect) => {
    const waiters = await Promise.all(reader.slice(0, clients).map((agent) => open(server.port, agent, connect())))
    try {
      const work = (connectSender: Connect): Work => ({
        steps: waiters.map((waiter, i) => {
          const connection = connectSender()
          const request = sending(port, sender[i], `@${reader[i].alias}`)
          return stepOf(waiter, settle, () => send(connection, request))
        }),
      })
      const measured = await loadServer(name, server, stage.seconds, work, port)
      await stage.report({ name, clients, ...measured, perSecond: undefined, floorClients: 1, usesDatabase: true })
    } finally {
      for (const waiter of waiters) waiter.close()
    }
  })
}

function stepOf(waiter: Waiter, settle: () => Promise<unknown>, send: () => Promise<string>): Step {
  return async () => {
    const hearing = waiter.hear().then((answer) => ({ answer, at: performance.now() }))
    await settle()
    const sentAt = performance.now()
    const [heard, id] = await Promise.all([hearing, send()])
    if (heard.at < sentAt) throw new Error('The waiter was woken before anything was sent')
    holdsOnly(heard.answer ?? await waiter.read(), id)
    return heard.at - sentAt
  }
}

function readThatWaits(port: number, agent: BenchAgent, connection: Connection): Promise<Waiter> {
  const request = reading(port, agent, { wait_seconds: 20 })
  const read = () => connection.send(request)
  return Promise.resolve({ hear: read, read, close() {} })
}

async function wakeStream(port: number, agent: BenchAgent, connection: Connection): Promise<Waiter> {
  const { next, close } = await openWakeStream(port, agent)
  return { hear: next, read: () => connection.send(reading(port, agent)), close }
}
