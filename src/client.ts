/**
 * The entry point of the commands that need no database: the package that a grid serves for clients. Coding clients wait
 * for `hook`, so nothing else is loaded for it.
 */
import process from 'node:process'
import { hook } from './cli/hook.ts'

const [name, ...words] = process.argv.slice(2)

void (name === hook.name
  ? hook.startWith(words)
  : import('./cli/client-commands.ts').then(({ runClientLine }) => runClientLine(process.argv.slice(2)))).then((
    exitCode,
  ) => process.exit(exitCode))
