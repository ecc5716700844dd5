/**
 * `npm run lab -- call-path`: lists the source files and named functions that one warm call runs, from the socket to
 * the commit and back, using V8's coverage. Functions that run only during some of the calls, such as timers, do not
 * count.
 */
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { readServerConfig } from '../src/cli/server.ts'
import { processDeps } from '../src/cli/process.ts'
import { startServer } from '../src/cli/server.ts'
import { call, readMessagesRequest, sendMessageRequest } from './bench/calls.ts'
import { Connection, post } from './bench/connection.ts'
import { cleanUp, temporaryFolder } from './bench/server.ts'
import { nextText } from './bench/words.ts'
import { createAccounts } from './flood/measure.ts'

/** The number of warm-up calls and of counted calls. */
const warmCalls = 20
const countedCalls = 12

const root = fileURLToPath(new URL('..', import.meta.url))
const session = new Session()

/** The named functions in `src` that ran since the last check, as file, name and position in the file. */
async function functionsRun(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result.filter(({ url }) => url.startsWith(`file://${root}src/`)).flatMap(({ url, functions }) =>
    // Names that tsx and V8 generate begin with other characters: `__name`, `<static_initializer>`.
    functions.filter(({ functionName, ranges: [{ count }] }) => count > 0 && /^[a-z#]/i.test(functionName))
      .map(({ functionName, ranges: [{ startOffset }] }) =>
        `${relative(root, fileURLToPath(url))} ${functionName} ${startOffset}`
      )
  )
}

/** The functions that each of several calls runs. `prepare` builds a request to send before each call. */
async function functionsOf(connection: Connection, request: () => Buffer, prepare?: () => Buffer): Promise<string[]> {
  let passed: string[] | undefined
  for (let n = 0; n < warmCalls + countedCalls; n++) {
    if (prepare) await call(connection, prepare())
    await functionsRun()
    const { status, body } = await connection.send(request())
    const run = await functionsRun()
    if (status >= 300 || /"error":|"isError":true/.test(body)) throw new Error(`${status}: ${body}`)
    if (n >= warmCalls) passed = passed?.filter((one) => run.includes(one)) ?? run
  }
  return passed!.sort()
}

function print(name: string, functions: string[]): void {
  const byFile = new Map<string, string[]>()
  for (const [file, name] of functions.map((one) => one.split(' '))) byFile.set(file, [...byFile.get(file) ?? [], name])
  const files = [...byFile.keys()]
  const inLib = files.filter((file) => file.startsWith('src/lib/')).length
  console.log(`${name}: ${files.length} files, ${inLib} of them in lib, and ${functions.length} named functions`)
  for (const [file, names] of byFile) console.log(`  ${file}: ${names.join(', ')}`)
}

try {
  const url = `file:${join(temporaryFolder(), 'grid.db')}`
  const env = { DATABASE_URL: url, OAUTH_CIMD: 'off', LOG_LEVEL: 'warn', PORT: '0' }
  const { flooding: { agents: [alice, bob] } } = await createAccounts(env, { honest: 0, agents: 2 })
  const config = await readServerConfig(env)
  await startServer(processDeps(config))
  const { port } = config

  const to = `@${bob.alias}`
  const text = nextText()
  const asAlice = { Authorization: `Bearer ${alice.key}` }
  const send = () => sendMessageRequest(port, alice, to)
  const read = () => readMessagesRequest(port, bob)
  const restSend = () => post(port, '/api/v1/messages', { to, message: text }, asAlice)
  const a2aSend = () => {
    const parts = [{ kind: 'text', text }]
    const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, metadata: { to } }
    return post(port, '/a2a/v1/grid', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }, asAlice)
  }

  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const connection = new Connection(port)
  print('read', await functionsOf(connection, read, send))
  print('empty read', await functionsOf(connection, read))
  print('send', await functionsOf(connection, send))
  print('REST send', await functionsOf(connection, restSend))
  print('A2A send', await functionsOf(connection, a2aSend))
} finally {
  await cleanUp()
}
process.exit()
