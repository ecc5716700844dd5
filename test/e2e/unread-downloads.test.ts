/** Files and streams that clients open but do not read, on each runtime. See docs/security.md, "Overload". */
import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { runtimes, startServe } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { useDatabase } from '../support/use-database.ts'
import { bearer, callTool } from './client.ts'

const database = useDatabase()
const fileBytes = 24 * 2 ** 20
const megabytesOf = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)![1]) / 1_024

test.each(runtimes)(
  'twenty downloads that clients do not read take little memory, and sends still work: %s',
  async (runtime) => {
    const { agents: [ada, ben] } = await seedAgents(database.url, ['ada', 'ben'])
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const headers = { ...bearer(ada.key), 'Content-Type': 'application/json' }
    const begun = await fetch(`${server.url}/api/v1/parts`, { method: 'POST', headers, body: `{"bytes":${fileBytes}}` })
    const { upload_id } = await begun.json()
    await fetch(`${server.url}/api/v1/parts/${upload_id}?offset=0`, {
      method: 'PUT',
      headers: { ...bearer(ada.key), 'Content-Type': 'application/octet-stream' },
      body: Buffer.alloc(fileBytes, 7),
    })
    await callTool(server.url, ada.key, 'send_message', { to: ben.alias, message: 'a file', parts: [{ upload_id }] })
    const { messages: [{ parts: [part] }] } = await callTool(server.url, ben.key, 'read_messages', {})
    const path = `/api/v1/parts/${part.part_id}`
    expect((await (await fetch(server.url + path, { headers: bearer(ben.key) })).bytes()).length).toBe(fileBytes)
    const before = megabytesOf(server.pid)

    const sockets = Array.from({ length: 20 }, () => connect(server.port, '127.0.0.1').pause())
    for (const socket of sockets) {
      await once(socket, 'connect')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${ben.key}\r\n\r\n`)
    }
    for (let n = 0; n < 20; n++) {
      await callTool(server.url, ada.key, 'send_message', { to: ben.alias, message: `${n}` })
    }
    const refused = await fetch(server.url + path, { headers: bearer(ben.key) })

    expect(refused.status).toBe(429)
    expect(megabytesOf(server.pid) - before).toBeLessThan(100)
    for (const socket of sockets) socket.destroy()
    await server.stop()
  },
)
