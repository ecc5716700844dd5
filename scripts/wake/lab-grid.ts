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
  /** Give an agent another key, which revokes its present one. */
  newKey(agent: LabAgent): void
  /** How many messages of an agent are unread, up to 100. */
  unread(agent: LabAgent): Promise<number>
  /** Resolves when the grid says that a session attends an agent. */
  isAttended(agent: LabAgent): Promise<void>
  /** Send a message. Resolves when it was accepted, to the time at which it was sent. */
  send(from: LabAgent, to: LabAgent, message: string): Promise<number>
  /** Stop the process, or kill it, and start another one on the same database. */
  restart(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** The process takes connections and answers nothing for so many ms. */
  hang(ms: number): Promise<void>
  close(): Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Start a grid, whose database is in `folder`. */
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
  // It looks who is there.
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
      // A command has kept the process waiting: it has not noticed yet which connections the grid has closed.
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
