/** Questions that agents ask over MCP, and REST workers that answer one question and take the next in a single call. */
import type { BenchAgent } from './agents.ts'
import { nats } from './brokers/nats.ts'
import { postgresqlBehindHttp } from './brokers/postgresql.ts'
import { call, drainInboxes, sendMessage, sendMessageRequests } from './calls.ts'
import { compareSubjects, echoRow, gridSubject, startOthers } from './compare.ts'
import { type Connection, post } from './connection.ts'
import type { BenchGrid } from './grid.ts'
import type { Step, Workload } from './load.ts'
import { startPairs } from './pairs.ts'
import type { Connect, RowText, Scenario } from './scenario.ts'
import { nextText } from './words.ts'

const turnRow: RowText = {
  name: 'a turn of a worker, turn',
  measures:
    'POST /api/v1/messages: the answer is stored, its question acknowledged, and the next question leased. The inboxes are filled before, which does not count',
  limit: 'SQLite: one commit, which turns that arrive together share',
}

const exchangeRow: RowText = {
  name: 'an exchange, turn',
  measures: 'send_message with wait_seconds, until the answer of a worker that waits for questions',
  limit: 'the commits of question and answer, one after the other',
}

/** In the comparison with other brokers, a turn is a pair: publish, take and acknowledge. */
export const exchange: Scenario = {
  rows: [turnRow, exchangeRow, echoRow],
  async run(context) {
    const grid = await startPairs(context)
    await compareSubjects(context, [
      gridSubject('a turn of a worker', grid, turnsOn(grid)),
      gridSubject('an exchange', grid, (clients, connect) => exchangeWork(grid, clients, connect)),
      ...await startOthers(context, [postgresqlBehindHttp, nats]),
    ], 'turn')
  },
}

/** The number of questions that are queued per worker. */
const waiting = 50

/**
 * Measures workers' turns. Each worker has its own asker, which fills the worker's inbox. Workers are reused for all
 * numbers of clients, because their inboxes may still contain questions.
 */
export function turnsOn(
  { server: { port }, agents: { sender, sink } }: Pick<BenchGrid, 'agents'> & { server: { port: number } },
): (clients: number, connect: Connect) => Workload {
  const all = sink.map((agent) => new Worker(port, agent))
  return (clients, connect) => {
    const workers = all.slice(0, clients)
    for (const worker of workers) worker.connection = connect()
    const askers = sender.slice(0, clients)
    const connections = askers.map(connect)
    return {
      steps: workers.map((worker): Step => async () => {
        worker.left--
        if (await worker.turn() !== worker.left > 0) {
          throw new Error(`A worker with ${worker.left} questions took none, or too many`)
        }
      }),
      refill: {
        every: waiting,
        async run() {
          let next = 0
          await drainInboxes(port, askers, () => connections[next++])
          await Promise.all(workers.map(async (worker, i) => {
            const nextQuestion = sendMessageRequests(port, askers[i], `@${sink[i].alias}`)
            for (; worker.left < waiting; worker.left++) await sendMessage(connections[i], nextQuestion())
            await worker.take()
          }))
        },
      },
    }
  }
}

/** Measures questions that waiting workers answer. Workers wait until their connections are closed. */
function exchangeWork(
  { server: { port }, agents: { sender, reader } }: BenchGrid,
  clients: number,
  connect: Connect,
): Workload {
  for (const agent of reader.slice(0, clients)) {
    const worker = new Worker(port, agent, waitSeconds)
    worker.connection = connect()
    void worker.work()
  }
  return {
    steps: sender.slice(0, clients).map((asker, i) => {
      const connection = connect()
      const nextQuestion = sendMessageRequests(port, asker, `@${reader[i].alias}`, { wait_seconds: waitSeconds })
      return async () => void await call(connection, nextQuestion(), answer)
    }),
  }
}

const answer = nextText()
/** A call that waits longer gets an event stream as its response. */
const waitSeconds = 20

interface Leased {
  lease_id: string | null
  messages: { message_id: string; reply_to: string }[]
}

/** A worker that leases one question at a time. */
class Worker {
  connection: Connection | undefined
  /** The number of questions that wait for this worker, including the leased one. */
  left = 0
  readonly #port: number
  readonly #agent: BenchAgent
  readonly #next: object
  #leased: Leased | undefined

  constructor(port: number, agent: BenchAgent, wait_seconds = 0) {
    this.#port = port
    this.#agent = agent
    this.#next = { limit: 1, wait_seconds }
  }

  /** Leases a question, unless one is already leased. */
  async take(): Promise<void> {
    if (!this.#leased?.lease_id) this.#leased = await this.#call<Leased>('/api/v1/inbox/leases', this.#next)
  }

  /** Answers the question and takes the next one. Resolves to whether there was another question. */
  async turn(): Promise<boolean> {
    const { lease_id, messages: [{ message_id, reply_to }] } = this.#leased!
    const body = {
      to: reply_to,
      message: answer,
      reply_to_message_id: message_id,
      acks: { lease_id },
      next: this.#next,
    }
    const sent = await this.#call<{ next: Leased }>('/api/v1/messages', body)
    this.#leased = sent.next
    return this.#leased.lease_id !== null
  }

  /** Answers questions until the connection is closed. */
  async work(): Promise<never> {
    for (;;) {
      await this.take()
      while (this.#leased!.lease_id !== null) await this.turn()
    }
  }

  async #call<Answer>(path: string, body: object): Promise<Answer> {
    const headers = { Authorization: `Bearer ${this.#agent.key}` }
    const response = await this.connection!.send(post(this.#port, path, body, headers))
    if (response.status >= 300) throw new Error(`The server responded ${response.status}: ${response.body}`)
    return JSON.parse(response.body)
  }
}
