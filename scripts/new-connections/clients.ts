/**
 * Busy clients for `measure.ts`, in a separate process: `clients.ts PORT CLIENTS SECONDS PATH`. Each keeps one
 * connection and sends its next request after the previous response. Prints "connecting", "served" when each client has
 * had two responses, and finally the number of responses per client as JSON.
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
    // After an error, the next request reopens the connection.
    await connection.send(request).catch(() => connection.close())
    if (++answers[client] === 2 && --unserved === 0) console.log('served')
  }
  connection.close()
}

console.log('connecting')
for (let client = 0; client < clients; client++) void repeat(client)
// Ends the process even if clients still wait for their first response.
setTimeout(() => {
  console.log(JSON.stringify(answers))
  process.exit(0)
}, seconds * 1_000 + 100)
