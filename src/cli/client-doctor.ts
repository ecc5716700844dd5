/** `agent-grid doctor --client`. See docs/runners.md, "Doctor". */
import { ConnectionsFileError } from '../clients/connections.ts'
import type { ClientReport } from '../clients/doctor/examine.ts'
import { clientChecks } from '../clients/doctor/finding.ts'
import { version } from '../lib/version.ts'
import { personNeeded } from './grid-access.ts'
import { attentionExitCode, type ProcessCommand } from './command.ts'

/** The option that makes the doctor look at the clients of this machine, and not at a grid. */
export const clientOption = {
  placeholder: '',
  description: 'look at the coding clients that are connected on this machine: why is one not told of messages?',
  flag: true,
} as const

/** The doctor of the client program, which has no other. */
export const clientDoctor: ProcessCommand = {
  name: 'doctor',
  summary: 'Say why a coding client on this machine is not told of messages, and what to do.',
  options: { client: clientOption },
  start: (json) => runClientDoctor(json),
}

/** Exit code 0 if all is well, 3 if there are warnings or nothing is connected, 1 if something is broken. */
export async function runClientDoctor(json: boolean): Promise<number> {
  const reports = await examine()
  if (reports.length === 0) {
    throw personNeeded('not_connected', 'No client is connected on this machine. Run "agent-grid connect" first.')
  }
  const status = statusOf(reports)
  console.log(json ? JSON.stringify({ status, version, clients: reports }) : describe(reports, status))
  return { well: 0, warning: attentionExitCode, broken: 1 }[status]
}

async function examine(): Promise<ClientReport[]> {
  // Loaded only for this: it reads the files of every client.
  const { examineClients } = await import('../clients/doctor/examine.ts')
  try {
    return await examineClients(Date.now)
  } catch (error) {
    if (error instanceof ConnectionsFileError) throw personNeeded('invalid_connections', error.message)
    throw error
  }
}

type Status = 'well' | 'warning' | 'broken'

function statusOf(reports: readonly ClientReport[]): Status {
  const found = reports.flatMap(({ checks }) => checks.map(({ status }) => status))
  return found.includes('broken') ? 'broken' : found.includes('warning') ? 'warning' : 'well'
}

function describe(reports: readonly ClientReport[], status: Status): string {
  const width = Math.max(...clientChecks.map((name) => name.length))
  const parts = reports.map(({ agent, grid, client, folder, checks }) => {
    const lines = checks.flatMap(({ check, status, found, action }) => {
      const line = `${status.padEnd(8)} ${check.padEnd(width)} ${found}`
      return action === null ? [line] : [line, `${' '.repeat(width + 10)}→ ${action}`]
    })
    return [`${client ?? 'environment'}: ${agent} of ${grid}${folder === null ? '' : `, in ${folder}`}`, ...lines].join(
      '\n',
    )
  })
  const end = {
    well: 'All is well.',
    warning: 'Nothing is broken, but see the warnings.',
    broken: 'Something is broken.',
  }[status]
  return [`agent-grid ${version}`, ...parts, end].join('\n\n')
}
