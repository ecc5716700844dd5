import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { castBefore } from '../support/cast.ts'
import { type Place, runCommand, runScript, runtimes, startServe, temporaryPlace } from '../support/process.ts'

let place: Place
beforeEach(() => {
  place = temporaryPlace()
})
afterEach(() => place.remove())

test('a start says where the grid is, where its data are, and what to do next', async () => {
  const server = await startServe('node', { DATABASE_URL: place.url, DURABILITY: 'relaxed' })
  const { stdout } = await server.stop()

  const lines = stdout.split('\n')
  expect(lines[0]).toBe(`agent-grid is running at http://localhost:${server.port}`)
  expect(stdout).toContain(`Data file   ${place.folder}/grid.db\n`)
  expect(stdout).toContain('Durability  relaxed: a power cut may lose the last messages\n')
  expect(stdout).toContain(`curl http://localhost:${server.port}/api/v1/agentic-signup`)
  expect(stdout).toMatch(/Nobody owns this grid yet.*\n +http:\/\/localhost:\d+\/set-up\/\w{43}/)
})

test('a start on a grid with accounts does not ask for one', async () => {
  await castBefore(place.url, [])
  const server = await startServe('bun', { DATABASE_URL: place.url })
  const { stdout } = await server.stop()

  expect(stdout).not.toContain('set-up')
  expect(stdout).not.toContain('Durability')
})

test('with --json a start prints one JSON object', async () => {
  const server = await startServe('bun', { DATABASE_URL: place.url }, ['--json'])
  const { stdout } = await server.stop()

  expect(JSON.parse(stdout)).toEqual({
    url: `http://localhost:${server.port}`,
    database: `${place.folder}/grid.db`,
    durability: 'full',
    set_up_url: expect.stringContaining(`:${server.port}/set-up/`),
  })
})

test('health asks for the public host, whatever address it connects to', async () => {
  const port = await freePort()
  const env = { PORT: `${port}`, HOST: '0.0.0.0', BASE_URL: `http://grid.example:${port}`, DATABASE_URL: place.url }
  const server = await startServe('bun', env)

  const healthy = await runCommand('bun', ['health', '--json'], env)
  const asAnother = await runCommand('bun', ['health'], { ...env, BASE_URL: 'http://other.example' })
  await server.stop()

  expect(healthy.code).toBe(0)
  expect(JSON.parse(healthy.stdout)).toEqual({ status: 'ready', durability: 'full' })
  expect(asAnother).toMatchObject({ code: 1, stderr: expect.stringContaining('The server is not ready: ') })
})

describe.each(runtimes)('on %s', (runtime) => {
  test('health tells a running server from none, and a port that is taken is refused', async () => {
    const server = await startServe(runtime, { DATABASE_URL: place.url })
    const env = { PORT: `${server.port}`, DATABASE_URL: `${place.url}-2` }

    const healthy = await runCommand(runtime, ['health'], env)
    const second = await runCommand(runtime, ['serve'], env)
    const { code } = await server.stop()
    const gone = await runCommand(runtime, ['health'], env)

    expect(healthy).toMatchObject({ code: 0, stdout: 'The server is ready.\n' })
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toBe(
      `Cannot listen on 127.0.0.1:${server.port}. Another program listens there. Stop it, or set PORT to another port.\n`,
    )
    expect(code).toBe(0)
    expect(gone).toMatchObject({ code: 1, stderr: `No server answers on port ${server.port}.\n` })
  })

  test('a request that has begun is answered, although the server was asked to stop', async () => {
    const server = await startServe(runtime, { DATABASE_URL: place.url, LOG_LEVEL: 'info' })
    const body = JSON.stringify({ owner_email: 'you@example.com', alias: 'late-agent' })
    const head = [
      'POST /api/v1/agentic-signup HTTP/1.1',
      `Host: 127.0.0.1:${server.port}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    const begun = await begin(server.port, `${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)

    server.signal('SIGTERM')
    await logged(server, 'Stopping')
    await sleep(300)
    begun.socket.write(body.slice(10))
    const answer = await begun.answer
    const { code } = await server.ended

    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    expect(code).toBe(0)
  })

  test.each(['throw', 'reject'])('a fault that nobody caught (%s) is logged and ends the process', async (fault) => {
    const { code, stdout, stderr } = await runScript(runtime, 'test/support/fault.ts', [fault])

    expect({ code, stdout }).toEqual({ code: 70, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ level: 'error', error: { message: 'a fault of ours' } })
  })
})

test('once asked to stop the server is not ready', async () => {
  const server = await startServe('node', { DATABASE_URL: place.url, LOG_LEVEL: 'info' })
  const begun = await begin(server.port, `GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`)

  server.signal('SIGTERM')
  await logged(server, 'Stopping')
  begun.socket.end('\r\n')
  const answer = await begun.answer
  const { code, stderr } = await server.ended

  expect(answer).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer).toContain('{"status":"stopping","durability":"full"}')
  expect({ code, last: JSON.parse(stderr.trim().split('\n').at(-1)!).message }).toEqual({ code: 0, last: 'Stopped' })
})

test('a second signal ends the process at once; the echo of the first does not', async () => {
  const server = await startServe('node', { DATABASE_URL: place.url, LOG_LEVEL: 'info' })
  const begun = await begin(server.port, `GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`)

  server.signal('SIGINT')
  server.signal('SIGINT')
  await logged(server, 'Stopping')
  await sleep(700)
  server.signal('SIGINT')
  const { code, stderr } = await server.ended
  begun.socket.destroy()

  expect(code).toBe(1)
  expect(stderr).not.toContain('Stopped')
})

/** A request of which the server waits for the rest. `answer` is empty when the connection is only closed. */
async function begin(port: number, firstPart: string): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (bytes) => resolve(String(bytes)))
    socket.on('close', () => resolve(''))
    socket.on('error', () => resolve(''))
  })
  socket.write(firstPart)
  await sleep(100)
  return { socket, answer }
}

async function logged(server: { stderr(): string }, message: string): Promise<void> {
  while (!server.stderr().includes(`"message":"${message}"`)) await sleep(10)
}
