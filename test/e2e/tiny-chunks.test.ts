/** A body must not cost much more in many tiny chunks than in one chunk. See docs/security.md, "Requests". */
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { runtimes, type ServerProcess, startServe } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { useDatabase } from '../support/use-database.ts'

const database = useDatabase()
/** Returns a process's CPU time, in milliseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Sends a complete request. Once the connection is closed, resolves to the status, or to `none` without a response. */
function exchange({ port }: ServerProcess, head: string[], body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.on('data', (text) => answer += text)
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer.split('\r\n')[0].split(' ')[1] ?? 'none'))
    socket.write([...head, `Host: 127.0.0.1:${port}`, 'Connection: close', '', ''].join('\r\n'))
    socket.write(body)
  })
}

const bytes = 200_000
const inOne = Buffer.from(`${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`)
const inTiny = Buffer.from('1\r\nx\r\n'.repeat(bytes) + '0\r\n\r\n')

test.each(runtimes)(
  'a body in one-byte chunks costs at most ten times as much as in one chunk, whether or not the server reads it: %s',
  async (runtime) => {
    const { agents: [ada] } = await seedAgents(database.url, ['ada'])
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const key = `Authorization: Bearer ${ada.key}`
    const begun = await fetch(`${server.url}/api/v1/parts`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${ada.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ bytes }),
    })
    const { upload_id } = await begun.json()
    const upload = [`PUT /api/v1/parts/${upload_id}?offset=0 HTTP/1.1`, key, 'Content-Type: application/octet-stream']
    const requests = [
      ['POST /api/v1/grid HTTP/1.1', key, 'Content-Type: application/json'],
      ['POST /api/v1/grid HTTP/1.1', 'Content-Type: application/json'],
      ['POST /oauth/register HTTP/1.1', 'Content-Type: application/json'],
      ['POST /nowhere HTTP/1.1'],
      ['POST /api/v1/slack/x/events HTTP/1.1'],
      ['GET /healthz HTTP/1.1'],
      upload,
    ]
    const cost = async (body: Buffer) => {
      const before = cpuOf(server.pid)
      for (const head of requests) await exchange(server, [...head, 'Transfer-Encoding: chunked'], body)
      return cpuOf(server.pid) - before
    }
    await cost(inTiny)
    expect(await exchange(server, [...upload, 'Transfer-Encoding: chunked'], inTiny)).toBe('400')
    const [tiny, one] = [await cost(inTiny), await cost(inOne)]

    // A process's CPU clock has a resolution of 10 ms.
    expect(tiny).toBeLessThan(10 * Math.max(one, 30))
    await server.stop()
  },
)
