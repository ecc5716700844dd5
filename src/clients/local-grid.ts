/** The grid that `agent-grid up` runs for this machine's user. See docs/clients.md, "A grid of your own". */
import { join } from 'node:path'
import { withAt } from './connections.ts'
import { aliasIn, callJson, keyIn, noGrid } from './grid-call.ts'
import { isAlive, type ProcessMark } from './state/lock.ts'
import { dataFolder } from './state/paths.ts'
import { readJson, writeJson } from './state/sessions.ts'

/** A grid's URL, and a key that can create agents there. */
export interface AdminAccess {
  url: string
  adminKey: string
}

/** The content of `up.json`. It contains a key, so only the user may read it. */
export interface LocalGrid extends AdminAccess {
  /** The owner's email address for signing in. */
  email: string
  /** The current or last server process. */
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

/** Whether the grid's server is running. Without this check, another program on its port would receive the keys. */
export function isServed({ server }: LocalGrid): boolean {
  return server !== undefined && isAlive(server)
}

/**
 * Creates a key of an agent, and the agent if it does not exist. Fails with `GridCallError`: `alias_taken` if the alias
 * belongs to another account.
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
