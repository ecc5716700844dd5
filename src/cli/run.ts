/** Runs an unattended agent. See docs/runners.md. */
import { resolve } from 'node:path'
import process from 'node:process'
import { type Connection, type GridAccess, withAt } from '../clients/connections.ts'
import { GridCallError, isCredentialGone } from '../clients/grid-call.ts'
import { GridClient } from '../clients/grid-client.ts'
import { installProgram } from '../clients/installed-program.ts'
import { logLine } from '../clients/state/paths.ts'
import { findProgram } from '../clients/find-program.ts'
import { commandProgram, type Program, programs } from '../clients/run/programs.ts'
import { runAgent, type RunnerOptions, usualBackoff, usualStandByMs } from '../clients/run/runner.ts'
import { runnerLock, RunState } from '../clients/run/run-state.ts'
import { systemdUserUnit } from '../clients/run/service.ts'
import { lockHolder, takeLock } from '../clients/state/lock.ts'
import { hour, minute, second } from '../lib/time.ts'
import { accessOptions, gridAccess, personNeeded } from './grid-access.ts'
import {
  type CommandArguments,
  CommandError,
  type CommandOptions,
  duration,
  type ProcessCommand,
  usageError,
} from './command.ts'
import { print, printError } from './output.ts'

const options = {
  ...accessOptions,
  claude: { placeholder: '', description: 'run Claude Code', flag: true },
  codex: { placeholder: '', description: 'run Codex', flag: true },
  opencode: { placeholder: '', description: 'run opencode', flag: true },
  per: {
    placeholder: 'thread|batch',
    description: 'one run for each conversation (the default), or for all waiting messages',
    oneOf: ['thread', 'batch'],
  },
  input: {
    placeholder: 'json|text',
    description:
      'what a COMMAND receives on standard input: messages with their senders (the default), or only their text',
    oneOf: ['json', 'text'],
  },
  folder: { placeholder: 'PATH', description: 'working folder; by default the current one' },
  timeout: { placeholder: 'DURATION', description: 'time limit of a run; by default 15m' },
  lease: {
    placeholder: 'DURATION',
    description: 'time after which messages are unread again if this machine dies; by default 5m',
  },
  'max-turns-per-hour': { placeholder: 'NUMBER', description: 'maximum runs per hour; by default 20' },
  'max-usd-per-turn': { placeholder: 'AMOUNT', description: 'cost limit of a run (Claude Code)' },
  'max-usd-per-day': { placeholder: 'AMOUNT', description: 'cost limit of 24 hours (Claude Code, opencode)' },
  service: {
    placeholder: '',
    description: 'print a systemd unit that runs this command, and how to install it',
    flag: true,
  },
} as const satisfies CommandOptions

/** Exit code 0 after a stop, 1 after a fault, 3 if a person must act because the key was revoked. */
export const run: ProcessCommand = {
  name: 'run',
  summary: 'Run an unattended agent: a coding client, or any command, for each message.',
  options,
  words: { placeholder: 'WORDS', description: 'the command, or options for the client' },
  async start(json, args, words) {
    const runner = readOptions(args, words)
    const access = gridAccess(args)
    if (args.service) return printService(json, access, args, words)
    requireProgram(runner.program.words({ extra: [] })[0])
    const grid = new GridClient(access)
    const alias = await aliasOf(grid, access, args)
    const agent = { url: access.url, alias }
    const log = (message: string) => {
      logLine(agent, `run: ${message}`)
      printError(`${new Date().toISOString()} ${message}`)
    }
    const state = new RunState(agent, Date.now)
    const lock = takeLock(runnerLock(agent))
    if (!lock) {
      const holder = lockHolder(runnerLock(agent))
      throw new CommandError(
        'already_running',
        `Another runner runs ${alias} on this machine${holder ? ` (process ${holder.pid})` : ''}. Stop it first.`,
      )
    }
    log(`Running ${alias} of ${access.url} with ${runner.program.name}.`)
    try {
      await runAgent(grid, agent, state, { ...runner, agent: alias, now: Date.now, log }, stopSignal())
    } catch (error) {
      if (!isCredentialGone(error)) throw error
      throw personNeeded(
        'key_revoked',
        `The key of ${alias} no longer works: ${(error as Error).message} Connect again.`,
      )
    } finally {
      lock.release()
    }
    log('Stopped.')
    if (json) print(JSON.stringify({ agent: alias, stopped: true }))
    return 0
  },
}

function readOptions(args: CommandArguments, words: readonly string[]): Omit<RunnerOptions, 'agent' | 'now' | 'log'> {
  const [client, ...others] = (['claude', 'codex', 'opencode'] as const).filter((name) => args[name])
  if (others.length > 0) throw usageError('Name one client.')
  if (!client && words.length === 0) {
    throw usageError('Name a client (--claude, --codex, --opencode), or a command after --.')
  }
  const program: Program = client ? programs[client] : commandProgram(words)
  const maxUsdPerTurn = amount('max-usd-per-turn', args)
  const perDayUsd = amount('max-usd-per-day', args)
  if (maxUsdPerTurn !== undefined && client !== 'claude') throw usageError('Use --max-usd-per-turn only with --claude.')
  if (perDayUsd !== undefined && !program.tellsCost) {
    throw usageError(
      `Use --max-usd-per-day only with --claude or --opencode. ${program.name} does not report its cost.`,
    )
  }
  if (client && args.input) throw usageError('Use --input only with a command. A client gets a prompt.')
  return {
    program,
    extra: client ? words : [],
    format: (args.input ?? 'json') as 'json' | 'text',
    per: (args.per ?? 'thread') as 'thread' | 'batch',
    folder: resolve(args.folder ?? '.'),
    timeoutMs: duration('timeout', args, 15 * minute, [second, 12 * hour]),
    backoff: usualBackoff,
    standByMs: usualStandByMs,
    leaseSeconds: duration('lease', args, 5 * minute, [30 * second, 12 * hour]) / second,
    perHour: amount('max-turns-per-hour', args) ?? 20,
    maxUsdPerTurn,
    perDayUsd,
  }
}

/** The agent of the key. Fails if `AGENT_GRID_KEY` belongs to a different agent than `--as` names. */
async function aliasOf(grid: GridClient, { alias, connection }: GridAccess, args: CommandArguments): Promise<string> {
  if (connection) return connection.alias
  try {
    const { agent } = await grid.peek({ limit: 1 })
    if (alias !== undefined && args.as !== undefined && withAt(agent) !== alias) {
      throw usageError(`AGENT_GRID_KEY is a key of ${agent}, not of ${alias}.`)
    }
    return withAt(agent)
  } catch (error) {
    if (error instanceof GridCallError && error.status === 0 && alias !== undefined) return alias
    if (isCredentialGone(error)) {
      throw personNeeded('key_revoked', `AGENT_GRID_KEY does not work: ${(error as Error).message}`)
    }
    throw error
  }
}

function printService(
  json: boolean,
  { connection }: GridAccess,
  args: CommandArguments,
  words: readonly string[],
): number {
  if (!connection) {
    throw usageError(
      'A service reads the key from the connections. Run "agent-grid connect" first, without AGENT_GRID_KEY.',
    )
  }
  const unit = systemdUserUnit({
    agent: connection.alias,
    words: [...installProgram().command, ...wordsOfRun(connection, args, words)],
    folder: resolve(args.folder ?? '.'),
    path: process.env.PATH ?? '',
  })
  print(json ? JSON.stringify({ system: 'systemd', unit }) : unit)
  return 0
}

/** The arguments that start a runner with the same options. */
export function wordsOfRun(
  { alias, url }: Pick<Connection, 'alias' | 'url'>,
  args: CommandArguments,
  words: readonly string[],
): string[] {
  const given = Object.entries(args).filter(([name, value]) =>
    value && !['service', 'as', 'url', 'folder'].includes(name)
  )
  return [
    'run',
    '--as',
    alias,
    '--url',
    url,
    ...given.flatMap(([name, value]) =>
      'flag' in options[name as keyof typeof options] ? [`--${name}`] : [`--${name}`, value!]
    ),
    ...(words.length === 0 ? [] : ['--', ...words]),
  ]
}

function requireProgram(name: string): void {
  if (findProgram(name) !== undefined) return
  const message = `There is no executable program ${name}. Install it, or add its folder to PATH.`
  throw personNeeded('program_missing', message)
}

/** Aborts at the first signal to stop. A second signal ends the process immediately, which is as safe as a crash. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => controller.signal.aborted ? process.exit(1) : controller.abort())
  }
  return controller.signal
}

function amount(name: string, args: CommandArguments): number | undefined {
  const text = args[name]
  if (text === undefined) return undefined
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) <= 0) {
    throw usageError(`--${name} must be a number above 0, not "${text}".`)
  }
  return Number(text)
}
