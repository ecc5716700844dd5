import { readFileSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { createKeyRing, isKeyRing } from '../../lib/key-ring.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import type { LookedAt } from './database.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

/** Whether the key ring, of the settings or beside the local file, has the keys of the stored tokens. */
export function checkKeyRing(
  { gridKeys }: Config,
  path: string | undefined,
  { keys }: Pick<DatabaseHealth, 'keys'>,
  server: LookedAt['server'],
): Finding {
  const keep =
    'Restore the key ring from where it is kept apart from the data; without it the tokens must be entered again.'
  const ring = gridKeys ?? (path && readRing(`${path}.keys`))
  if (ring !== undefined && !isKeyRing(ring)) {
    return broken('key_ring', 'The file beside the database is not a key ring.', keep)
  }
  const { ids } = createKeyRing(ring)
  const missing = keys.filter(({ key }) => !ids.includes(key))
  if (missing.length > 0) {
    const names = missing.map(({ key, tokens }) => `${key} (stored tokens: ${tokens})`).join(', ')
    return broken('key_ring', `The ring lacks keys: ${names}.`, keep)
  }
  if (server && server.keyIds.join() !== ids.join()) {
    return warning('key_ring', 'The server runs with another key ring than the settings name.', 'Restart the grid.')
  }
  return ok('key_ring', 'The key ring has the keys of all stored tokens.')
}

/** A file that this user cannot read is a fault of the files. */
function readRing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
