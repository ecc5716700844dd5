/**
 * Backups under load: `npm run backups -- [--rounds 20] [--megabytes 1000] [--clients 32] [--runtime node]`. Prints how
 * long sends take with and without a backup, and whether each backup restores with every message that was acknowledged
 * before it began. See docs/operations.md, "Scripts".
 */
import { createClient } from '@libsql/client'
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Runtime, runtimeCommand } from './runtime.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    megabytes: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '32' },
    runtime: { type: 'string', default: 'node' },
  },
})
const [rounds, megabytes, clients] = [values.rounds, values.megabytes, values.clients].map(Number)
const runtime = values.runtime as Runtime
const folder = mkdtempSync(join(tmpdir(), 'agent-grid-backups-'))
const path = join(folder, 'grid.db')
const env = {
  ...process.env,
  DATABASE_URL: `file:${path}`,
  ...{ BACKUP_KEY: crypto.randomUUID(), LOG_LEVEL: 'warn', PORT: '0', CALLS_PER_SECOND: '0' },
  ...{ MESSAGES_PER_DAY: '0', MEGABYTES_PER_DAY: '0', UNREAD_PER_INBOX: '0' },
}
const children = new Set<ChildProcess>()

function start(words: string[], databaseUrl = env.DATABASE_URL): ChildProcess {
  const [program, ...args] = runtimeCommand(runtime, databaseUrl)
  const child = spawn(program, [...args, 'src/main.ts', ...words], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

async function run(words: string[], databaseUrl?: string): Promise<Record<string, string>> {
  const child = start([...words, '--json'], databaseUrl)
  let text = ''
  child.stdout!.on('data', (more) => text += more)
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}: ${text}`)
  return JSON.parse(text)
}

/** Messages between the agents, until the file has the wanted size. */
async function fill(): Promise<void> {
  const client = createClient({ url: env.DATABASE_URL })
  await client.execute('PRAGMA synchronous = OFF')
  for (let n = 0; statSync(path).size < megabytes * 2 ** 20; n++) {
    await client.execute({
      sql: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, created_at, body)
        SELECT account_id, ? || '-' || i, id, alias, 'agent', '@reader', ?, hex(randomblob(2000)) FROM n, (SELECT * FROM agents LIMIT 1)`,
      args: [`filled-${n}`, Date.now()],
    })
  }
  client.close()
}

const acknowledged: string[] = []
let times: { at: number; ms: number }[] = []
let isStopped = false

/** Sends one message after the other, and notes how long each took. */
async function send(url: string, key: string, name: string): Promise<void> {
  for (let n = 0; !isStopped; n++) {
    const message = `${name} ${n}`
    const startedAt = performance.now()
    const response = await fetch(`${url}/mcp/v1/grid`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: n,
        method: 'tools/call',
        params: { name: 'send_message', arguments: { to: '@reader', message } },
      }),
    })
    if ((await response.text()).includes('message_id')) acknowledged.push(message)
    times.push({ at: startedAt, ms: performance.now() - startedAt })
  }
}

function summary(): string {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b)
  times = []
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(0)
  return `${sorted.length} sends, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, longest ${
    at(0.999999)
  } ms`
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function main(): Promise<void> {
  const { account_id } = await run(['create-account', '--name', 'Load', '--owner-email', 'a@example.com'])
  const create = async (alias: string) =>
    (await run(['create-agent', '--account', account_id, '--alias', alias])).api_key
  await create('reader')
  const keys = [await create('ada'), await create('ben'), await create('cora'), await create('dan')]
  await fill()
  const server = start(['serve', '--json'])
  const url = await new Promise<string>((resolve) =>
    server.stdout!.once('data', (line) => resolve(JSON.parse(String(line)).url))
  )
  // The server places the messages in conversations first.
  while ((await (await fetch(`${url}/readyz`)).text()).includes('messagesToPlace')) await sleep(1_000)
  const load = Promise.all(Array.from({ length: clients }, (_, i) => send(url, keys[i % 4], `${i}`)))
  await sleep(3_000)
  times = []
  await sleep(10_000)
  console.log(`without: ${summary()}`)
  const copies = []
  for (let round = 0; round < rounds; round++) {
    const before = acknowledged.length
    const file = join(folder, `${round}.backup`)
    times = []
    const startedAt = performance.now()
    await run(['backup', file])
    console.log(`backup ${round}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${summary()}`)
    copies.push({ file, before })
    // Only the newest ones are kept on the disk; the others are looked at now.
    await check(copies.pop()!)
    // The check holds this process, and so the sends that are under way.
    await sleep(1_000)
    times = []
    await sleep(3_000)
    console.log(`without: ${summary()}`)
  }
  isStopped = true
  await load
  server.kill('SIGTERM')
  await new Promise((resolve) => server.once('close', resolve))
}

/** Restore a backup elsewhere, and look for what was acknowledged before it. */
async function check({ file, before }: { file: string; before: number }): Promise<void> {
  const target = join(folder, 'restored.db')
  copyFileSync(`${path}.keys`, `${target}.keys`)
  await run(['restore', file], `file:${target}`)
  const client = createClient({ url: `file:${target}` })
  const { rows } = await client.execute("SELECT body FROM messages WHERE id NOT LIKE 'filled-%'")
  client.close()
  const found = new Set(rows.map(({ body }) => body))
  const lost = acknowledged.slice(0, before).filter((message) => !found.has(message))
  console.log(`  restored: ${found.size} messages, ${before} acknowledged before, ${lost.length} lost`)
  if (lost.length > 0) process.exitCode = 1
  for (const left of [file, target, `${target}.keys`]) rmSync(left, { force: true })
}

void main().finally(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
