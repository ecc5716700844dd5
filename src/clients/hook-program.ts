/** The program in plugins: `agent-grid hook` without the other commands. */
import process from 'node:process'
import { runHook } from './hook/run-hook.ts'

void runHook(process.argv.slice(2)).then((exitCode) => process.exit(exitCode))
