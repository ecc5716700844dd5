/** The commands `reserve` and `reservations`. See docs/protocol/reservations.md, "On the command line". */
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { GridCallError, mayRepeat, reconnectMs } from '../clients/grid-call.ts'
import { GridClient, type Reservation, type ReserveRequest } from '../clients/grid-client.ts'
import { heldByOthers, reservationsIn } from '../clients/held.ts'
import { nameInRepository, spaceOf } from '../clients/repository.ts'
import { normaliseName, normaliseSpace, overlaps } from '../lib/name-patterns.ts'
import { jsonLine } from '../lib/redact.ts'
import { day, hour, minute, second } from '../lib/time.ts'
import {
  attentionExitCode,
  type CommandArguments,
  CommandError,
  duration,
  type ProcessCommand,
  usageError,
} from './command.ts'
import { accessOptions, gridAccess } from './grid-access.ts'
import { print, printError } from './output.ts'
import { runCommand } from './run-command.ts'

/** Duration of a command's reservation. It is renewed, so it expires only if this machine fails. */
const renewedMs = 10 * minute
/** The grid's maximum wait, in seconds. */
const waitSeconds = 50
/** Time limit of `--check`, which delays a commit. */
const checkMs = second

const name = {
  placeholder: 'NAME…',
  description: 'files and patterns in this folder, or tickets',
  several: true,
} as const
const space = {
  placeholder: 'TEXT',
  description: 'the space of the names; default: the git remote of this folder',
} as const

export const reserve: ProcessCommand = {
  name: 'reserve',
  summary:
    'Reserve names as an agent, to announce what it works on. With a command, the names are reserved while it runs.',
  operands: ['name'],
  options: {
    name,
    note: { placeholder: 'TEXT', description: 'what others should know' },
    for: { placeholder: 'DURATION', description: 'duration, such as 90s, 30m or 8h; default 1h' },
    shared: { placeholder: '', description: 'let others share the names', flag: true },
    space,
    wait: { placeholder: '', description: 'wait until nobody else holds the names', flag: true },
    release: {
      placeholder: '',
      description: 'release the names, or all in the space if no names are given',
      flag: true,
    },
    ...accessOptions,
  },
  words: {
    placeholder: 'COMMAND',
    description: 'run this command, renew the reservation while it runs, and release it afterwards',
  },
  async start(json, args, words) {
    const { note, shared, wait, release } = args
    const { names, space } = placeOf(args)
    if (release === undefined && names.length === 0) throw usageError('reserve needs NAME.')
    const length = duration('for', args, words.length > 0 ? renewedMs : hour, [minute, 7 * day])
    const client = new GridClient(gridAccess(args))
    if (release !== undefined) {
      const { released } = await client.releaseNames({ names: names.length > 0 ? names : undefined, space })
      print(
        json
          ? jsonLine({ released })
          : released.length === 0
          ? 'You had reserved no names.'
          : `Released ${released.join(', ')}.`,
      )
      return 0
    }
    const request = { names, space, note, expires_in_seconds: length / second, shared: shared !== undefined }
    const { reserved, ends_at } = await (wait === undefined ? client.reserve(request) : whenFree(client, request))
      .catch((error) => {
        const isTaken = error instanceof GridCallError && error.code === 'already_reserved'
        throw isTaken ? new CommandError(error.code, error.message, attentionExitCode) : error
      })
    if (words.length > 0) return await holding(client, request, () => runCommand(words))
    const where = space === undefined ? '' : ` in ${space}`
    print(json ? jsonLine({ reserved, space, ends_at }) : `Reserved ${reserved.join(', ')}${where} until ${ends_at}.`)
    return 0
  },
}

/** The names and their space. With `--space`, names stay unchanged. */
function placeOf({ name, space }: CommandArguments): { names: string[]; space: string | undefined } {
  const names = name?.split('\n') ?? []
  if (space !== undefined) return { names, space: normaliseSpace(space) }
  const here = process.cwd()
  return { names: names.map((given) => nameInRepository(given, here)), space: spaceOf(here) }
}

async function whenFree(client: GridClient, request: ReserveRequest): ReturnType<GridClient['reserve']> {
  for (let failures = 0;;) {
    try {
      return await client.reserve({ ...request, wait_seconds: waitSeconds })
    } catch (error) {
      const isTaken = error instanceof GridCallError && error.code === 'already_reserved'
      if (!isTaken && !mayRepeat(error)) throw error
      failures = isTaken ? 0 : failures + 1
      if (failures > 0) await pause(reconnectMs(failures))
    }
  }
}

/** Runs `work` with a reservation that is renewed and finally released. Grid errors do not affect the result. */
export async function holding<T>(
  client: GridClient,
  request: ReserveRequest & { expires_in_seconds: number },
  work: () => Promise<T>,
  // If a renewal fails, at least one more is tried before the reservation expires.
  everyMs = request.expires_in_seconds * second / 3,
): Promise<T> {
  const { names, space } = request
  const report = (error: Error) => printError(`${names!.join(', ')}: ${error.message}`)
  let renewal: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    renewal = renewal.then(() => client.reserve(request)).catch((error) => mayRepeat(error) || report(error))
  }, everyMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await renewal
    await client.releaseNames({ names, space }).catch(report)
  }
}

export const reservations: ProcessCommand = {
  name: 'reservations',
  summary: 'List what agents have reserved. With --check, report whether others have reserved files.',
  operands: ['name'],
  options: {
    name: { ...name, description: `${name.description}: only those that overlap them` },
    mine: { placeholder: '', description: 'only your own', flag: true },
    space: { ...space, description: 'only this space; by default names are in the git remote of this folder' },
    check: { placeholder: '', description: 'exit code 1 if another agent holds one of the files', flag: true },
    strict: { placeholder: '', description: 'with --check: exit code 2 if the grid cannot be reached', flag: true },
    ...accessOptions,
  },
  async start(json, args) {
    if (args.check !== undefined) return await check(json, args)
    const { names, space } = placeOf(args)
    const client = new GridClient(gridAccess(args))
    const isIn = (found: Reservation) => names.length === 0 || (found.space === space && isNamed(names, found))
    const query = { space: names.length > 0 ? space : args.space && space, mine: args.mine !== undefined }
    const found = (await client.reservations(query)).filter(isIn)
    print(json ? jsonLine({ reservations: found }) : found.map(lineOf).join('\n') || 'Nothing is reserved.')
    return 0
  },
}

function isNamed(names: readonly string[], { name }: Reservation): boolean {
  return names.some((given) => overlaps(normaliseName(given) ?? given, name))
}

/** Checks a commit for a Git hook. Errors do not block the commit, except with `--strict`. */
async function check(json: boolean, args: CommandArguments): Promise<number> {
  const { names: files, space } = placeOf(args)
  try {
    const all = files.length === 0 ? [] : await Promise.race([held(files, space, args), tooLate()])
    if (json) print(jsonLine({ held: all }))
    else for (const { file, ...by } of all) print(`${file}: ${lineOf({ ...by, space: undefined })}`)
    return all.length > 0 ? 1 : 0
  } catch (error) {
    const { message } = error as Error
    printError(`Reservations were not checked: ${message}`)
    if (json) print(jsonLine({ held: [], unchecked: message }))
    return args.strict === undefined ? 0 : 2
  }
}

async function held(files: readonly string[], space: string | undefined, args: CommandArguments) {
  const access = gridAccess(args)
  const client = new GridClient(access)
  const [agent, all] = await Promise.all([
    access.connection ? access.alias! : client.me().then(({ agent }) => agent),
    reservationsIn(client, space),
  ])
  return files.flatMap((file) => heldByOthers(all, agent, file).slice(0, 1).map((by) => ({ file, ...by })))
}

async function tooLate(): Promise<never> {
  await pause(checkMs)
  throw new Error('The grid did not answer within a second.')
}

function lineOf({ agent, presence, name, space, ends_at, shared, note }: Reservation): string {
  const where = space === undefined ? '' : ` in ${space}`
  const more = `${shared ? ', shared' : ''}${note === undefined ? '' : `, note: ${JSON.stringify(note)}`}`
  return `${agent} (${presence}) has ${name}${where} until ${ends_at}${more}`
}
