/** `agent-grid doctor --client`. See docs/runners.md, "Doctor of clients". */
import process from 'node:process'
import { jsonLine } from '../lib/redact.ts'
import { version } from '../lib/version.ts'
import type { AgentsHere, ClientReport } from './examine-clients.ts'
import type { ProcessCommand } from './command.ts'
import { conclusions, exitCodes, findingLines, statusOf } from './doctor/finding.ts'
import { personNeeded } from './grid-access.ts'
import { print } from './output.ts'

/** The option that makes the doctor check this machine's clients instead of a grid. */
export const clientOption = {
  placeholder: '',
  description: 'check the coding clients connected on this machine, and explain why one is not notified of messages',
  flag: true,
} as const

/** The `doctor` command of the client program. It cannot check a grid. */
export const clientDoctor: ProcessCommand = {
  name: 'doctor',
  summary: 'Explain why a coding client on this machine is not notified of messages, and how to fix it.',
  options: { client: clientOption },
  start: (json) => runClientDoctor(json),
}

/** Checks all connections, and prints the findings. Resolves to the exit code. */
export async function runClientDoctor(json: boolean): Promise<number> {
  // Loaded on demand, because it reads every client's files.
  const { agentsHere, examineClients } = await import('./examine-clients.ts')
  const clients = await examineClients(Date.now)
  if (clients.length === 0) {
    throw personNeeded('not_connected', 'No client is connected on this machine. Run "agent-grid connect" first.')
  }
  const here = agentsHere(process.cwd())
  const status = statusOf(clients.flatMap(({ checks }) => checks))
  const end = { well: 'All is well.', ...conclusions }[status]
  print(
    json
      ? jsonLine({ status, version, here, clients })
      : [`agent-grid ${version}`, hereLines(here), ...clients.map(describe), end].join('\n\n'),
  )
  return exitCodes[status]
}

function hereLines(here: AgentsHere[]): string {
  const lines = here.map(({ client, tools, hooks }) => {
    const of = tools === null ? 'no agent, or several' : `${tools} for its tools, ${hooks ?? 'nobody'} for its hooks`
    return `${client} is ${of}`
  })
  return [`In ${process.cwd()}:`, ...lines].join('\n')
}

function describe({ agent, grid, client, folder, checks }: ClientReport): string {
  const place = folder === null ? '' : `, in ${folder}`
  return [`${client ?? 'environment'}: ${agent} of ${grid}${place}`, ...findingLines(checks)].join('\n')
}
