import { clientCommands } from './client-commands.ts'
import { clientDoctor } from './client-doctor.ts'
import { runCommandLine } from './command-line.ts'
import { usageOf } from './usage.ts'

const usage = usageOf(
  [...clientCommands, clientDoctor],
  'agent-grid: the commands for clients of a messaging grid',
  'With --json a command prints one JSON object.',
)

/** Run a command line with the commands that need no database. Resolves to the exit code. */
export function runClientLine(words: string[]): Promise<number> {
  return runCommandLine(words, usage)
}
