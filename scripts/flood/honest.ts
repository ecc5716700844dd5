/**
 * Well-behaved accounts, in a separate process: `honest.ts ORDER`, with an `HonestOrder` as JSON. Each makes its calls
 * at a fixed rate, on a connection for each of its agents, until the process is ended. Prints a JSON line of
 * `HonestCall`s every quarter of a second.
 */
import process from 'node:process'
import { Connection } from '../bench/connection.ts'
import type { FloodAccount } from './accounts.ts'
import { honestRequests, outcomeOf } from './requests.ts'

export interface HonestOrder {
  port: number
  accounts: FloodAccount[]
  /** Calls per account and second. */
  perSecond: number
}

export interface HonestCall {
  /** The time at which the call was due, in milliseconds since the epoch. */
  at: number
  /** From then to its response: a call also waits for the previous one. */
  ms: number
  isServed: boolean
}

const { port, accounts, perSecond }: HonestOrder = JSON.parse(process.argv[2])
let done: HonestCall[] = []

function keepCalling(account: FloodAccount, offsetMs: number): void {
  const requests = honestRequests(port, account)
  const connections = [new Connection(port), new Connection(port)]
  const last = [Promise.resolve(), Promise.resolve()]
  let n = 0
  const call = async (request: Buffer, connection: Connection, at: number) => {
    const outcome = await connection.send(request).then(outcomeOf, () => 'lost')
    done.push({ at, ms: Date.now() - at, isServed: outcome === 'served' })
  }
  setTimeout(() =>
    setInterval(() => {
      const [request, of, at] = [requests[n % requests.length], n % 2, Date.now()]
      n++
      last[of] = last[of].then(() => call(request, connections[of], at))
    }, 1_000 / perSecond), offsetMs)
}

accounts.forEach((account, n) => keepCalling(account, n / accounts.length * 1_000 / perSecond))
setInterval(() => {
  console.log(JSON.stringify(done))
  done = []
}, 250)
