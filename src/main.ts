/** The entry of the program: `agent-grid COMMAND [OPTIONS]`. */
import process from 'node:process'
import { runCommandLine } from './cli/command-line.ts'

// No top-level await here or in anything imported: it rules out CommonJS output, which single binaries need.
void runCommandLine(process.argv.slice(2)).then((exitCode) => process.exit(exitCode))
