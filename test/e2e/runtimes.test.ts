import { execFileSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { executableKind, ownTarget, targets } from '../../scripts/binary/targets.ts'
import { readPage } from '../../src/cli/manual.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { binaryFile, buildBinary, removeBinary } from '../support/binary.ts'
import { isLong } from '../support/long.ts'
import {
  type ProcessResult,
  runCommand,
  type Runner,
  runtimes,
  type ServerProcess,
  startServe,
} from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { peopleScenario } from './people.ts'
import { scenario } from './scenario.ts'

/** Cards are signed only with a key ring, and a remote database has no key ring in its folder. */
const keys = newKeyRing()

const database = useDatabase()
let sqld: Sqld
let server: ServerProcess | undefined
beforeAll(async () => {
  ;[sqld] = await Promise.all([startSqld(), buildBinary()])
})
afterAll(async () => {
  removeBinary()
  await sqld.stop()
})
afterEach(async () => {
  await server?.stop()
  server = undefined
})

/** Creates an account while the server runs. Resolves to its admin key. */
async function adminKeyAt(url: string, env: Record<string, string> = {}): Promise<string> {
  const words = ['create-account', '--name', 'Acme', '--owner-email', 'cy@acme.example', '--json']
  const { stdout } = await runCommand('bun', words, { DATABASE_URL: url, ...env })
  return JSON.parse(stdout).admin_key
}

async function refusesSecond(runtime: Runner): Promise<void> {
  const second = await runCommand(runtime, ['serve'], { DATABASE_URL: database.url, PORT: '0' })
  expect(second).toMatchObject({ code: 1, stdout: '' })
  expect(second.stderr).toContain('is in use by another process (process ')
  expect(second.stderr).toContain('for several use libsql-server or Turso')
}

const metricsToken = 'a token for metrics'

// The binary contains Bun and the program's sources, so only the long form tests it.
const runners: readonly Runner[] = isLong ? [...runtimes, 'binary'] : runtimes

// OAUTH_CIMD=off, because tests must not access the internet.
test.each(runners)(
  'on %s, every interface works with a local file, and a second process is refused',
  async (runtime) => {
    const metricsPort = await freePort()
    server = await startServe(runtime, {
      DATABASE_URL: database.url,
      OAUTH_CIMD: 'off',
      SIGNUP_PER_HOUR: '1000',
      METRICS_TOKEN: metricsToken,
      METRICS_PORT: String(metricsPort),
    })
    await peopleScenario(server.url, server.stdout().match(/\/set-up\/[\w-]+/)?.[0])
    await scenario(server.url, await adminKeyAt(database.url))
    await isMeasured(server.url, metricsPort)

    // In the short form only on Bun, because the second process waits 20 s for the lock before it fails.
    if (isLong || runtime === 'bun') await refusesSecond(runtime)
    const stopped = await server.stop()

    expect(stopped.code).toBe(0)
    expect(logged(stopped)).toEqual([])
  },
)

test.each(isLong ? runners : ['node'] as const)('on %s, every interface works with libsql-server', async (runtime) => {
  server = await startServe(runtime, {
    DATABASE_URL: sqld.url,
    OAUTH_CIMD: 'off',
    SIGNUP_PER_HOUR: '1000',
    GRID_KEYS: keys,
  })
  await peopleScenario(server.url, server.stdout().match(/\/set-up\/[\w-]+/)?.[0])
  await scenario(server.url, await adminKeyAt(sqld.url, { GRID_KEYS: keys }))

  const stopped = await server.stop()

  expect(stopped.stdout).toContain(`Database  ${new URL(sqld.url).host}`)
  expect(stopped.code).toBe(0)
  expect(logged(stopped)).toEqual([])
})

test('the binary works as a single file, reads no settings from its folder, and serves the client package and the manual', async () => {
  const folder = dirname(binaryFile)
  for (const name of ['.env', '.env.local']) writeFileSync(join(folder, name), 'BASE_URL=https://not-read.example\n')
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./missing.ts"]\n')

  server = await startServe('binary', {})
  const agent = await fetch(`${server.url}/api/v1/agentic-signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ owner_email: 'ann@acme.example', alias: 'ada' }),
  })
  const archive = await fetch(`${server.url}/agent-grid.tgz`)
  writeFileSync(join(folder, 'agent-grid.tgz'), new Uint8Array(await archive.arrayBuffer()))
  execFileSync('tar', ['-xzf', join(folder, 'agent-grid.tgz'), '-C', folder])
  const client = [join(folder, 'package/client.js'), 'health', '--url', `http://localhost:${server.port}`]
  const health = execFileSync(process.execPath, client, { encoding: 'utf8', env: {} })
  const words = ['create-account', '--name', 'Acme', '--owner-email', 'bob@acme.example']
  const account = await runCommand('binary', words, {})
  const { stdout } = await server.stop()
  const pages = [
    await runCommand('binary', ['help', 'install'], {}),
    await runCommand('binary', ['help', 'protocol'], {}),
  ]

  expect(pages.map(({ stdout }) => stdout)).toEqual([`${readPage('install')}\n`, `${readPage('protocol')}\n`])
  expect(health).toBe('The server is ready.\n')
  expect(account.stdout).toContain(`\nNext: ${binaryFile} create-agent --account `)
  expect(executableKind(binaryFile)).toEqual(targets[ownTarget()].kind)
  expect(statSync(binaryFile).size).toBeLessThan(130_000_000)
  expect(agent.status).toBe(201)
  expect(stdout).toContain(`running at http://localhost:${server.port}\n`)
  expect(existsSync(join(folder, 'data/grid.db'))).toBe(true)
})

/** Returns the grid's warnings and errors, except the warning of the first start that a key ring was created. */
function logged({ stderr }: ProcessResult): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('{') && !line.includes('A new key ring was created'))
}

/** Reads the metrics as Prometheus does, at both addresses. */
async function isMeasured(url: string, port: number): Promise<void> {
  const headers = { Authorization: `Bearer ${metricsToken}` }
  const answers = [
    await fetch(`${url}/metrics`, { headers }),
    await fetch(`http://127.0.0.1:${port}/metrics`),
  ]
  for (const answer of answers) {
    expect(answer.headers.get('content-type')).toMatch(/^application\/openmetrics-text/)
    const text = await answer.text()
    expect(text).toMatch(/^grid_call_seconds_count\{.*door="mcp",verb="send_message"\} [1-9]/m)
    expect(text).toMatch(/^grid_commit_seconds_count [1-9]/m)
    expect(text).toMatch(/^grid_memory_bytes\{kind="resident"\} [1-9]/m)
    expect(text.endsWith('# EOF\n')).toBe(true)
  }
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(404)
}
