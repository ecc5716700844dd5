/**
 * Kills runners at planned steps of their work, and observes the messages. The runner reaches the grid through a proxy.
 * The proxy and the runner's child report each step.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { GridClient } from '../../src/clients/grid-client.ts'
import { markOf } from '../../src/clients/state/lock.ts'
import { waitFor } from './wait-for.ts'

/**
 * The process that is killed, and the moment: at `asked` before a call reaches the grid, at `answered` before the
 * response reaches the runner.
 */
export const killSteps = [
  'runner: peek asked',
  'runner: peek answered',
  'runner: lease asked',
  'runner: lease answered',
  'runner: child begun',
  'runner: child done',
  'runner: send asked',
  'runner: send answered',
  'runner: left leases asked',
  'runner: left leases answered',
  'child: begun',
  'child: done',
] as const

export type KillStep = (typeof killSteps)[number]

/** The result for one message. */
export interface KilledRun {
  step: KillStep
  /** The number of kills. */
  kills: number
  /** The answers that the asker received. */
  answers: string[]
  /** For each child that got the message: whether it was told about an earlier child. */
  children: boolean[]
}

export interface Lane {
  /** The grid's URL. */
  url: string
  asker: { key: string; alias: string }
  worker: { key: string; alias: string }
  /** The folder for the runner's state. */
  folder: string
}

/** A child that reads the messages, reports that it has begun, and answers when told to continue. */
const child = `let input = ''
process.stdin.on('data', (text) => input += text).on('end', async () => {
  const { messages: [{ message, redelivered }] } = JSON.parse(input)
  const tell = (what) => fetch(process.argv[2] + '/child/' + what, { method: 'POST', body: JSON.stringify({ pid: process.pid, message, redelivered }) })
  await tell('begun')
  await tell('done')
  process.stdout.write('re ' + message)
})`

/** Sends messages to a worker, one for each step, and kills the worker's runner or child at that step. */
export async function killAtSteps(
  { url, asker, worker, folder }: Lane,
  steps: readonly KillStep[],
): Promise<KilledRun[]> {
  const client = new GridClient({ url, key: asker.key })
  const runs: KilledRun[] = []
  let run: KilledRun | undefined
  let runner: ChildProcess | undefined
  let isArmed = false
  let childPid: number | undefined

  /** Kills the process if the planned step is reached. Resolves to whether the runner was killed. */
  async function reach(step: KillStep, pid?: number): Promise<boolean> {
    if (!isArmed || run?.step !== step) return false
    isArmed = false
    run.kills++
    if (step.startsWith('child')) process.kill(pid!, 'SIGKILL')
    else await killRunner()
    return !step.startsWith('child')
  }

  /** Kills the runner. Its child ends with it and does nothing more. */
  async function killRunner(): Promise<void> {
    await killed(runner!)
    const pid = childPid
    if (pid !== undefined) await waitFor('the end of the child', () => markOf(pid) === undefined)
  }

  const proxy = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const path = request.url!
    const [, what] = path.match(/^\/child\/(begun|done)$/) ?? []
    if (what !== undefined) {
      const { pid, redelivered = false } = JSON.parse(text)
      if (what === 'begun') run!.children.push(redelivered)
      childPid = pid
      await reach(`child: ${what as 'begun' | 'done'}`, pid)
      await reach(`runner: child ${what as 'begun' | 'done'}`)
      return response.end()
    }
    const name = nameOf(path)
    // The runner is also killed before its planned step, so that it leaves leases behind for the next runner.
    if (run?.step.startsWith('runner: left leases') && run.kills === 0 && isArmed && name === 'send') {
      run.kills++
      await killRunner()
      return response.destroy()
    }
    if (name !== undefined && await reach(`runner: ${name} asked`)) return response.destroy()
    const ending = new AbortController()
    response.once('close', () => ending.abort())
    try {
      const headers = Object.entries(request.headers).filter(([name]) =>
        !['host', 'connection', 'content-length'].includes(name)
      )
      const answer = await fetch(url + path, {
        method: request.method,
        headers: Object.fromEntries(headers) as Record<string, string>,
        ...(text !== '' && { body: text }),
        signal: ending.signal,
      })
      if (name !== undefined && await reach(`runner: ${name} answered`)) return response.destroy()
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? 'text/plain' })
      for await (const chunk of answer.body!) response.write(chunk)
      response.end()
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

  function start(): void {
    const words = ['run', '--as', worker.alias, '--lease', '30s', '--max-turns-per-hour', '100000']
    const command = ['--', process.execPath, '-e', child, proxyUrl]
    // With `node -e`, the arguments contain no file name.
    command[3] = child.replace('process.argv[2]', 'process.argv[1]')
    const [program, ...args] = [...runtimeCommand('node'), 'src/main.ts', ...words, ...command]
    runner = spawn(program, args, {
      stdio: ['ignore', 'ignore', process.env.SHOW_RUNNERS ? 'inherit' : 'ignore'],
      env: {
        ...{ PATH: process.env.PATH, AGENT_GRID_HOME: join(folder, worker.alias) },
        ...{ AGENT_GRID_URL: proxyUrl, AGENT_GRID_KEY: worker.key },
      },
    })
  }

  /** Adds to `into` the answers to a message that have arrived so far. */
  async function answersTo(id: string, into: string[]): Promise<void> {
    const { lease_id, messages } = await client.lease()
    if (lease_id === null) return
    await client.ack(lease_id)
    into.push(
      ...messages.filter(({ reply_to_message_id }) => reply_to_message_id === id).map(({ message }) => message!),
    )
  }

  try {
    for (const [n, step] of steps.entries()) {
      run = { step, kills: 0, answers: [], children: [] }
      runs.push(run)
      const current = run
      isArmed = true
      const { message_id } = await client.send({ to: worker.alias, message: `question ${n}` }, `${worker.alias}-${n}`)
      await waitFor(`the answer to ${step}`, async () => {
        if (!isRunning(runner)) start()
        await answersTo(message_id, current.answers)
        return current.answers.length > 0
      })
      // Wait until the runner has checked its inbox again. By then, the runner would have sent a duplicate answer.
      isArmed = false
      await waitFor('an idle runner', async () => {
        if (!isRunning(runner)) start()
        return (await new GridClient({ url, key: worker.key }).peek()).unread === 0
      })
      await answersTo(message_id, current.answers)
    }
    await killed(runner!)
  } finally {
    runner?.kill('SIGKILL')
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  }
  return runs
}

/** Describes the fault of a run; undefined if there is none. */
export function faultOf({ step, kills, answers, children }: KilledRun): string | undefined {
  if (kills === 0) return `${step}: nobody was killed`
  if (answers.length === 0) return `${step}: the message was lost`
  if (answers.length > 1) return `${step}: it was answered ${answers.length} times`
  if (children.length === 0 || children.slice(1).some((isNotified) => !isNotified)) {
    return `${step}: a child was not told that there was one before`
  }
}

function nameOf(path: string): 'peek' | 'lease' | 'send' | 'left leases' | undefined {
  if (/\/inbox(\?|$)/.test(path)) return 'peek'
  if (path.endsWith('/leases')) return 'lease'
  if (path.endsWith('/messages')) return 'send'
  return path.endsWith('/release') ? 'left leases' : undefined
}

function isRunning(runner: ChildProcess | undefined): boolean {
  return runner !== undefined && runner.exitCode === null && runner.signalCode === null
}

async function killed(runner: ChildProcess): Promise<void> {
  if (!isRunning(runner)) return
  const ended = new Promise((resolve) => runner.once('exit', resolve))
  runner.kill('SIGKILL')
  await ended
}
