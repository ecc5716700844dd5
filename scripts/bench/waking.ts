/** Measures how soon a waiting agent is notified of a new message. */
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import { checkHoldsOnly, readMessagesRequest, sendMessage, sendMessageRequest } from './calls.ts'
import type { Connection, RawResponse } from './connection.ts'
import { loadServer, withConnections } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import type { Step, Workload } from './load.ts'
import { warm } from './pairs.ts'
import type { BenchContext, Connect, Scenario } from './scenario.ts'

/** Longer than a waiter's request takes to arrive. */
const settleMs = 5
/** The interval at which a process polls for messages from other processes. */
const pollMs = 200
/** The number of pairs across processes. Each wake takes a long time, so the pairs run concurrently. */
const pairsAcross = 32

const limit = 'the send and the read; waking itself is a function call'
const limitAcross = 'the interval of 200 ms at which a process polls the database for new messages, and that query'

export const waking: Scenario = {
  rows: [
    {
      name: 'wake, waiting read',
      measures:
        'One agent waits in read_messages with wait_seconds, another sends: from the start of the send to the response of the read, which contains the message',
      limit,
    },
    {
      name: 'wake, stream',
      measures:
        'One agent has its wake stream open: from the start of the send to "data: wake". The read afterwards does not count',
      limit,
    },
    {
      name: 'wake across, waiting read',
      measures:
        'The same with two processes on one libsql-server: one agent waits at the first, another sends at the second. Processor time: of the first',
      limit: limitAcross,
    },
    { name: 'wake across, stream', measures: 'The same for a stream', limit: limitAcross },
  ],
  async run(context) {
    const agents = { sender: pairsAcross, reader: pairsAcross }
    const database = await createDatabase(context.database, { agents })
    const first = await warm(await startGrid(context.runtime, database))
    await measure(context, 'wake, waiting read', readThatWaits, first, first)
    await measure(context, 'wake, stream', wakeStream, first, first)
    if (context.database === 'libsql') {
      const second = await warm(await startGrid(context.runtime, database))
      await measure(context, 'wake across, waiting read', readThatWaits, first, second)
      await measure(context, 'wake across, stream', wakeStream, first, second)
      await second.server.stop()
    } else {
      context.note('wake across processes: a local file has one process; see --database libsql')
    }
    await first.server.stop()
  },
}

/** An agent that waits for messages. */
interface Waiter {
  /** Starts waiting. Resolves when there is a message: to the response that contains it, or to undefined. */
  waitForWake(): Promise<RawResponse | void>
  /** Reads the inbox after a wake without a response. */
  read(): Promise<RawResponse>
  close(): void
}

type OpenWaiter = (port: number, agent: BenchAgent, connection: Connection) => Promise<Waiter>

async function measure(
  context: BenchContext,
  name: string,
  open: OpenWaiter,
  { server, agents: { reader, sender } }: BenchGrid,
  { server: { port } }: BenchGrid,
): Promise<void> {
  const isAcross = port !== server.port
  const clients = isAcross ? pairsAcross : 1
  // The pause is not measured. Across processes it is random, so that sends are spread over the polling interval.
  const settle = () => sleep(settleMs + (isAcross ? Math.random() * pollMs : 0))
  await withConnections(server.port, async (connect) => {
    const waiters = await Promise.all(reader.slice(0, clients).map((agent) => open(server.port, agent, connect())))
    try {
      const work = (connectSender: Connect): Workload => ({
        steps: waiters.map((waiter, i) => {
          const connection = connectSender()
          const request = sendMessageRequest(port, sender[i], `@${reader[i].alias}`)
          return stepOf(waiter, settle, () => sendMessage(connection, request))
        }),
      })
      const measured = await loadServer(name, server, context.seconds, work, port)
      await context.report({ name, clients, ...measured, perSecond: undefined, floorClients: 1, usesDatabase: true })
    } finally {
      for (const waiter of waiters) waiter.close()
    }
  })
}

function stepOf(waiter: Waiter, settle: () => Promise<unknown>, send: () => Promise<string>): Step {
  return async () => {
    const waiting = waiter.waitForWake().then((response) => ({ response, at: performance.now() }))
    await settle()
    const sentAt = performance.now()
    const [woken, id] = await Promise.all([waiting, send()])
    if (woken.at < sentAt) throw new Error('The waiter was woken before anything was sent')
    checkHoldsOnly(woken.response ?? await waiter.read(), id)
    return woken.at - sentAt
  }
}

function readThatWaits(port: number, agent: BenchAgent, connection: Connection): Promise<Waiter> {
  const request = readMessagesRequest(port, agent, { wait_seconds: 20 })
  const read = () => connection.send(request)
  return Promise.resolve({ waitForWake: read, read, close() {} })
}

async function wakeStream(port: number, agent: BenchAgent, connection: Connection): Promise<Waiter> {
  const { next, close } = await openWakeStream(port, agent)
  return { waitForWake: next, read: () => connection.send(readMessagesRequest(port, agent)), close }
}

interface WakeStream {
  /** Resolves at the next wake event. Call it again only after it has resolved. */
  next(): Promise<void>
  close(): void
}

/** Opens the stream. Resolves when the response has begun. */
function openWakeStream(port: number, agent: BenchAgent): Promise<WakeStream> {
  return new Promise((resolve, reject) => {
    let waiting: { resolve(): void; reject(error: Error): void } | undefined
    const request = get({
      port,
      host: '127.0.0.1',
      path: '/api/agents/wake-stream',
      headers: { Host: `localhost:${port}`, Authorization: `Bearer ${agent.key}`, Accept: 'text/event-stream' },
    })
    const failed = (error: Error) => {
      reject(error)
      waiting?.reject(error)
    }
    request.on('error', failed)
    request.on('response', (response) => {
      if (response.statusCode !== 200) return failed(new Error(`The wake stream has the status ${response.statusCode}`))
      response.on('error', failed)
      response.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('data: wake')) waiting?.resolve()
      })
      resolve({
        next: () => new Promise<void>((resolve, reject) => waiting = { resolve, reject }),
        close: () => request.destroy(),
      })
    })
  })
}
