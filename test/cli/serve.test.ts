import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { version } from '../../src/lib/version.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { someRuntimes } from '../support/long.ts'
import { runCommand, runScript, runtimes, startServe } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'

const database = useDatabase()

test("a start prints the grid's URL, the data file and the next steps", async () => {
  const server = await startServe('node', { DATABASE_URL: database.url, DURABILITY: 'relaxed' })
  const { stdout } = await server.stop()

  const lines = stdout.split('\n')
  expect(lines[0]).toBe(`agent-grid is running at http://localhost:${server.port}`)
  expect(stdout).toContain(`Data file   ${database.folder}/grid.db\n`)
  expect(stdout).toContain('Durability  relaxed: a power failure may lose the last messages\n')
  expect(stdout).toContain(`curl http://localhost:${server.port}/api/v1/agentic-signup`)
  const address = `http://localhost:${server.port}`
  expect(stdout).toContain(`\n  npx ${address}/agent-grid.tgz health --url ${address}\n`)
  expect(stdout).toMatch(/No user exists yet[^]*\n +http:\/\/localhost:\d+\/set-up\/\w{43}/)
})

test('while no user can sign in, each start prints a working link', async () => {
  await seedAgents(database.url, [])
  const env = { DATABASE_URL: database.url }
  const first = await startServe('bun', env)
  const words = first.stdout().match(/npm run -s grid -- (create-link .*)\n/)![1].split(' ')
  const { stdout: url } = await runCommand('bun', words, env)
  const page = await fetch(new URL(new URL(url.trim()).pathname, first.url))
  await first.stop()
  const second = await startServe('bun', env, ['--json'])
  const report = JSON.parse((await second.stop()).stdout)

  expect(words).toEqual(['create-link', '--kind', 'password', '--email', 'ann@acme.example'])
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Choose a new password')])
  expect(report).toMatchObject({ locked_out_user: 'ann@acme.example' })
  expect(report).not.toHaveProperty('set_up_url')
})

test('a start warns if only one URL is HTTPS, and about misspelt and removed settings', async () => {
  const server = await startServe('node', {
    ...{ DATABASE_URL: database.url, APP_URL: 'https://grid.example' },
    ...{ CALL_PER_SECOND: '5', RETENTION_DAY: '30', A2A_BLOCKING_STRICT: '1', LOCK_WAIT: '5' },
    ...{
      HOME: '/root',
      HOSTNAME: 'pod',
      NODE_ENV: 'x',
      npm_config_port: '1',
      REDIS_URL: 'x',
      DATABASE_HOST: 'x',
      SMTP_PORT: '25',
      LOG_FILE: 'x',
      GRID_PORT: 'tcp://x',
    },
  })
  const { stderr } = await server.stop()

  const messages = stderr.trim().split('\n').map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn')
    .map(({ message }) => message)
  expect(messages.filter((message) => /setting|https/.test(message))).toEqual([
    expect.stringContaining('people can sign in only at APP_URL. Use https for both.'),
    'CALL_PER_SECOND is not a setting. Did you mean CALLS_PER_SECOND?',
    'RETENTION_DAY is not a setting. Did you mean RETENTION_DAYS?',
    'A2A_BLOCKING_STRICT is no longer a setting. Whether calls over A2A wait for an agent is set on the settings page of the agent.',
    'LOCK_WAIT is no longer a setting. A server waits up to 20 seconds for another process to release the local file.',
  ])
})

test('a start refuses a BACKUP_DIR that is a file', async () => {
  const env = { DATABASE_URL: database.url, BACKUP_DIR: 'package.json', BACKUP_PLAIN: '1' }

  expect(await runCommand('bun', ['serve'], env)).toMatchObject({
    code: 1,
    stderr: 'BACKUP_DIR must be the path of a folder, and package.json is a file.\n',
  })
})

test('health reports that another program responds at its address', async () => {
  const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo

  const { code, stderr } = await runCommand('bun', ['health'], { PORT: String(port) })
  other.close()

  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      `The program that answers on port ${port} is not an agent-grid. Stop it, or check the grid at its own address.\n`,
  })
})

test('health works with any public host name and any listening address', async () => {
  const port = await freePort()
  const env = { PORT: `${port}`, HOST: '0.0.0.0', BASE_URL: `http://grid.example:${port}`, DATABASE_URL: database.url }
  const server = await startServe('bun', env)

  const healthy = await runCommand('bun', ['health', '--json'], env)
  const elsewhere = await runCommand('bun', ['health', '--url', `http://grid.example:${port}/x`], {})
  const byAddress = await runCommand('bun', ['health', '--url', 'grid.example'], {})
  const otherHost = await runCommand('bun', ['health'], { ...env, BASE_URL: 'http://other.example' })
  await server.stop()

  expect(healthy.code).toBe(0)
  expect(JSON.parse(healthy.stdout)).toEqual({ status: 'ready', durability: 'full', version })
  expect(elsewhere).toMatchObject({ code: 1, stderr: `No server answers at http://grid.example:${port}.\n` })
  expect(byAddress).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--url must be an address such as https'),
  })
  expect(otherHost.code).toBe(0)
})

test.each(someRuntimes)(
  'on %s, health reports whether a server is running, and a start refuses a port in use',
  async (runtime) => {
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const env = { PORT: `${server.port}`, DATABASE_URL: `${database.url}-2` }

    const healthy = await runCommand(runtime, ['health'], env)
    const second = await runCommand(runtime, ['serve'], env)
    const { code } = await server.stop()
    const gone = await runCommand(runtime, ['health'], env)

    expect(healthy).toMatchObject({ code: 0, stdout: 'The server is ready.\n' })
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toContain(
      `Cannot listen on 127.0.0.1:${server.port}. Another program listens there. Stop it, or set PORT to another port.\n`,
    )
    expect(code).toBe(0)
    expect(gone).toMatchObject({ code: 1, stderr: `No server answers on port ${server.port}.\n` })
  },
)

describe.each(runtimes)('on %s', (runtime) => {
  test('a request in progress gets its response although the server is stopping', async () => {
    const server = await startServe(runtime, { DATABASE_URL: database.url, LOG_LEVEL: 'info' })
    const body = JSON.stringify({ owner_email: 'you@example.com', alias: 'late-agent' })
    const head = [
      'POST /api/v1/agentic-signup HTTP/1.1',
      `Host: 127.0.0.1:${server.port}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    const begun = await beginRequest(server.port, `${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)

    server.signal('SIGTERM')
    await logged(server, 'Stopping')
    await waitFor('the end of listening', () => isRefused(server.port))
    begun.socket.write(body.slice(10))
    const response = await begun.response
    const { code } = await server.ended

    expect(response).toMatch(/^HTTP\/1\.1 201 /)
    expect(code).toBe(0)
  })

  test.each(['throw', 'reject'])('an uncaught error (%s) is logged and ends the process with 70', async (kind) => {
    const { code, stdout, stderr } = await runScript(runtime, 'test/support/fault.ts', [kind])

    expect({ code, stdout }).toEqual({ code: 70, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ level: 'error', error: { message: 'a fault of ours' } })
  })
})

test('a stopping server reports that it is not ready', async () => {
  const server = await startServe('node', { DATABASE_URL: database.url, LOG_LEVEL: 'info' })
  const begun = await beginRequest(server.port, `GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`)

  server.signal('SIGTERM')
  await logged(server, 'Stopping')
  begun.socket.end('\r\n')
  const response = await begun.response
  const { code, stderr } = await server.ended

  expect(response).toMatch(/^HTTP\/1\.1 503 /)
  expect(response).toContain('{"status":"stopping","durability":"full"}')
  expect({ code, last: JSON.parse(stderr.trim().split('\n').at(-1)!).message }).toEqual({ code: 0, last: 'Stopped' })
})

test.each([
  ['ends the process at once', {}, 0],
  ['may be of npm, which repeats the first one for 500 ms at most', { npm_lifecycle_event: 'start' }, 500],
])('a second SIGTERM %s', async (_, ofNpm, leastMs) => {
  const server = await startServe('node', { DATABASE_URL: database.url, LOG_LEVEL: 'info', ...ofNpm })
  const begun = await beginRequest(server.port, `GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`)

  const signalledAt = performance.now()
  let endedAt: number | undefined
  void server.ended.then(() => endedAt = performance.now())
  server.signal('SIGTERM')
  await logged(server, 'Stopping')
  const seenAt = performance.now()
  await waitFor('the end of a process that is signalled again and again', () => {
    server.signal('SIGTERM')
    return endedAt
  })
  const { code, stderr } = await server.ended
  begun.socket.destroy()

  expect(endedAt! - signalledAt).toBeGreaterThan(leastMs)
  if (leastMs === 0) expect(endedAt! - seenAt).toBeLessThan(500)
  expect(code).toBe(1)
  expect(stderr).not.toContain('Stopped')
})

/** Sends the first part of a request. `response` is empty if the connection closes without one. */
async function beginRequest(port: number, firstPart: string): Promise<{ socket: Socket; response: Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const response = new Promise<string>((resolve) => {
    socket.on('data', (bytes) => resolve(String(bytes)))
    socket.on('close', () => resolve(''))
    socket.on('error', () => resolve(''))
  })
  socket.write(firstPart)
  // When two later connections have responses, the server has read this connection's earlier bytes.
  for (let n = 0; n < 2; n++) await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { Connection: 'close' } })
  return { socket, response }
}

async function logged(server: { stderr(): string }, message: string): Promise<void> {
  await waitFor(`the log line "${message}"`, () => server.stderr().includes(`"message":"${message}"`))
}

/** Whether nothing listens on the port. */
async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return await once(socket, 'connect').then(() => false, () => true).finally(() => socket.destroy())
}
