/** The entry point of the program: `agent-grid COMMAND [OPTIONS]`. */
import process from 'node:process'
import { runCommandLine } from './cli/command-line.ts'

// No top-level await, here or in imported modules: CommonJS output, which single binaries need, cannot have it.
void runCommandLine(process.argv.slice(2)).then((exitCode) => process.exit(exitCode))
