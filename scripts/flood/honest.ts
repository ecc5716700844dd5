/**
 * Well-behaved accounts, in a separate process: `honest.ts ORDER`, with an `HonestOrder` as JSON. Each account makes
 * calls at a fixed rate, on one connection per agent, until the process is killed. Prints a JSON line of `HonestCall`s
 * every quarter of a second.
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
  /** When the call was due, in ms since 1970. */
  at: number
  /** The time from `at` to the response, in ms. It includes the wait for the previous call. */
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
