import { as } from './as.ts'
import { channel } from './channel.ts'
import { clientDoctor } from './client-doctor.ts'
import { runCommandLine, usageOf } from './command-line.ts'
import type { ProcessCommand } from './command.ts'
import { connect, disconnect } from './connect.ts'
import { health } from './health.ts'
import { hook } from './hook.ts'
import { read, send, watch } from './messages.ts'
import { reservations, reserve } from './reservations.ts'
import { run } from './run.ts'

/**
 * The commands that need no database. They form a separate program, which is also in the package that a grid serves.
 */
export const clientCommands: readonly ProcessCommand[] = [
  connect,
  disconnect,
  send,
  read,
  watch,
  reserve,
  reservations,
  run,
  as,
  channel,
  hook,
  health,
]

const usage = usageOf(
  [...clientCommands, clientDoctor],
  'agent-grid: the commands for clients of a messaging grid',
  'With --json a command prints one JSON object.',
)

/** Runs one of the commands that need no database. Resolves to the exit code. */
export function runClientLine(words: string[]): Promise<number> {
  return runCommandLine(words, usage)
}
