/** The command line options. */
import { parseArgs } from 'node:util'
import { type Database, databases } from './grid.ts'
import type { BenchSizes } from './scenario.ts'
import { type Runtime, runtimes } from './server.ts'

/** Each client has one connection. */
const maxClients = 256

export interface BenchOptions<Name extends string> {
  scenarios: Name[]
  runtimes: Runtime[]
  database: Database
  sizes: BenchSizes
  markdown: boolean
}

/** Parse the command line. Throws if it is invalid. `defaults` are the scenarios if none are given. */
export function readOptions<Name extends string>(
  args: string[],
  scenarios: readonly Name[],
  defaults: Name[],
): BenchOptions<Name> {
  const text = (value: string) => ({ type: 'string' as const, default: value })
  const { values } = parseArgs({
    args,
    options: {
      scenario: text(defaults.join(',')),
      runtime: text('node'),
      database: text('file'),
      clients: text('1,32,256'),
      seconds: text('3'),
      inboxes: text('512'),
      messages: text('10000,1000000'),
      agents: text('10,10000'),
      members: text('500'),
      starts: text('5'),
      markdown: { type: 'boolean', default: false },
    },
  })
  const number = (name: 'members' | 'seconds' | 'starts' | 'inboxes', least: number, most = Infinity) =>
    numbers(name, values[name], least, most)[0]
  return {
    scenarios: values.scenario === 'all'
      ? [...scenarios]
      : values.scenario.split(',').map((name) => oneOf(scenarios, name)),
    runtimes: values.runtime.split(',').map((name) => oneOf(runtimes, name)),
    database: oneOf(databases, values.database),
    markdown: values.markdown,
    sizes: {
      clients: numbers('clients', values.clients, 1, maxClients),
      seconds: number('seconds', 0.01),
      inboxes: number('inboxes', 1),
      messages: numbers('messages', values.messages, 1),
      agents: numbers('agents', values.agents, 10),
      members: number('members', 2, 500),
      starts: number('starts', 1),
    },
  }
}

function oneOf<Name extends string>(names: readonly Name[], text: string): Name {
  const name = names.find((name) => name === text)
  if (!name) throw new Error(`"${text}" is not one of ${names.join(', ')}`)
  return name
}

/** Integers, except for `seconds`. */
function numbers(name: string, text: string, least: number, most = Infinity): number[] {
  const list = text.split(',').map(Number)
  if (list.every((n) => n >= least && n <= most && (name === 'seconds' || Number.isInteger(n)))) return list
  throw new Error(`--${name} takes numbers from ${least}${most === Infinity ? '' : ` to ${most}`}`)
}
