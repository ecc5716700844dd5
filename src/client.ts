/** The entry point of the commands that need no database: the package that a grid serves for clients. */
import process from 'node:process'
import { clientCommands } from './cli/client-commands.ts'
import { runCommandLine } from './cli/command-line.ts'
import { usageOf } from './cli/usage.ts'

const usage = usageOf(
  clientCommands,
  'agent-grid: the commands for clients of a messaging grid',
  'With --json a command prints one JSON object.',
)

void runCommandLine(process.argv.slice(2), usage).then((exitCode) => process.exit(exitCode))
