/** A server with little memory survives many long lists, and still serves other clients. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, createAdminKey, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { openStore } from '../../src/store/store.ts'
import { addCrowd } from '../support/crowd.ts'
import { type ServerProcess, startServe, temporaryDatabase } from '../support/process.ts'
import { callTool } from './client.ts'

const system = { type: 'system', job: 'test' } as const
const listAgents = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'admin_list_agents', arguments: {} },
})
const database = temporaryDatabase()
let server: ServerProcess
afterEach(async () => {
  await server.stop()
  database.remove()
})

test('a server with 256 MB survives 204 long lists that clients do not read, and serves other clients', async () => {
  const { adminKeys, honest, goodAdmin } = await fill()
  server = await startServe('node', { DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=256' })
  const before = memoryMb()
  const stalled: Socket[] = []
  for (const key of adminKeys) {
    stalled.push(await askAndStall(key))
    await callTool(server.url, honest, 'send_message', { to: '@helper', message: 'still here' })
  }

  // Another account's lists do not count towards the attacker's budget.
  expect((await ask(goodAdmin)).byteLength).toBeGreaterThan(100)
  const growth = memoryMb() - before
  const served = await Promise.all(stalled.map(bytesOf))
  const megabytes = served.reduce((sum, bytes) => sum + bytes, 0) / 1_000_000
  console.log(`${megabytes.toFixed()} MB of lists were made; memory grew by ${growth.toFixed()} MB`)
  // The lists must exceed the operating system's buffers, which are not part of the server's memory.
  expect(megabytes).toBeGreaterThan(8)
  expect(growth).toBeLessThan(100)
})

/** Returns the server's resident memory, in MB. */
function memoryMb(): number {
  return Number(readFileSync(`/proc/${server.pid}/status`, 'utf8').match(/VmRSS:\s*(\d+) kB/)![1]) / 1_024
}

/** Requests six lists over one connection, but does not read the responses, which exceed the system's buffers. */
async function askAndStall(key: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  await once(socket, 'connect')
  for (let n = 1; n <= 6; n++) {
    const headers = {
      ...headersOf(key),
      Connection: n < 6 ? 'keep-alive' : 'close',
      'Content-Length': listAgents.length,
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.write(
      ['POST /mcp/v1/grid HTTP/1.1', `Host: 127.0.0.1:${server.port}`, ...lines, '', listAgents].join('\r\n'),
    )
  }
  return socket
}

/** Returns the number of bytes that arrive until the connection is closed. */
function bytesOf(socket: Socket): Promise<number> {
  let bytes = 0
  socket.on('data', (chunk) => bytes += chunk.length).resume()
  return new Promise((resolve) => socket.once('close', () => resolve(bytes)))
}

async function ask(key: string): Promise<ArrayBuffer> {
  const response = await fetch(`${server.url}/mcp/v1/grid`, {
    method: 'POST',
    headers: headersOf(key),
    body: listAgents,
  })
  return await response.arrayBuffer()
}

function headersOf(key: string) {
  return {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
}

/** Creates an account with many agents and admins, and an account with two agents. */
async function fill() {
  const store = await openStore(processDeps(readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'warn' })))
  const open = async (name: string) => {
    const { id } = await createAccount(store, { name, ownerEmail: `${name}@grid.example` }, system)
    return await openAccount(store, id, system)
  }
  const [crowd, good] = [await open('crowd'), await open('good')]
  await addCrowd(store, crowd.owner, { agents: 2_000, skills: 1 })
  const adminKeys: string[] = []
  for (let n = 0; n < 34; n++) adminKeys.push((await createAdminKey(crowd, `admin ${n}`)).adminKey)
  const { apiKey: honest } = await createAgent(good, { alias: 'honest' })
  await createAgent(good, { alias: 'helper' })
  const { adminKey: goodAdmin } = await createAdminKey(good, 'admin')
  await store.close()
  return { adminKeys, honest, goodAdmin }
}
