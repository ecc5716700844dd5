/** The log of the client programs: what a hook would otherwise say in the middle of a session. */
import { appendFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { type GridAgent, stateFolder } from './state/paths.ts'

/** Then the log becomes `client.log.1`, and a new one begins. */
const maxBytes = 1_000_000

/** Append a line to `client.log` in the state folder of an agent. Never fails. */
export function logLine(agent: GridAgent, message: string): void {
  try {
    const path = join(stateFolder(agent), 'client.log')
    if (sizeOf(path) > maxBytes) renameSync(path, `${path}.1`)
    appendFileSync(path, `${new Date().toISOString()} ${process.pid} ${message}\n`, { mode: 0o600 })
  } catch {
    // A client program goes on without its log.
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
