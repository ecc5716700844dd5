/** Entry point of the program: `agent-grid COMMAND [OPTIONS]`. */
import process from 'node:process'
import { runCommandLine } from './cli/command-line.ts'
import { findCommand, help, settings, splitName } from './cli/commands.ts'
import { runStoreCommand } from './cli/store-command.ts'

// No top-level await, here or in imports, because the CommonJS output for single binaries does not support it.
void runCommandLine(process.argv.slice(2), { help, findCommand, splitName, settings, runStoreCommand }).then((
  exitCode,
) => process.exit(exitCode))
