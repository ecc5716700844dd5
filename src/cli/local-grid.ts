/** `agent-grid up` and `down`: the grid of this machine. See docs/clients.md, "A grid of your own". */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectionAt, placeOf } from '../clients/connect.ts'
import { isSamePlace, readConnections } from '../clients/connections.ts'
import { differenceOf } from '../clients/files/difference.ts'
import { isInstalled } from '../clients/find-program.ts'
import { GridCallError } from '../clients/grid-call.ts'
import { installedProgram, isOnPath } from '../clients/installed-program.ts'
import {
  agentKey,
  isServed,
  type LocalGrid,
  localGridFolder,
  readLocalGrid,
  saveLocalGrid,
} from '../clients/local-grid.ts'
import { type ClientName, clientNames, programs } from '../clients/programs.ts'
import { markOf, takeLock } from '../clients/state/lock.ts'
import { freePort } from '../lib/free-port.ts'
import { minute, second } from '../lib/time.ts'
import { isBinary, ownCommand } from '../lib/version.ts'
import { readOwner } from '../store/driver/local-file.ts'
import { createAccountCommand, createLinkCommand } from './accounts.ts'
import { confirm, isAttended } from './ask.ts'
import { type CommandArguments, CommandError } from './command.ts'
import { connectClient, type ConnectRequest, draftOf } from './connect-clients.ts'
import { sayer } from './disconnect-client.ts'
import { personNeeded } from './grid-access.ts'
import { httpRequest } from './http-request.ts'
import { print } from './output.ts'
import { describeSettings } from './settings.ts'
import { runStoreCommand } from './store-command.ts'

const host = '127.0.0.1'
/**
 * The first port to try. The chosen port is stored in clients' files, so it never changes. Systems do not assign ports
 * in this range to outgoing connections.
 */
const firstPort = 18_787
const ownerEmail = 'owner@grid.localhost'
const startMs = minute
const stopMs = 20 * second

/** Runs `up`. Resolves to the exit code: immediately if the grid already runs, otherwise when it ends. */
export async function startAndConnect(json: boolean, args: CommandArguments): Promise<number> {
  const folder = realpathSync(resolve(args.folder ?? '.'))
  if (args.yes === undefined && !isAttended()) {
    throw personNeeded('not_confirmed', 'Nothing was changed. There is no terminal to ask at: run it with --yes.')
  }
  const say = sayer(json)
  const isDetached = args.detach !== undefined
  const { grid, child } = await openGrid()
  try {
    say(child ? `The grid of this machine runs at ${grid.url}.` : `The grid of this machine is running at ${grid.url}.`)
    const connections = await connectAll(grid, folder, args, say)
    const { url } = await runStoreCommand(createLinkCommand, { email: grid.email }, environment(grid.url))
    const command = isOnPath() ? 'agent-grid' : installedProgram().launcher
    say(`\nThe console, with a link that signs you in once, within 24 hours:\n  ${url}`)
    say(`To run a session as another agent: ${command} as @NAME -- claude`)
    if (json) print(JSON.stringify({ url: grid.url, sign_in_url: url, connections }))
  } catch (error) {
    child?.kill()
    throw error
  }
  if (!child || isDetached) {
    child?.unref()
    say(`To stop the grid: ${ownCommand} down`)
    return 0
  }
  say('To stop the grid: Ctrl-C')
  return await untilItEnds(child)
}

/** Runs `down`. */
export async function stopLocalGrid(json: boolean): Promise<number> {
  const grid = readLocalGrid()
  const wasRunning = grid !== undefined && isServed(grid)
  if (wasRunning) {
    process.kill(grid.server!.pid, 'SIGTERM')
    await until(stopMs, () => !isServed(grid), `The grid is stopping. It still runs as process ${grid.server!.pid}.`)
  }
  const text = wasRunning ? 'The grid of this machine has stopped.' : 'The grid of this machine is not running.'
  print(json ? JSON.stringify({ stopped: wasRunning }) : text)
  return 0
}

/** Opens the grid, and starts its process unless it is running. The first start creates an account. */
async function openGrid(): Promise<{ grid: LocalGrid; child?: ChildProcess }> {
  const lock = takeLock(join(localGridFolder(), 'up.lock'))
  if (!lock) throw new CommandError('busy', 'Another "agent-grid up" is starting the grid. Run this command again.')
  try {
    const known = readLocalGrid()
    if (known && isServed(known)) return { grid: known }
    const url = known?.url ?? `http://${host}:${await choosePort()}`
    const child = startServer(url)
    try {
      await isReady(url, child)
      const grid = { ...known ?? await newAccount(url), server: markOf(child.pid!) }
      saveLocalGrid(grid)
      return { grid, child }
    } catch (error) {
      child.kill()
      throw error
    }
  } finally {
    lock.release()
  }
}

async function newAccount(url: string): Promise<LocalGrid> {
  const args = { name: 'This machine', 'owner-email': ownerEmail }
  const { admin_key: adminKey } = await runStoreCommand(createAccountCommand, args, environment(url))
  return { url, email: ownerEmail, adminKey: String(adminKey) }
}

async function choosePort(): Promise<number> {
  for (let port = firstPort; port < firstPort + 100; port++) {
    const isFree = await freePort(host, port).then(() => true, () => false)
    if (isFree) return port
  }
  return await freePort(host)
}

const databaseFile = () => join(localGridFolder(), 'grid.db')
const logFile = () => join(localGridFolder(), 'server.log')

/** The server's environment. Omits the grid settings of the shell, because they apply to a different grid. */
function environment(url: string): Record<string, string | undefined> {
  const settings = new Set(describeSettings().map(({ name }) => name))
  const others = Object.entries(process.env).filter(([name]) => !settings.has(name))
  const { hostname: HOST, port: PORT } = new URL(url)
  return {
    ...Object.fromEntries(others),
    ...{ HOST, PORT, BASE_URL: url, DATABASE_URL: `file:${databaseFile()}`, LOG_LEVEL: 'warn' },
  }
}

/** Uses a separate process group. Otherwise Ctrl-C would reach the server as a second signal and end it too early. */
function startServer(url: string): ChildProcess {
  mkdirSync(localGridFolder(), { recursive: true, mode: 0o700 })
  const flags = 'Deno' in globalThis ? ['run', '--allow-all'] : process.execArgv
  const words = isBinary ? [] : [...flags, process.argv[1]]
  return spawn(process.execPath, [...words, 'serve'], {
    detached: true,
    env: environment(url),
    stdio: ['ignore', 'ignore', openSync(logFile(), 'w', 0o600)],
  })
}

/** Resolves when the server responds and accepts commands. */
async function isReady(url: string, child: ChildProcess): Promise<void> {
  let failure: string | undefined
  child.once('error', (error) => failure = error.message)
  child.once('exit', (code) => failure = `The server exited with code ${code}. ${lastLine()}`)
  await until(startMs, async () => {
    if (failure !== undefined) throw new CommandError('not_started', `The grid was not started. ${failure}`)
    const { pid, control } = readOwner(databaseFile()) ?? {}
    if (pid !== child.pid || control === undefined) return false
    return await httpRequest(`${url}/healthz`).then(({ status }) => status === 200, () => false)
  }, `The grid does not answer at ${url}.`)
}

function lastLine(): string {
  try {
    return readFileSync(logFile(), 'utf8').trim().split('\n').at(-1)!
  } catch {
    return ''
  }
}

async function until(ms: number, isDone: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const end = performance.now() + ms
  while (!await isDone()) {
    if (performance.now() > end) throw new CommandError('no_answer', otherwise)
    await sleep(50)
  }
}

/** Forwards signals to the server. Resolves to its exit code. */
function untilItEnds(child: ChildProcess): Promise<number> {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill('SIGTERM'))
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve(child.exitCode)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** Connects the installed clients, after one question. Returns the agents, by client. */
async function connectAll(
  grid: LocalGrid,
  folder: string,
  args: CommandArguments,
  say: (text: string) => void,
): Promise<{ client: string; agent: string }[]> {
  const requests: ConnectRequest[] = []
  const aliases = new Map<ClientName, string>()
  for (const client of clientNames.filter(isInstalled)) {
    const place = placeOf(client, keepsKeyOfFolder(client) ? folder : undefined)
    const previous = connectionAt(place)
    if (previous && previous.url !== grid.url) {
      say(`${programs[client].title} stays connected to ${previous.url}.`)
      continue
    }
    const others = readConnections().filter((other) => other.url === grid.url && !isSamePlace(other, place))
    const taken = new Set([...others.map(({ alias }) => alias), ...aliases.values()])
    const alias = previous?.alias ?? candidates(folder, client).find((alias) => !taken.has(alias))!
    aliases.set(client, alias)
    requests.push({
      ...{ client, url: grid.url, key: undefined, folder: place.folder, wake: previous?.wake ?? 'auto' },
      isAllowed: args.tools === undefined && previous ? undefined : args.tools !== 'ask',
      ...{ isForAllTools: true, editWarnings: undefined, isSure: true, isShown: true, isDryRun: false, say },
      signIn: () => Promise.resolve((keyName) => newKey(grid, alias, candidates(folder, client), taken, keyName)),
    })
  }
  if (requests.length === 0) {
    say(`No coding client was found to connect. Known are ${clientNames.join(', ')}.`)
    return []
  }
  const drafts = requests.map((request) => draftOf({ ...request, alias: aliases.get(request.client) }))
  const changes = drafts.flatMap(({ changes }) => changes)
  if (changes.length > 0) {
    say(differenceOf(changes, drafts.map(({ known }) => known ?? '')))
    const named = drafts.map(({ alias }, n) => `${programs[requests[n].client].title} is ${alias}`).join(', ')
    await confirm(`Write this, so that ${named}?`, args.yes !== undefined)
  }
  const connected = []
  for (const request of requests) {
    const { client, agent, steps } = await connectClient(request)
    for (const step of steps) say(`Next: ${step}`)
    connected.push({ client, agent })
  }
  return connected
}

/**
 * Whether the client stores a folder's key outside that folder. Only Claude Code does so. Other clients get one agent
 * for all folders, because a key inside a folder could be committed.
 */
function keepsKeyOfFolder(client: ClientName): boolean {
  return programs[client].server.key === 'always'
}

/** Candidate aliases such as `@myrepo-claude`, best first. */
function candidates(folder: string, client: ClientName): string[] {
  const word = basename(folder).normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
  const name = word.replace(/[^a-z0-9]+/g, '-').slice(0, 27 - client.length).replace(/^-+|-+$/g, '') || 'folder'
  return Array.from({ length: 999 }, (_, n) => `@${name}-${client}${n === 0 ? '' : `-${n + 1}`}`)
}

/** A key for a connection's agent. If another account has the alias, the next candidate is used. */
async function newKey(
  grid: LocalGrid,
  alias: string,
  candidates: string[],
  taken: ReadonlySet<string>,
  keyName: string,
): ReturnType<typeof agentKey> {
  for (const candidate of [alias, ...candidates]) {
    if (candidate !== alias && taken.has(candidate)) continue
    try {
      return await agentKey(grid, candidate, keyName)
    } catch (error) {
      if (!(error instanceof GridCallError) || !['alias_taken', 'not_allowed'].includes(error.code)) throw error
    }
  }
  throw new CommandError('alias_taken', `No alias similar to ${alias} is free.`)
}
