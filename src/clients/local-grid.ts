/** The grid that `agent-grid up` runs for the user of this machine. See docs/clients.md, "A grid of your own". */
import { join } from 'node:path'
import { withAt } from './connections.ts'
import { aliasIn, callJson, keyIn, noGrid } from './grid-call.ts'
import { isAlive, type ProcessMark } from './state/lock.ts'
import { dataFolder } from './state/paths.ts'
import { readJson, writeJson } from './state/sessions.ts'

/** A grid, and a key with which agents are made there. */
export interface AdminAccess {
  url: string
  adminKey: string
}

/** What `up.json` keeps. It has a key, so only the user reads it. */
export interface LocalGrid extends AdminAccess {
  /** The address with which its owner signs in. */
  email: string
  /** The server that runs, or ran last. */
  server?: ProcessMark
}

export function localGridFolder(): string {
  return join(dataFolder(), 'grid')
}

const recordPath = () => join(localGridFolder(), 'up.json')

export function readLocalGrid(): LocalGrid | undefined {
  const grid = readJson(recordPath()) as LocalGrid | undefined
  return typeof grid?.url === 'string' && typeof grid.adminKey === 'string' ? grid : undefined
}

export function saveLocalGrid(grid: LocalGrid): void {
  writeJson(recordPath(), grid)
}

/** Whether its server runs: what else listens at its address would get the keys. */
export function isServed({ server }: LocalGrid): boolean {
  return server !== undefined && isAlive(server)
}

/**
 * A key of an agent, which is made if it is new. Fails with `GridCallError`: `alias_taken` if the alias belongs to somebody
 * else.
 */
export async function agentKey(
  { url, adminKey }: AdminAccess,
  alias: string,
  name: string,
): Promise<{ key: string; alias: string; isNew: boolean }> {
  const made = await callJson(`${url}/api/v1/agents/${encodeURIComponent(withAt(alias))}/keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  const [key, own] = [keyIn(made?.apiKey), aliasIn(made?.alias)]
  if (key === undefined || own === undefined) throw noGrid(url, 200)
  return { key, alias: own, isNew: made.isNew === true }
}
