/** Says why a coding client would not be told of new messages. Changes nothing. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { type Connection, findConnection, readConnections } from '../../clients/connections.ts'
import { stateOfFile } from '../../clients/files/change.ts'
import { installedProgram } from '../../clients/installed-program.ts'
import { type ClientName, programs } from '../../clients/programs.ts'
import { runnerLock } from '../../clients/run/run-state.ts'
import { lockHolder } from '../../clients/state/lock.ts'
import { stateFolder } from '../../clients/state/paths.ts'
import { liveSessions } from '../../clients/state/sessions.ts'
import { broken, type Finding, ok, skipped, warning } from '../doctor/finding.ts'
import { checkGrid } from './grid.ts'
import { checkHooks } from './hooks.ts'

/** What is looked at for each connection, in the order of the report. */
const order = ['files', 'program', 'client', 'hooks', 'grid', 'key', 'version', 'clock', 'waiter'] as const
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

const versionMs = 10_000

/** Look at every connection of this machine, and at the agent of `AGENT_GRID_KEY`. `now` is the clock of this machine. */
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
    ...await checkGrid(connection, now),
    checkWaiter(connection),
  ]
  const place = ({ check }: ClientFinding) => order.indexOf(check)
  return { agent: alias, grid: url, client, folder, checks: checks.toSorted((a, b) => place(a) - place(b)) }
}

function connectAgain({ client, alias }: Connection): string {
  return `Connect again: "agent-grid connect ${client} --as ${alias}".`
}

function checkFiles(connection: Connection): ClientFinding[] {
  const { files } = connection
  const faults = files.flatMap((file) => {
    const state = stateOfFile(file)
    if (state === 'there') return []
    return state === 'gone'
      ? [broken('files', `What was written to ${file.path} is gone.`, connectAgain(connection))]
      : [warning('files', `What was written to ${file.path} was changed since.`, connectAgain(connection))]
  })
  return faults.length > 0 ? faults : [ok('files', `Its ${files.length} files are as they were written.`)]
}

function checkProgram(connection: Connection): ClientFinding {
  if (connection.wake === 'off') {
    return skipped('program', 'It was connected with "--wake off", so it calls no program.')
  }
  const missing = installedProgram().command.find((path) => !existsSync(path))
  if (missing === undefined) return ok('program', 'The program that its hooks call is installed.')
  return broken('program', `Its hooks call ${missing}, which is gone.`, connectAgain(connection))
}

function checkClient(client: ClientName): ClientFinding {
  const { wakesFrom, commands: [command] } = programs[client]
  if (wakesFrom === undefined) {
    return skipped('client', 'Nothing wakes this client: it is told of messages when it is used.')
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
    const action = 'Install it, or start the doctor where it runs.'
    return broken('client', `${command} is not installed, or its folder is not in PATH.`, action)
  }
  if (!isOlder(found, wakesFrom)) return ok('client', `${command} is ${found}.`)
  return broken('client', `${command} is ${found}. New messages wake it from ${wakesFrom} on.`, 'Upgrade it.')
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
      'Close it, or connect this client as an agent of its own.',
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
    'Write something in the session, which starts the wait again; the log in ' +
      `${join(stateFolder(agent), 'client.log')} says why it ended.`,
  )
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const n = a.findIndex((number, i) => number !== b[i])
  return n >= 0 && a[n] < b[n]
}
