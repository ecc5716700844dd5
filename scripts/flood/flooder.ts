/**
 * The flood, in a separate process: `flooder.ts ORDER`, with a `FloodOrder` as JSON. Requests fall due at a fixed rate.
 * Each is sent once a connection has received its previous response, so the pressure on a slow server does not fall.
 * Prints the `Flooded` as JSON.
 */
import process from 'node:process'
import { Connection } from '../bench/connection.ts'
import type { FloodAccount } from './accounts.ts'
import { floodRequests, type Outcome, outcomeOf, type Traffic } from './requests.ts'

export interface FloodOrder {
  port: number
  account: FloodAccount
  traffic: Traffic
  /** Requests that fall due per second. */
  perSecond: number
  connections: number
  seconds: number
}

export interface Flooded {
  /** The number of requests that fell due. */
  offered: number
  /** The number of responses by category; `lost` if the connection ended without a response. */
  answers: Partial<Record<Outcome | 'lost', number>>
}

const { port, account, traffic, perSecond, connections, seconds }: FloodOrder = JSON.parse(process.argv[2])
const requests = floodRequests(port, account, traffic)
const startedAt = performance.now()
const answers: Flooded['answers'] = {}
const idle = Array.from({ length: connections }, () => new Connection(port))
let sent = 0
let offered = 0

function sendWhatIsDue(): void {
  offered = Math.floor((performance.now() - startedAt) / 1_000 * perSecond)
  while (sent < offered && idle.length > 0) void sendBy(idle.pop()!)
}

async function sendBy(connection: Connection): Promise<void> {
  const outcome = await connection.send(requests[sent++ % requests.length]).then(outcomeOf, () => 'lost' as const)
  answers[outcome] = (answers[outcome] ?? 0) + 1
  idle.push(connection)
  sendWhatIsDue()
}

setInterval(sendWhatIsDue, 5)
setTimeout(() => {
  console.log(JSON.stringify({ offered, answers } satisfies Flooded))
  process.exit(0)
}, seconds * 1_000)
