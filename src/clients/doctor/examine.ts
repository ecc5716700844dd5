/** Says why a coding client would not be told of new messages. Changes nothing. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { type Connection, findConnection, readConnections } from '../connections.ts'
import { stateOfFile } from '../files/change.ts'
import { installedProgram } from '../installed-program.ts'
import { programs } from '../programs/programs.ts'
import { RunState } from '../run/run-state.ts'
import { lockHolder } from '../state/lock.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'
import { liveSessions } from '../state/sessions.ts'
import { checkGrid } from './check-grid.ts'
import { checkHooks } from './check-hooks.ts'
import { broken, clientChecks, type ClientFinding, ok, skipped, warning } from './finding.ts'

/** What was found about one connection. */
export interface ClientReport {
  /** With `@`. */
  agent: string
  /** The address of its grid. */
  grid: string
  /** Such as `claude`; null for the agent of `AGENT_GRID_KEY`. */
  client: string | null
  /** The folder of a project; null for all projects. */
  folder: string | null
  checks: ClientFinding[]
}

/** The oldest versions that were seen to wake. */
const oldest: Record<string, string> = { claude: '2.1.197', codex: '0.149.0', opencode: '1.18.0' }
const versionMs = 10_000

/** Look at every connection of this machine, and at the agent of `AGENT_GRID_KEY`. `now` is the clock of this machine. */
export async function examineClients(now: () => number): Promise<ClientReport[]> {
  const { AGENT_GRID_URL: url, AGENT_GRID_KEY: key } = process.env
  const access = url && key ? findConnection() : undefined
  const reports = await Promise.all(readConnections().map((connection) => examine(connection, now)))
  if (!access) return reports
  const checks = await checkGrid(access, now)
  return [{
    agent: access.alias ?? 'the agent of AGENT_GRID_KEY',
    grid: access.url,
    client: null,
    folder: null,
    checks,
  }, ...reports]
}

async function examine(connection: Connection, now: () => number): Promise<ClientReport> {
  const { alias, url, client, folder = null } = connection
  const program = programs.find(({ name }) => name === client)
  const commands = program?.commands ?? []
  const checks = [
    ...judgeFiles(connection),
    judgeProgram(connection),
    judgeClient(client, commands),
    await checkHooks(connection, commands),
    ...await checkGrid(connection, now),
    ...judgeWaiters(connection),
  ]
  const place = ({ check }: ClientFinding) => clientChecks.indexOf(check)
  return { agent: alias, grid: url, client, folder, checks: checks.toSorted((a, b) => place(a) - place(b)) }
}

function judgeFiles({ files, client, alias }: Connection): ClientFinding[] {
  const again = `Connect again: "agent-grid connect ${client} --as ${alias}".`
  const faults = files.flatMap((file) => {
    const state = stateOfFile(file)
    if (state === 'gone') return [broken('files', `What was written to ${file.path} is gone.`, again)]
    return state === 'changed' ? [warning('files', `What was written to ${file.path} was changed since.`, again)] : []
  })
  return faults.length > 0 ? faults : [ok('files', `Its ${files.length} files are as they were written.`)]
}

function judgeProgram({ wake, client, alias }: Connection): ClientFinding {
  if (wake === 'off') return skipped('program', 'It was connected with "--wake off", so it calls no program.')
  const missing = installedProgram().command.find((path) => !existsSync(path))
  if (missing === undefined) return ok('program', 'The program that its hooks call is installed.')
  return broken(
    'program',
    `Its hooks call ${missing}, which is gone.`,
    `Connect again: "agent-grid connect ${client} --as ${alias}".`,
  )
}

function judgeClient(client: string, commands: readonly string[]): ClientFinding {
  const least = oldest[client]
  if (least === undefined) {
    return skipped('client', 'Nothing wakes this client: it is told of messages when it is used.')
  }
  const { stdout, error } = spawnSync(commands[0], ['--version'], {
    ...{ encoding: 'utf8', timeout: versionMs, windowsHide: true, shell: process.platform === 'win32' },
  })
  const found = stdout?.match(/\d+\.\d+\.\d+/)?.[0]
  if (error || found === undefined) {
    return broken(
      'client',
      `${commands[0]} is not installed, or its folder is not in PATH.`,
      'Install it, or start the doctor where it runs.',
    )
  }
  if (!isOlder(found, least)) return ok('client', `${commands[0]} is ${found}.`)
  return broken('client', `${commands[0]} is ${found}. New messages wake it from ${least} on.`, 'Upgrade it.')
}

function judgeWaiters(connection: Connection): ClientFinding[] {
  const agent: GridAgent = connection
  const runner = lockHolder(new RunState(agent, Date.now).lockPath)
  if (runner) {
    return [ok('waiter', `A runner works for ${agent.alias} (process ${runner.pid}), while no session is open.`)]
  }
  const holder = lockHolder(join(stateFolder(agent), 'waiter.lock'))
  const sessions = liveSessions(agent).filter(({ client }) => client === connection.client)
  if (holder && holder.client !== connection.client) {
    return [warning(
      'waiter',
      `New messages wake a session of ${holder.client} (process ${holder.pid}), because it is the newest of ${agent.alias}.`,
      'Close it, or connect this client as an agent of its own.',
    )]
  }
  if (holder) return [ok('waiter', `Process ${holder.pid} waits for messages.`)]
  if (sessions.length > 0 && connection.wake === 'auto' && oldest[connection.client] !== undefined) {
    return [warning(
      'waiter',
      `A session is open (process ${sessions.at(-1)!.pid}), and nothing waits for messages.`,
      'Write something in the session, which starts the wait again; the log in ' +
        `${join(stateFolder(agent), 'client.log')} says why it ended.`,
    )]
  }
  return [ok('waiter', 'No session is open, so nothing waits for messages.')]
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const n = a.findIndex((number, i) => number !== b[i])
  return n >= 0 && a[n] < b[n]
}
