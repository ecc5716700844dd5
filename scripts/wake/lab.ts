/** Everything that a row of the table needs: a grid, a model, a client, and sessions in terminals. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { GridClient } from '../../src/clients/grid-client.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { callTool } from '../../test/e2e/client.ts'
import { turn, waitFor } from '../../test/support/wait-for.ts'
import { type Asked, isTold, type ScriptedModel } from './scripted-model.ts'
import { connect, openTerminal, type Place, type Terminal, type WakeClient } from './wake-client.ts'

export interface Lab {
  folder: string
  grid: LabGrid
  model: ScriptedModel
  client: WakeClient
  /** The path of the client. */
  program: string
  /** The built client program of the grid. */
  clientProgram: string
  /** Who writes. */
  sender: LabAgent
}

/** A session that a person attends. */
export interface LabSession {
  place: Place
  terminal: Terminal
  /** Type a line and send it. */
  say(text: string): Promise<void>
  /** What its model was asked, in order. */
  asked(): Asked[]
  /** Send a message to its agent. Resolves to the time at which it was sent. */
  send(message?: string): Promise<number>
  /** Resolves when its model is told of unread messages, to how long after `at`, in ms. */
  isTold(at: number): Promise<number>
  /** Resolves when its model has ended its turn. */
  isIdle(): Promise<void>
}

let count = 0

/** A home folder in which the client is connected as a new agent. */
export function newPlace(
  { folder, grid, model, client, program, clientProgram }: Lab,
  wake: 'auto' | 'off' = 'auto',
): Place {
  const name = `${client.name}-${++count}`
  const home = join(folder, name)
  const place = { home, project: join(home, 'project'), program, grid: grid.url, model: model.url(name) }
  mkdirSync(place.project, { recursive: true })
  const whole = { ...place, agent: grid.createAgent(name) }
  connect(client, whole, clientProgram, wake)
  client.configure(whole)
  return whole
}

/** Open a session. Its first prompt is said, if the client needs one to be woken. */
export async function openSession(
  lab: Lab,
  { place = newPlace(lab), trust = 'all', prompted = true }: {
    place?: Place
    trust?: 'all' | 'none'
    prompted?: boolean
  } = {},
): Promise<LabSession> {
  const { client, grid, model, sender } = lab
  const path = place.model.split('/').at(-1)!
  const env = client.env(place)
  const terminal = openTerminal(`t${++count}`, [place.program], { cwd: place.project, env })
  await client.open(terminal, trust, place)
  const asked = () => model.asked.filter(({ client }) => client === path)
  const session: LabSession = {
    place,
    terminal,
    async say(text) {
      terminal.type(text)
      // A line end at once would be a part of a paste.
      await sleep(700)
      terminal.press('Enter')
    },
    asked,
    send: (message = 'hello') => grid.send(sender, place.agent, message),
    async isTold(at) {
      const found = await waitFor('the model', () => asked().find((one) => one.at >= at && isTold(one)))
      return found.at - at
    },
    async isIdle() {
      await waitFor('the end of the turn', () => !model.isBusy(path))
    },
  }
  if (prompted && !client.wakesUnprompted) {
    await session.say('hello')
    await waitFor('the first answer', () => asked().length > 0)
    await session.isIdle()
  }
  return session
}

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
  /** Pause conversations after so many turns an hour. */
  setTurnsPerHour(turns: number): void
  /** Send a message. Resolves when it was accepted, to the time at which it was sent. */
  send(from: LabAgent, to: LabAgent, message: string): Promise<number>
  /** Stop the process, if it runs, and start another one on the same database. */
  restart(): Promise<void>
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
  const stop = async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
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
  const account = command('create-account', '--name', 'Lab', '--owner-email', 'lab@example.com').account_id
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
    setTurnsPerHour: (turns) => void command('set-turn-limits', '--account', account, '--per-hour', String(turns)),
    async send(from, to, message) {
      // A command has kept the process waiting: it has not noticed yet which connections the grid has closed.
      await turn()
      const at = Date.now()
      await callTool(url, from.key, 'send_message', { to: to.alias, message })
      return at
    },
    async restart() {
      await stop()
      child = await start()
    },
    close: stop,
  }
}
