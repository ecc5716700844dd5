/** How long somebody who waits for mail hears nothing of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { holdsOnly, reading, send, sending } from './calls.ts'
import { loadServer, withConnections } from './connections.ts'
import { type BenchGrid, newPlace, startGrid } from './grid.ts'
import type { Step } from './load.ts'
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
      measures: 'The same with two processes on one libsql-server: one waits at the first, one sends at the second',
      limit: limitAcross,
    },
    { name: 'wake across, stream', measures: 'The same for a stream', limit: limitAcross },
  ],
  async run(stage) {
    const agents = { sender: pairsAcross, reader: pairsAcross }
    const place = await newPlace(stage.database, { agents })
    const first = await startGrid(stage.runtime, place)
    for (const how of [readWaits, streamWaits]) await measure(stage, 'wake', how, first, first)
    if (stage.database === 'libsql') {
      const second = await startGrid(stage.runtime, place)
      for (const how of [readWaits, streamWaits]) await measure(stage, 'wake across', how, first, second)
      await second.server.stop()
    } else {
      stage.say('wake across processes: a local file has one process; see --database libsql')
    }
    await first.server.stop()
  },
}

/** A step of one pair: answers the milliseconds until the reader heard. */
type How = (pair: Pair) => Promise<{ step: Step; close?(): void }>

interface Pair {
  reader: BenchGrid['agents'][string][number]
  waitPort: number
  connect: Connect
  /** Sends, and answers the id of the message. */
  send(): Promise<string>
  settle(): Promise<unknown>
}

async function measure(stage: Stage, kind: string, how: How, waiting: BenchGrid, from: BenchGrid): Promise<void> {
  const name = `${kind}, ${how === readWaits ? 'waiting read' : 'stream'}`
  const isAcross = waiting !== from
  const clients = isAcross ? pairsAcross : 1
  // The pause is no part of the figure, and of all lengths that the interval has.
  const settle = () => sleep(settleMs + (isAcross ? Math.random() * pollMs : 0))
  await withConnections(waiting.server.port, async (connect) => {
    const { sender, reader } = from.agents
    const all: Awaited<ReturnType<How>>[] = []
    const measured = await loadServer(name, waiting.server, stage.seconds, (connectSender) => {
      const steps = sender.slice(0, clients).map((agent, i): Step => {
        const connection = connectSender()
        const request = sending(from.server.port, agent, `@${reader[i].alias}`)
        const pair = {
          reader: reader[i],
          waitPort: waiting.server.port,
          connect,
          settle,
          send: () => send(connection, request),
        }
        const made = how(pair)
        void made.then((each) => all.push(each), () => {})
        return async () => await (await made).step()
      })
      return { steps }
    }, from.server.port).finally(() => all.forEach(({ close }) => close?.()))
    await stage.report({ name, clients, ...measured, perSecond: undefined, floorClients: 1, usesDatabase: true })
  })
}

function readWaits({ reader, waitPort, connect, send, settle }: Pair) {
  const connection = connect()
  const request = reading(waitPort, reader, { wait_seconds: 20 })
  const step = async () => {
    let heardAt = 0
    const read = connection.send(request).finally(() => heardAt = performance.now())
    await settle()
    const sentAt = performance.now()
    const [answer, id] = await Promise.all([read, send()])
    holdsOnly(answer, id)
    return heardAt - sentAt
  }
  return Promise.resolve({ step })
}

async function streamWaits({ reader, waitPort, connect, send, settle }: Pair) {
  const connection = connect()
  const stream = await openWakeStream(waitPort, reader)
  const step = async () => {
    let heardAt = 0
    const wake = stream.next().then(() => heardAt = performance.now())
    await settle()
    const sentAt = performance.now()
    const [id] = await Promise.all([send(), wake])
    holdsOnly(await connection.send(reading(waitPort, reader)), id)
    return heardAt - sentAt
  }
  return { step, close: stream.close }
}
