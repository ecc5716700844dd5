/** A runner as a process of its own, as a person starts it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { GridClient } from '../../src/clients/grid-client.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import { runtimeCommand } from '../runtime.ts'

export interface RunnerProcess {
  child: ChildProcess
  /** What it said so far. */
  output(): string
  kill(signal: NodeJS.Signals): Promise<number | null>
}

export interface StartedRunner {
  url: string
  key: string
  /** Its home folder. */
  home: string
  words: string[]
  /** Folders in front of PATH. */
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

/** Wait for the answers to messages, and take them from the inbox. Resolves to their texts, in the order of the ids. */
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
