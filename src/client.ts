/**
 * Entry point of the commands that need no database, in the package that a grid serves to clients. It loads only these
 * commands so that it starts fast, because coding clients wait for the command `hook`.
 */
import process from 'node:process'
import { hook } from './cli/hook.ts'

const [name, ...words] = process.argv.slice(2)

void (name === hook.name
  ? hook.startWith(words)
  : import('./cli/client-commands.ts').then(({ runClientLine }) => runClientLine(process.argv.slice(2)))).then((
    exitCode,
  ) => process.exit(exitCode))
