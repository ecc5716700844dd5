/** The usage texts. */
import { describeSettings } from '../config.ts'
import { type Command, usageError } from './command.ts'
import { commands } from './commands.ts'
import { didYouMean } from './did-you-mean.ts'
import { table } from './table.ts'

/** The help text of a command, of `settings`, or the overview. Fails with `usage`. */
export function help(topic?: string): string {
  if (topic === undefined) return overview()
  if (topic === 'settings') return settings()
  return options(find(topic, ['settings']))
}

/** Find a command by its name. Fails with `usage`. */
export function findCommand(name: string): Command {
  return find(name, ['help'])
}

/** `others` are the words besides the commands that may stand here. */
function find(name: string, others: string[]): Command {
  const command = commands.find((command) => command.name === name)
  if (command) return command
  const hint = didYouMean(name, [...commands.map(({ name }) => name), ...others])
  throw usageError(`There is no command "${name}".${hint} "agent-grid help" lists all commands.`)
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
      ['help COMMAND', 'list the options of a command'],
      ['help settings', 'list the environment variables with their defaults'],
      ['--version', 'print the version'],
    ])),
    '',
    'With --json a command prints one JSON object. While a server holds the local file, commands run in that server.',
  ].join('\n')
}

function options(command: Command): string {
  const lines = Object.entries(command.options).flatMap(([name, option]) => {
    const { placeholder, description, required, env, file, flag } = option
    const notes = (required ? ' (required)' : '') + (env ? ` (safer in ${env})` : '')
    const title = name === command.operand ? placeholder : flag ? `--${name}` : `--${name} ${placeholder}`
    const line = [title, description + notes] as const
    return file === undefined
      ? [line]
      : [line, [`--${file} PATH`, `a file with --${name}; - is standard input`] as const]
  })
  return [
    `agent-grid ${command.name}: ${command.summary}`,
    '',
    indent(table([...lines, ['--json', 'print one JSON object']])),
  ].join('\n')
}

function settings(): string {
  const paragraphs = describeSettings().map(({ name, description, format, fallback }) =>
    `${name}\n  ${description}\n  Value: ${format}.\n  Default: ${fallback}.`
  )
  return ['Environment variables, all optional:', ...paragraphs].join('\n\n')
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
