import { describeSettings } from '../config.ts'
import { type Command, didYouMean, usageError } from './command.ts'
import { table } from './tables.ts'

export interface Usage {
  /** The help text of a command, of `settings`, or the overview. Fails with `usage`. */
  help(topic?: string): string
  findCommand(name: string): Command
  /** The name of the command in a command line, which may have two words, and the words behind it. */
  splitName(words: readonly string[]): [name: string | undefined, rest: string[]]
}

/** The usage of these commands. The overview begins with `title`, and ends with `notes`. */
export function usageOf(commands: readonly Command[], title: string, notes: string): Usage {
  /** `others` are the words besides the commands that may stand here. */
  function find(name: string, others: string[]): Command {
    const command = commands.find((command) => command.name === name)
    if (command) return command
    const hint = didYouMean(name, [...commands.map(({ name }) => name), ...others])
    throw usageError(`There is no command "${name}".${hint} "agent-grid help" lists all commands.`)
  }

  return {
    help(topic) {
      if (topic === undefined) return overview(commands, title, notes)
      if (topic === 'settings') return settings()
      return options(find(topic, ['settings']))
    },
    findCommand: (name) => find(name, ['help']),
    splitName([first, ...rest]) {
      const isTwo = commands.some(({ name }) => name === `${first} ${rest[0]}`)
      return isTwo ? [`${first} ${rest[0]}`, rest.slice(1)] : [first, rest]
    },
  }
}

function overview(commands: readonly Command[], title: string, notes: string): string {
  return [
    title,
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
    notes,
  ].join('\n')
}

function options(command: Command): string {
  const lines = Object.entries(command.options).flatMap(([name, option]) => {
    const { placeholder, description, required, env, file } = option
    const notes = (required ? ' (required)' : '') + (env ? ` (safer in ${env})` : '')
    const title = name === command.operand ? placeholder : `--${name} ${placeholder}`.trim()
    const line = [title, description + notes] as const
    return file === undefined
      ? [line]
      : [line, [`--${file} PATH`, `a file with --${name}; - is standard input`] as const]
  })
  return [
    `agent-grid ${command.name}: ${command.summary}`,
    '',
    indent(table([...lines, ['--json', 'print one JSON object'], ...wordsOf(command)])),
  ].join('\n')
}

function wordsOf({ words }: Command): [string, string][] {
  return words ? [[`-- ${words.placeholder}`, words.description]] : []
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
