/**
 * Processes that act as coding clients. Each runs the hooks of the built client program as child processes, as Claude
 * Code does, and can be killed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from '../../scripts/build.js'
import { waitFor } from './wait-for.ts'

/** The result of a hook. */
interface HookResult {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
}

/** A hook that is running. */
interface RunningHook {
  pid: number
  ended(): Promise<HookResult>
}

/** A client process. */
interface FakeClient {
  pid: number
  /** Runs a hook in the background. */
  start(words: string[], input: Record<string, unknown>): Promise<RunningHook>
  /** Runs a hook to completion. */
  run(words: string[], input: Record<string, unknown>): Promise<HookResult>
  /** Kills the client with SIGKILL. Its hooks keep running. */
  kill(): Promise<void>
}

/** A machine with one connected agent. */
export interface FakeMachine {
  /** The client programs' state folder. */
  home: string
  client(env?: Record<string, string>): Promise<FakeClient>
  /** The process that currently listens to the grid, and its client. */
  waiter(): { pid: number; clientPid: number } | undefined
  /** The client programs' log lines. */
  log(): string
  remove(): void
}

/** A program that reads commands and runs each as a child with the same environment. */
const program = `
const { spawn } = require('node:child_process')
let rest = ''
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, args, input } = JSON.parse(line)
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const out = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => out[name] += text)
    child.stdin.on('error', () => {}).end(input)
    console.log(JSON.stringify({ id, pid: child.pid }))
    child.on('close', (code, signal) => console.log(JSON.stringify({ id, result: { code, signal, ...out } })))
  }
})`

let built: Promise<string> | undefined

/** Creates a machine on which `alias` is connected. */
export async function fakeMachine(
  { url, alias, key }: { url: string; alias: string; key: string },
): Promise<FakeMachine> {
  const file = await (built ??= build('src/client.ts'))
  const home = mkdtempSync(join(tmpdir(), 'agent-grid-client-'))
  const env = {
    ...{ PATH: process.env.PATH!, HOME: home, AGENT_GRID_HOME: home, CLAUDE_CODE_ENTRYPOINT: 'cli' },
    ...{ AGENT_GRID_URL: url, AGENT_GRID_KEY: key, AGENT_GRID_ALIAS: alias },
  }
  const clients = new Set<ChildProcess>()
  const waiters = new Set<number>()
  const stateFile = (name: string) => {
    const [folder = ''] = readdirSync(join(home, 'state'))
    return join(home, 'state', folder, name)
  }
  return {
    home,
    async client(more = {}) {
      const child = spawn(process.execPath, ['-e', program], {
        env: { ...env, ...more },
        stdio: ['pipe', 'pipe', 'inherit'],
        cwd: fileURLToPath(new URL('../..', import.meta.url)),
      })
      clients.add(child)
      await once(child, 'spawn')
      return controlled(child, file, waiters)
    },
    waiter: () => {
      try {
        return JSON.parse(readFileSync(stateFile('waiter.lock'), 'utf8'))
      } catch {
        return undefined
      }
    },
    log: () => {
      try {
        return readFileSync(stateFile('client.log'), 'utf8')
      } catch {
        return ''
      }
    },
    remove() {
      for (const child of clients) child.kill('SIGKILL')
      for (const pid of waiters) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
      rmSync(home, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

function controlled(child: ChildProcess, file: string, pids: Set<number>): FakeClient {
  const said = new Map<number, { pid?: number; result?: HookResult }>()
  let rest = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const { id, ...news } of lines.map((line: string) => JSON.parse(line))) {
      said.set(id, { ...said.get(id), ...news })
    }
  })
  let count = 0
  const start = async (words: string[], input: Record<string, unknown>): Promise<RunningHook> => {
    const id = ++count
    child.stdin!.write(`${JSON.stringify({ id, args: [file, 'hook', ...words], input: JSON.stringify(input) })}\n`)
    const pid = await waitFor('the start of a hook', () => said.get(id)?.pid)
    pids.add(pid)
    return { pid, ended: () => waitFor(`the end of hook ${words.join(' ')}`, () => said.get(id)?.result) }
  }
  return {
    pid: child.pid!,
    start,
    async run(words, input) {
      return await (await start(words, input)).ended()
    },
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** Whether a process with this id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
