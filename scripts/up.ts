/**
 * `npm run lab -- up`: starts with an empty home folder, the real Claude Code and Codex, and a scripted model. Checks
 * that two sessions answer each other after a single agent-grid command. Then opens many sessions in one folder. Needs
 * Linux and tmux. See docs/client-reference.md, "Trying it".
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { GridClient } from '../src/clients/grid-client.ts'
import { waitFor } from '../test/support/wait-for.ts'
import { build } from './build.js'
import { wakeClients } from './wake/clients.ts'
import { type Act, type Asked, isNotified, startScriptedModel } from './wake/scripted-model.ts'
import {
  closeTerminals,
  endLeftovers,
  install,
  openTerminal,
  type Place,
  placeEnv,
  type Terminal,
  type WakeClient,
} from './wake/wake-client.ts'

const { values } = parseArgs({
  options: { folder: { type: 'string' }, sessions: { type: 'string', default: '10' } },
})
// Some clients refuse to work below the folder for temporary files.
const temporary = mkdtempSync(join(process.env.HOME ?? tmpdir(), '.agent-grid-up-'))
const folder = values.folder === undefined ? temporary : resolve(values.folder)
const program = await build('src/main.ts')
const home = join(temporary, 'home')
const project = join(home, 'myrepo')
mkdirSync(project, { recursive: true })
const model = await startScriptedModel(readAndCount)
const clients = ['claude-newest', 'codex-newest'].map((name) => ({
  client: wakeClients[name],
  path: install(wakeClients[name], join(folder, name)),
}))
const words = [process.execPath, program]
const launcher = join(home, '.local/share/agent-grid/program/agent-grid')
let answered = 0
/** The agents named by hooks in their announcements. */
const told = new Set<string>()

try {
  for (const { client } of clients) client.configure(placeOf(client))
  const from = performance.now()
  grid('up', '--detach', '--yes')
  const seconds = () => `${((performance.now() - from) / 1_000).toFixed(1)} s`
  console.log(`up: ${seconds()}`)
  const [claude, codex] = await Promise.all(clients.map(({ client }) => open(client, client.name, [])))
  await say(codex, 'hello')
  await say(claude, 'begin with @myrepo-codex')
  await waitFor('an answer to each of them', () => answered >= 2)
  console.log(`two sessions have answered each other: ${seconds()}; 1 command of ours, no click`)

  const access = JSON.parse(readFileSync(join(home, '.config/agent-grid/connections.json'), 'utf8')).connections[0]
  const lead = new GridClient(access)
  claude.close()
  codex.close()
  await lead.lease({ limit: 50 })
  model.script = answerQuestion
  const count = Number(values.sessions)
  const terminals: Terminal[] = []
  for (let n = 1; n <= count; n++) {
    const { client } = clients[n % 2]
    const terminal = await open(client, `worker-${n}`, [launcher, 'as', `@worker-${n}`, '--'])
    if (!client.wakesUnprompted) await say(terminal, 'hello')
    terminals.push(terminal)
    console.log(`@worker-${n}: ${client.title}`)
  }
  // The new conversation must not be mistaken for a parallel session's conversation.
  await say(terminals[0], '/new')
  await sleep(2_000)
  await say(terminals[0], 'hello')
  await sleep(3_000)
  const agents = Array.from({ length: count }, (_, n) => `@worker-${n + 1}`)
  const confused = agents.filter((alias) => processesOf(alias).some((pid) => !runsAs(pid, alias)))
  console.log(`${confused.length} sessions were taken for another one ${confused.join(' ')}`)
  for (const to of agents) await lead.send({ to, message: `question ${to}` }, crypto.randomUUID())
  const heard = new Map<string, string>()
  await waitFor('an answer of each session', async () => {
    for (const { user, message } of (await lead.lease({ limit: 50 })).messages) heard.set(user, message!)
    return heard.size >= count
  }).catch((error) =>
    console.error((error as Error).message, terminals.map((terminal) => terminal.screen()).join('\n'))
  )
  const right = [...heard].filter(([user, text]) => told.has(user) && text === `answer ${user}`)
  console.log(`${right.length} of ${count} sessions were woken as their agent, and answered as it`)
  if (right.length < count || confused.length > 0) process.exitCode = 1
} finally {
  closeTerminals(true)
  grid('down')
  await model.close()
  endLeftovers(temporary)
  rmSync(temporary, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/** Returns a client's place. `session` is the path in the model's URL, if the client's environment has that URL. */
function placeOf({ name }: WakeClient, session: string = name): Place {
  const { path } = clients.find(({ client }) => client.name === name)!
  return { home, project, program: path, agent: { alias: '', key: '' }, grid: '', model: model.url(session), keys: 0 }
}

function grid(...given: string[]): void {
  const { HOME, PATH } = placeEnv(placeOf(clients[0].client))
  const bin = clients.map(({ path }) => path.replace(/\/[^/]+$/, ''))
  const { status, stderr } = spawnSync(words[0], [words[1], ...given], {
    ...{ cwd: project, encoding: 'utf8', env: { HOME, PATH: [...bin, PATH].join(':') } },
  })
  if (status !== 0) throw new Error(stderr)
}

async function open(client: WakeClient, name: string, before: string[]): Promise<Terminal> {
  const place = placeOf(client, name)
  const command = [...before, place.program, ...client.words ?? []]
  const terminal = openTerminal(name, command, { cwd: project, env: client.env(place) })
  await client.open(terminal, 'all', place)
  return terminal
}

async function say(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  // If the line end follows immediately, the terminal treats it as part of a paste.
  await sleep(700)
  terminal.press('Enter')
}

/** The processes that hooks recorded as sessions of an agent. */
function processesOf(alias: string): number[] {
  const state = join(home, '.local/state/agent-grid')
  const agent = readdirSync(state).find((name) => name.endsWith(`+${alias.slice(1)}`))!
  const files = readdirSync(join(state, agent, 'sessions'))
  return files.map((name) => JSON.parse(readFileSync(join(state, agent, 'sessions', name), 'utf8')).pid)
}

function runsAs(pid: number, alias: string): boolean {
  return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`AGENT_GRID_ALIAS=${alias}`)
}

/** Lets each session reply to a number with the next number. */
function readAndCount(asked: Asked): Act {
  if (isNotified(asked)) return { tool: 'read_messages', arguments: {} }
  const first = asked.news.match(/begin with (@[\w-]+)/)?.[1]
  const read = asked.answers.join('\n')
  const [, turn, to = first] = read.match(/"message":"turn (\d+)","reply_to":"(@[\w-]+)"/) ?? []
  if (turn !== undefined) answered++
  if (to === undefined || Number(turn ?? 0) >= 4) return { text: 'All right.' }
  return { tool: 'send_message', arguments: { to, message: `turn ${Number(turn ?? 0) + 1}` } }
}

function answerQuestion({ news, answers, ...asked }: Asked): Act {
  if (isNotified({ news, answers, ...asked })) {
    told.add(news.match(/You are (@worker-\d+) on the agent-grid/)?.[1] ?? '')
    return { tool: 'read_messages', arguments: {} }
  }
  const [, n, to] = answers.join('\n').match(/"message":"question (@[\w-]+)","reply_to":"(@[\w-]+)"/) ?? []
  return to === undefined ? { text: 'All right.' } : { tool: 'send_message', arguments: { to, message: `answer ${n}` } }
}
