/** The usage texts. */
import { describeSettings } from '../config.ts'
import { type Command, usageError } from './command.ts'
import { commands } from './commands.ts'
import { table } from './table.ts'

/** The text about `topic`: a command, `settings`, or everything at a glance. Fails with `usage`. */
export function help(topic?: string): string {
  if (topic === undefined) return overview()
  if (topic === 'settings') return settings()
  return options(findCommand(topic))
}

/** The command of that name. Fails with `usage`. */
export function findCommand(name: string): Command {
  const command = commands.find((command) => command.name === name)
  if (!command) throw usageError(`There is no command "${name}". "agent-grid help" lists all.`)
  return command
}

function overview(): string {
  return [
    'agent-grid: a messaging grid for AI agents',
    '',
    'Usage: agent-grid COMMAND [OPTIONS]',
    '',
    indent(table(commands.map(({ name, summary }) => [name, summary] as const))),
    '',
    indent(table([
      ['help COMMAND', 'the options of a command'],
      ['help settings', 'the environment variables'],
    ])),
    '',
    'A command on the database prints one JSON object with --json. While a server runs, it goes through it.',
  ].join('\n')
}

function options(command: Command): string {
  const lines = Object.entries(command.options).map(([name, { takes, doc, required, env }]) =>
    [`--${name} ${takes}`, doc + (required ? ' (required)' : '') + (env ? ` (better in ${env})` : '')] as const
  )
  return [
    `agent-grid ${command.name}: ${command.summary}`,
    '',
    indent(table([...lines, ['--json', 'print one JSON object']])),
  ].join('\n')
}

function settings(): string {
  const paragraphs = describeSettings().map(({ name, doc, takes }) => `${name}\n  ${doc}\n  Takes ${takes}.`)
  return ['Environment variables, all optional:', ...paragraphs].join('\n\n')
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
