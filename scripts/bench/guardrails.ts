/** What guardrails of all local providers cost a message of 512 bytes. */
import type { BenchAgent } from './agents.ts'
import { checkHoldsOnly, drainInboxes, readMessagesRequest, sendMessage, sendMessageRequest } from './calls.ts'
import { withConnections } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import { run, type Workload } from './load.ts'
import { messageOf } from './local-guardrails.ts'
import { median, spread } from './numbers.ts'
import type { Connect, RowText, Scenario } from './scenario.ts'

/** Interleaved slices of each line. */
const slices = 20
/** Different messages of each client. */
const messages = 64
/** The share of the throughput without guardrails that is to be kept. */
const aim = 0.8

const directions: readonly { remark: string; from: string; to: string }[] = [
  { remark: 'no guardrails', from: 'sender', to: 'reader' },
  { remark: 'outbound', from: 'guarded', to: 'reader' },
  { remark: 'outbound and inbound', from: 'guarded', to: 'warded' },
]

const rows: RowText[] = [
  {
    name: 'send, 512 B, guarded',
    measures:
      'send_message with 512 bytes of prose, another text each time, without guardrails, with one of each local provider (five expressions) for the sender, and with the same for the recipient too; the lines are measured in 20 interleaved slices, and the ratio of the throughputs is the median of those of the slices',
    limit: 'the time of the providers, which one after the other search the text on the thread of the server',
  },
  {
    name: 'send + read, 512 B, guarded',
    measures: 'The same, and the recipient reads the message',
    limit: 'as before',
  },
]

interface Line {
  name: string
  remark: string
  work: Workload
  /** Of each slice. */
  perSecond: number[]
  cpuUs: number[]
  cpu: { server: number; caller: number; others: number }
  times: number[]
  ms: number
}

export const guardrails: Scenario = {
  rows,
  async run(context) {
    const most = Math.max(...context.clients)
    const agents = { sender: most, reader: most, guarded: most, warded: most }
    const guarded = { guarded: 'outbound', warded: 'inbound' } as const
    const grid = await startGrid(context.runtime, await createDatabase(context.database, { agents, guarded }))
    for (const clients of context.clients) {
      const lines = await withConnections(grid.server.port, (connect) => {
        return measure(grid, clients, connect, context.seconds * 1_000)
      })
      for (const [i, { name, remark, ...line }] of lines.entries()) {
        const plain = lines[i - i % directions.length]
        const kept = median(line.perSecond.map((rate, slice) => rate / plain.perSecond[slice]))
        const more = median(line.cpuUs.map((us, slice) => us - plain.cpuUs[slice]))
        const judged = `${kept.toFixed(2)} of it, CPU +${more.toFixed(0)} us; aim ${aim}: ${
          kept >= aim ? 'met' : 'missed'
        }`
        await context.report({
          ...{ name, clients, usesDatabase: true },
          ...{ perSecond: median(line.perSecond), ...spread(line.times), cpuUs: median(line.cpuUs) },
          cpu: {
            server: line.cpu.server / line.ms,
            caller: line.cpu.caller / line.ms,
            others: Math.max(0, line.cpu.others / line.ms),
          },
          remark: i % directions.length === 0 ? remark : `${remark}: ${judged}`,
        })
      }
    }
    await grid.server.stop()
  },
}

/** All lines, in slices that take turns, so that a machine whose speed changes is the same for all. */
async function measure(grid: BenchGrid, clients: number, connect: Connect, forMs: number): Promise<Line[]> {
  const lines = rows.flatMap(({ name }, isPair) =>
    directions.map(({ remark, from, to }): Line => ({
      name,
      remark,
      work: workOf(grid, grid.agents[from].slice(0, clients), grid.agents[to].slice(0, clients), connect, isPair === 1),
      ...{ perSecond: [], cpuUs: [], cpu: { server: 0, caller: 0, others: 0 }, times: [], ms: 0 },
    }))
  )
  // The code of a server that has just started is not compiled yet.
  for (const { work } of lines) await slice(grid, work, Math.max(500, forMs / 2))
  for (let n = 0; n < slices; n++) {
    for (const line of lines) {
      const { times, ms, cpuMs } = await slice(grid, line.work, forMs / slices)
      line.perSecond.push(times.length / ms * 1_000)
      line.cpuUs.push(cpuMs.server / times.length * 1_000)
      for (const part of ['server', 'caller', 'others'] as const) line.cpu[part] += cpuMs[part]
      line.times.push(...times)
      line.ms += ms
    }
  }
  return lines
}

async function slice({ server }: BenchGrid, work: Workload, forMs: number) {
  await work.prepare?.()
  const totals = await run(work, server, forMs)
  await work.verify?.()
  return totals
}

/** Each client has its own recipient, which reads each message (`isPair`) or only counts them at the end of a slice. */
function workOf(
  { server: { port } }: BenchGrid,
  from: BenchAgent[],
  to: BenchAgent[],
  connect: Connect,
  isPair: boolean,
): Workload {
  let sent = from.map(() => 0)
  return {
    async prepare() {
      await drainInboxes(port, to, connect)
      sent = from.map(() => 0)
    },
    steps: from.map((agent, i) => {
      const connection = connect()
      const requests = Array.from(
        { length: messages },
        (_, n) => sendMessageRequest(port, agent, `@${to[i].alias}`, messageOf(i * messages + n)),
      )
      const toRead = readMessagesRequest(port, to[i])
      let next = 0
      return async () => {
        const id = await sendMessage(connection, requests[next++ % messages])
        if (isPair) checkHoldsOnly(await connection.send(toRead), id)
        else sent[i]++
      }
    }),
    async verify() {
      const stored = await drainInboxes(port, to, connect)
      if (String(stored) !== String(sent)) throw new Error(`${sent} messages were sent, and ${stored} arrived`)
    },
  }
}
