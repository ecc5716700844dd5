/** What only the process that has the database can tell: a running server, or this one. */
import process from 'node:process'
import * as z from 'zod'
import { version } from '../../lib/version.ts'
import { storeCommand } from '../command.ts'

const database = z.object({
  writeMode: z.object({ journal: z.string(), synchronous: z.number() }).nullable(),
  bytes: z.number(),
  unusedBytes: z.number(),
  damage: z.array(z.string()).nullable(),
  danglingRows: z.number().nullable(),
  storedAt: z.number().nullable(),
  now: z.number(),
  keys: z.array(z.object({ key: z.string(), tokens: z.number() })),
  oldestUnread: z.object({ accountId: z.string(), alias: z.string(), createdAt: z.number() }).nullable(),
  deadLeases: z.object({ count: z.number(), since: z.number().nullable() }),
  toPlace: z.number(),
  accounts: z.array(z.object({
    id: z.string(),
    name: z.string(),
    agents: z.number(),
    messages: z.number(),
    activityRows: z.number(),
    bytesOfWeek: z.number(),
  })),
})

/** The answer of a running server. */
export const insideFacts = z.object({
  version: z.string(),
  runtime: z.string(),
  waitingUnits: z.number(),
  isOverloaded: z.boolean(),
  /** The ids of the keys that this process knows, the newest first. */
  keyIds: z.array(z.string()),
  proxies: z.object({ read: z.number(), ignored: z.number(), ignoredFrom: z.string().nullable() }),
  database,
})
export type InsideFacts = z.output<typeof insideFacts>
export type ServerFacts = Omit<InsideFacts, 'database'>

/** `agent-grid doctor` asks it of a running server. */
export const lookInside = storeCommand({
  name: 'doctor',
  summary: 'Tell what only the process that has the database can tell.',
  options: {},
  async run(store): Promise<InsideFacts> {
    const { callerHints, overload } = store.deps
    return {
      version,
      runtime: runtimeName(),
      isOverloaded: overload.isOverloaded,
      keyIds: [...store.keyRing.ids],
      proxies: callerHints.seenProxies,
      ...await store.health(),
    }
  },
  print: JSON.stringify,
})

/** The runtime of this process with its version, for example `Node 22.11.0`. */
export function runtimeName(): string {
  const { bun, deno, node } = process.versions
  return bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`
}
