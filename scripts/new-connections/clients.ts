/**
 * Busy clients of `measure.ts`, in a separate process: `clients.ts PORT CLIENTS SECONDS PATH`. Each keeps one
 * connection and sends its next request after the response to the last one. Prints "connecting", then "served" when
 * each client has two responses, and finally each client's number of responses as JSON.
 */
import process from 'node:process'
import { Connection, post } from '../bench/connection.ts'

const [port, clients, seconds] = process.argv.slice(2).map(Number)
const path = process.argv[5]
const answers = new Array<number>(clients).fill(0)
const until = performance.now() + seconds * 1_000
let unserved = clients

async function repeat(client: number): Promise<void> {
  const connection = new Connection(port)
  const request = path === '/work'
    ? post(port, path, { client })
    : Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
  while (performance.now() < until) {
    // Reopens a connection that the server closed.
    await connection.send(request).catch(() => connection.close())
    if (++answers[client] === 2 && --unserved === 0) console.log('served')
  }
  connection.close()
}

console.log('connecting')
for (let client = 0; client < clients; client++) void repeat(client)
// Clients that still wait for their first response must not prolong the measurement.
setTimeout(() => {
  console.log(JSON.stringify(answers))
  process.exit(0)
}, seconds * 1_000 + 100)
