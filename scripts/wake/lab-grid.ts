import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { GridClient } from '../../src/clients/grid-client.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { callTool } from '../../test/e2e/client.ts'
import { turn, waitFor } from '../../test/support/wait-for.ts'

export interface LabAgent {
  alias: string
  key: string
}

export interface LabGrid {
  url: string
  createAgent(alias: string): LabAgent
  /** Replaces an agent's key, which revokes the current one. */
  newKey(agent: LabAgent): void
  /** Resolves to an agent's number of unread messages, up to 100. */
  unread(agent: LabAgent): Promise<number>
  /** Resolves when the grid reports that a session attends an agent. */
  isAttended(agent: LabAgent): Promise<void>
  /** Sends a message. Resolves to the time at which it was sent, once it is accepted. */
  send(from: LabAgent, to: LabAgent, message: string): Promise<number>
  /** Stops or kills the process, and starts a new one on the same database. */
  restart(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Makes the process accept connections without responding, for this many ms. */
  hang(ms: number): Promise<void>
  close(): Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Starts a grid with its database in `folder`. */
export async function startLabGrid(folder: string): Promise<LabGrid> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...{ PATH: process.env.PATH!, HOME: folder, PORT: String(port), DATABASE_URL: `file:${join(folder, 'grid.db')}` },
    ...{ BASE_URL: url, HOST: '127.0.0.1', LOG_LEVEL: 'error' },
    CALLS_PER_SECOND: '1000',
  }
  const start = async () => {
    const child = spawn(process.execPath, [join(root, 'scripts/node.js'), 'src/main.ts', 'serve'], {
      ...{ cwd: root, env, stdio: 'ignore' as const },
    })
    await waitFor('the grid', async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok)
    return child
  }
  let child = await start()
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
  const command = (...words: string[]) => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'scripts/node.js'), 'src/main.ts', ...words, '--json'],
      { cwd: root, env, encoding: 'utf8' },
    )
    const answer = JSON.parse(stdout || '{}')
    if (stdout === '' || answer.error) throw new Error(`${words[0]} failed: ${stdout}${stderr}`)
    return answer
  }
  const account = command('create-account', '--name', 'Lab', '--owner-email', 'lab@example.com', '--new').account_id
  const createAgent = (alias: string): LabAgent => ({
    alias: `@${alias}`,
    key: command('create-agent', '--account', account, '--alias', alias).api_key,
  })
  // This agent is used to check who is present.
  const watcher = createAgent('watcher')
  return {
    url,
    createAgent,
    newKey: ({ alias }) => void command('new-key', '--account', account, '--agent', alias),
    unread: async ({ key }) => (await new GridClient({ url, key }).peek()).unread,
    async isAttended({ alias }) {
      await waitFor(`a session of ${alias}`, async () => {
        const agents = await callTool(url, watcher.key, 'list_agents', { search: alias.slice(1) })
        return JSON.stringify(agents).includes('attended (')
      })
    },
    async send(from, to, message) {
      // Lets this process detect connections that the grid closed while a command blocked this process.
      await turn()
      const at = Date.now()
      await callTool(url, from.key, 'send_message', { to: to.alias, message })
      return at
    },
    async restart(signal) {
      await stop(signal)
      child = await start()
    },
    async hang(ms) {
      child.kill('SIGSTOP')
      await sleep(ms)
      child.kill('SIGCONT')
    },
    close: () => stop(),
  }
}
