/** Finds reasons why a coding client would not be notified of new messages. Changes nothing. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import {
  connectAgain,
  type Connection,
  findConnection,
  nearestConnection,
  readConnections,
} from '../clients/connections.ts'
import { stateOfFile } from '../clients/files/change.ts'
import { readJsonc } from '../clients/files/json-edit.ts'
import { ClientError, GridCallError, isCredentialGone } from '../clients/grid-call.ts'
import { GridClient, type Me } from '../clients/grid-client.ts'
import { installedProgram } from '../clients/installed-program.ts'
import { type ClientName, newTools, programs } from '../clients/programs.ts'
import { runnerLock } from '../clients/run/run-state.ts'
import { lockHolder } from '../clients/state/lock.ts'
import { stateFolder } from '../clients/state/paths.ts'
import { liveSessions } from '../clients/state/sessions.ts'
import { minute, second } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import { broken, type Finding, ok, skipped, warning } from './doctor/finding.ts'

/** The checks of each connection, in the order of the report. */
const order = ['files', 'program', 'client', 'hooks', 'tools', 'grid', 'key', 'version', 'clock', 'waiter'] as const
export type ClientFinding = Finding<(typeof order)[number]>

export interface ClientReport {
  /** With `@`. */
  agent: string
  grid: string
  client: string | null
  /** The folder of a project; null for all projects. */
  folder: string | null
  checks: ClientFinding[]
}

/** The agents of a client's tools and hooks in a folder. An agent is null if there is none, or if several match. */
export interface AgentsHere {
  client: ClientName
  tools: string | null
  hooks: string | null
}

/** A folder's agents, by client. Hooks with `AGENT_GRID_KEY` in their environment act as that key's agent. */
export function agentsHere(cwd: string): AgentsHere[] {
  return [...new Set(readConnections().map(({ client }) => client))].map((client) => {
    try {
      const tools = nearestConnection({ client, cwd })
      const hooks = tools && tools.wake !== 'off' ? findConnection({ client, cwd })?.alias : undefined
      return { client, tools: tools?.alias ?? null, hooks: hooks ?? null }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return { client, tools: null, hooks: null }
    }
  })
}

const versionMs = 10_000

/** Checks every connection of this machine, and the agent of `AGENT_GRID_KEY`. `now` is this machine's clock. */
export async function examineClients(now: () => number): Promise<ClientReport[]> {
  const { AGENT_GRID_URL: url, AGENT_GRID_KEY: key } = process.env
  const access = url && key ? findConnection() : undefined
  const reports = await Promise.all(readConnections().map((connection) => examine(connection, now)))
  if (!access) return reports
  const agent = access.alias ?? 'the agent of AGENT_GRID_KEY'
  return [{ agent, grid: access.url, client: null, folder: null, checks: await checkGrid(access, now) }, ...reports]
}

async function examine(connection: Connection, now: () => number): Promise<ClientReport> {
  const { alias, url, client, folder = null } = connection
  const checks = [
    ...checkFiles(connection),
    checkProgram(connection),
    checkClient(client),
    await checkHooks(connection),
    checkTools(connection),
    ...await checkGrid(connection, now),
    checkWaiter(connection),
  ]
  const place = ({ check }: ClientFinding) => order.indexOf(check)
  return { agent: alias, grid: url, client, folder, checks: checks.toSorted((a, b) => place(a) - place(b)) }
}

function checkFiles(connection: Connection): ClientFinding[] {
  const { files } = connection
  const action = `Connect again: ${connectAgain(connection)}`
  const faults = files.flatMap((file) => {
    const state = stateOfFile(file)
    if (state === 'there') return []
    return state === 'gone'
      ? [broken('files', `The entries written to ${file.path} are gone.`, action)]
      : [warning('files', `The entries written to ${file.path} have been changed.`, action)]
  })
  return faults.length > 0 ? faults : [ok('files', `Its ${files.length} files are unchanged.`)]
}

function checkProgram(connection: Connection): ClientFinding {
  if (hasNoHooks(connection)) {
    return skipped('program', 'It was connected with "--wake off", so it calls no program.')
  }
  const missing = installedProgram().command.find((path) => !existsSync(path))
  if (missing === undefined) return ok('program', 'The program that its hooks call is installed.')
  return broken('program', `Its hooks call ${missing}, which is gone.`, `Connect again: ${connectAgain(connection)}`)
}

function checkClient(client: ClientName): ClientFinding {
  const { wakesFrom, commands: [command] } = programs[client]
  if (wakesFrom === undefined) {
    return skipped('client', 'Nothing wakes this client. It is notified of messages only while it is used.')
  }
  const shell = process.platform === 'win32'
  const { stdout, error } = spawnSync(command, ['--version'], {
    encoding: 'utf8',
    timeout: versionMs,
    windowsHide: true,
    shell,
  })
  const found = stdout?.match(/\d+\.\d+\.\d+/)?.[0]
  if (error || found === undefined) {
    const action = 'Install it, or run the doctor in the environment where it is installed.'
    return broken('client', `${command} is not installed, or its folder is not in PATH.`, action)
  }
  if (!isOlder(found, wakesFrom)) return ok('client', `${command} is ${found}.`)
  return broken(
    'client',
    `${command} is version ${found}. New messages can wake version ${wakesFrom} and later.`,
    'Upgrade it.',
  )
}

function hasNoHooks({ wake, editWarnings = false }: Connection): boolean {
  return wake === 'off' && !editWarnings
}

/** Checks whether the user was asked about all tools, because later versions may add tools. */
function checkTools(connection: Connection): ClientFinding {
  const { allowedTools = [] } = connection
  if (allowedTools.length === 0) {
    return ok('tools', 'It asks before it calls tools, unless you allowed them in the client.')
  }
  const unasked = newTools(connection)
  if (unasked.length === 0) return ok('tools', `It calls ${allowedTools.length} tools without asking.`)
  const action = `Connect again, and it asks you: ${connectAgain(connection)}`
  return warning('tools', `You have not been asked yet about ${unasked.join(' and ')}, which are new.`, action)
}

function checkWaiter(agent: Connection): ClientFinding {
  const { alias, client, wake } = agent
  const runner = lockHolder(runnerLock(agent))
  if (runner) return ok('waiter', `A runner works for ${alias} (process ${runner.pid}), while no session is open.`)
  const holder = lockHolder(join(stateFolder(agent), 'waiter.lock'))
  if (holder && holder.client !== client) {
    return warning(
      'waiter',
      `New messages wake a session of ${holder.client} (process ${holder.pid}), because it is the newest of ${alias}.`,
      'Close it, or connect this client as its own agent.',
    )
  }
  if (holder) return ok('waiter', `Process ${holder.pid} waits for messages.`)
  const session = liveSessions(agent).findLast((open) => open.client === client)
  if (!session || wake !== 'auto' || programs[client].wakesFrom === undefined) {
    return ok('waiter', 'No session is open, so nothing waits for messages.')
  }
  return warning(
    'waiter',
    `A session is open (process ${session.pid}), and nothing waits for messages.`,
    'Enter a prompt in the session, which starts the wait again. The log in ' +
      `${join(stateFolder(agent), 'client.log')} says why it ended.`,
  )
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const n = a.findIndex((number, i) => number !== b[i])
  return n >= 0 && a[n] < b[n]
}

interface CodexHook {
  eventName?: string
  command?: string
  enabled?: boolean
  trustStatus?: string
}

/** Time limit of Codex, which takes about a second to start. */
const codexMs = 10_000

async function checkHooks(connection: Connection): Promise<Finding<'hooks'>> {
  const { client, folder } = connection
  if (hasNoHooks(connection)) return skipped('hooks', 'It was connected with "--wake off", so it has no hooks.')
  if (client === 'claude') return judgeClaude(folder)
  if (client === 'codex') return judgeCodex(await codexHooks(folder ?? homedir()))
  return skipped('hooks', 'This client has no readable setting for them.')
}

/** @see https://code.claude.com/docs/en/settings */
function judgeClaude(folder: string | undefined): Finding<'hooks'> {
  const managed = join(managedFolder(), 'managed-settings.json')
  const inProject = (name: string) => folder === undefined ? [] : [join(folder, '.claude', name)]
  const files = [managed, join(programs.claude.folder(), 'settings.json')]
    .concat(inProject('settings.json'), inProject('settings.local.json'))
  const disabled = files.find((file) => readJsonc(file).disableAllHooks === true)
  if (disabled !== undefined) {
    const action = 'Remove it. Until then Claude Code runs no hook at all.'
    return broken('hooks', `${disabled} has "disableAllHooks": true.`, action)
  }
  if (readJsonc(managed).allowManagedHooksOnly === true) {
    const action = 'Ask who manages this machine, or use "agent-grid run".'
    return broken('hooks', `${managed} allows only hooks of your organization.`, action)
  }
  return ok('hooks', 'Claude Code runs hooks.')
}

function managedFolder(): string {
  if (process.platform === 'darwin') return '/Library/Application Support/ClaudeCode'
  return process.platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code'
}

function judgeCodex(hooks: CodexHook[] | undefined): Finding<'hooks'> {
  if (!hooks) return skipped('hooks', 'Codex did not report which hooks it trusts.')
  const own = hooks.filter(({ command }) => command !== undefined && / hook '?codex'? /.test(command))
  if (own.length === 0) {
    return broken('hooks', 'Codex has no hooks of agent-grid.', 'Connect again: "agent-grid connect codex".')
  }
  const waiting = own.filter(({ trustStatus }) => trustStatus !== 'trusted' && trustStatus !== 'managed')
  if (waiting.length > 0) {
    return broken(
      'hooks',
      `Codex does not trust ${waiting.length} of its ${own.length} hooks of agent-grid yet, and skips them silently.`,
      'Start codex and approve them when it shows "Hooks need review", or type /hooks.',
    )
  }
  if (own.some(({ enabled }) => enabled === false)) {
    return broken('hooks', 'Hooks of agent-grid are switched off in Codex.', 'Switch them on again with /hooks.')
  }
  return ok('hooks', `Codex trusts its ${own.length} hooks of agent-grid.`)
}

/** Asks Codex for its hooks, because only Codex knows which ones it trusts. Undefined if it does not respond. */
export async function codexHooks(
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<CodexHook[] | undefined> {
  const child = spawn('codex', ['app-server'], { env, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true })
  const timer = setTimeout(() => child.kill('SIGKILL'), codexMs)
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  const messages = [
    { id: 1, method: 'initialize', params: { clientInfo: { name: 'agent-grid', version: '1' } } },
    { method: 'initialized' },
    { id: 2, method: 'hooks/list', params: { cwds: [folder] } },
  ]
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result } = JSON.parse(line)
      if (id !== 2) continue
      return (result?.data as { hooks?: CodexHook[] }[] | undefined)?.flatMap(({ hooks = [] }) => hooks)
    }
  } catch {
    // Codex wrote a line that is not JSON.
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

type GridFinding = Finding<'grid' | 'key' | 'version' | 'clock'>

const timeoutMs = 5 * second
/** Maximum clock difference. Sessions and leases do not depend on a client's clock, but displayed times do. */
const clockMs = 2 * minute

/** Calls the grid once. `now` is this machine's clock, in ms since 1970. */
async function checkGrid(
  { url, key, alias, client }: { url: string; key: string; alias?: string; client?: ClientName },
  now: () => number,
): Promise<GridFinding[]> {
  const again = client && alias ? connectAgain({ client, url, alias }) : '"agent-grid connect"'
  try {
    return judge(await new GridClient({ url, key, timeoutMs }).me(), alias, now(), again)
  } catch (error) {
    if (!(error instanceof GridCallError)) throw error
    return judgeError(url, error, again)
  }
}

function judge(
  { agent, key: { last4, name }, grid, clock }: Me,
  alias: string | undefined,
  now: number,
  again: string,
) {
  const isOurs = alias === undefined || agent === alias
  return [
    ok('grid', `${grid.url} answers.`),
    isOurs
      ? ok('key', `The key …${last4}${name ? ` ("${name}")` : ''} is of ${agent}.`)
      : warning('key', `The key belongs to ${agent}, not to ${alias}.`, `Connect again: ${again}`),
    isSameRelease(grid.version) ? ok('version', `This program is ${version}, and so is the grid.`) : warning(
      'version',
      `This program is ${version}, and the grid is ${grid.version}.`,
      'Run "agent-grid connect" with the package of the grid, so that both are the same.',
    ),
    judgeClock(Date.parse(clock) - now),
  ]
}

function judgeClock(aheadMs: number): GridFinding {
  if (Math.abs(aheadMs) < clockMs) return ok('clock', 'The clock of this machine agrees with the clock of the grid.')
  const difference = `${Math.round(Math.abs(aheadMs) / second)} s ${aheadMs > 0 ? 'behind' : 'ahead of'}`
  const action = 'Synchronise the clock of this machine over the network (NTP).'
  return warning('clock', `The clock of this machine is ${difference} the clock of the grid.`, action)
}

function judgeError(url: string, error: GridCallError, again: string): GridFinding[] {
  const { status, code, message } = error
  if (isCredentialGone(error)) {
    const action = `The key was revoked. Connect again: ${again}`
    return [ok('grid', `${url} answers.`), broken('key', `The grid does not accept the key: ${message}`, action)]
  }
  if (status === 0 || code === 'not_a_grid') {
    const action = `Check that the grid is running and reachable from this machine: "agent-grid health --url ${url}".`
    return [broken('grid', message, action), skipped('key', 'Only the grid knows whether the key works.')]
  }
  if (status === 404) {
    const action = 'Upgrade the grid, or use the program that it serves.'
    return [ok('grid', `${url} answers.`), warning('version', 'The grid is older than this program.', action)]
  }
  return [warning('grid', `${url} is temporarily unavailable: ${message}`, 'Try again in a minute.')]
}

function isSameRelease(other: string): boolean {
  const release = (text: string) => text.split('.').slice(0, 2).join('.')
  return release(other) === release(version)
}
