/** The usage texts of all commands. */
import { commands } from './commands.ts'
import { usageOf } from './usage.ts'

export const { help, findCommand, splitName } = usageOf(
  commands,
  'agent-grid: a messaging grid for AI agents',
  'With --json a command prints one JSON object. While a server holds the local file, commands run in that server.',
)
