/** A runner in a separate process, started as a person would start it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { GridClient } from '../../src/clients/grid-client.ts'
import type { LiveGrid } from '../../test/support/server.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import { runtimeCommand } from '../runtime.ts'

export interface RunnerProcess {
  child: ChildProcess
  /** The process's output so far. */
  output(): string
  kill(signal: NodeJS.Signals): Promise<number | null>
}

export interface StartedRunner {
  url: string
  key: string
  /** The home folder of the process. */
  home: string
  words: string[]
  /** Folders to prepend to PATH. */
  path?: string[]
  env?: Record<string, string>
}

export function startRunner({ url, key, home, words, path = [], env = {} }: StartedRunner): RunnerProcess {
  const [program, ...args] = [...runtimeCommand('node'), 'src/main.ts', 'run', ...words]
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: [...path, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      ...{ HOME: home, AGENT_GRID_HOME: join(home, 'agent-grid'), AGENT_GRID_URL: url, AGENT_GRID_KEY: key, ...env },
    },
  })
  let output = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => output += text)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    child,
    output: () => output,
    kill(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/** Waits for the answers to messages, and reads them from the inbox. Resolves to their texts, in the order of `ids`. */
export async function answersTo(client: GridClient, ids: readonly string[]): Promise<string[]> {
  const answers = new Map<string, string>()
  await waitFor('all answers', async () => {
    const { lease_id, messages } = await client.lease()
    if (lease_id !== null) await client.ack(lease_id)
    for (const { reply_to_message_id: id, message } of messages) {
      if (answers.has(id!)) throw new Error(`Two answers to ${id}`)
      answers.set(id!, message!)
    }
    return ids.every((id) => answers.has(id))
  })
  return ids.map((id) => answers.get(id)!)
}

const count = 60

/** A child that prints its runner's home folder a tenth of a second after its input ends. */
const child = `process.stdin.resume().on('end', () => setTimeout(() => console.log(process.argv[1]), 100))`

/** Lets two runners share an inbox. Returns the faults. */
export async function shareInbox(grid: LiveGrid, folder: string): Promise<string[]> {
  const worker = await grid.acme.agent('shared')
  const askers = await Promise.all(Array.from({ length: 6 }, (_, n) => grid.acme.agent(`sharing-${n}`)))
  const homes = ['first', 'second'].map((name) => join(folder, name))
  homes.forEach((home) => mkdirSync(home, { recursive: true }))
  const start = (home: string) =>
    startRunner({
      ...{ url: grid.url, key: worker.key, home },
      words: ['--max-turns-per-hour', '1000', '--', process.execPath, '-e', child, home],
    })
  const runners = homes.map(start)
  try {
    const sent = await Promise.all(askers.map(async (asker) => {
      const client = new GridClient({ url: grid.url, key: asker.key })
      const ids = []
      for (let n = 0; n < count / askers.length; n++) {
        ids.push((await client.send({ to: '@shared', message: `${n}` }, `shared-${n}`)).message_id)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return { client, ids }
    }))
    const answered = (await Promise.all(sent.map(({ client, ids }) => lastAnswers(client, ids)))).flat()
    const another = start(homes[0])
    const code = await new Promise((resolve) => another.child.once('exit', resolve))
    console.table(homes.map((home, n) => ({
      runner: n + 1,
      answers: answered.filter((answer) => answer === home).length,
      'a second one on its machine': n === 0 ? `exit code ${code}` : '',
    })))
    return [
      ...(code === 1 && another.output().includes('Another runner')
        ? []
        : ['A second runner on one machine was not refused.']),
      ...homes.filter((home) => !answered.includes(home)).map((home) => `${home} answered nothing.`),
    ]
  } finally {
    await Promise.all(runners.map((runner) => runner.kill('SIGKILL')))
  }
}

/** Waits for the answer to a thread. One answer covers the complete thread, and replies to its last message. */
async function lastAnswers(client: GridClient, ids: string[]): Promise<string[]> {
  return await answersTo(client, [ids.at(-1)!])
}
