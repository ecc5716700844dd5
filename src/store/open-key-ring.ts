/** The key ring of a process, at its start. See docs/security.md, "What is encrypted". */
import type { Client } from '@libsql/client'
import type { Deps } from '../deps.ts'
import { createKeyRing, isKeyRing, type KeyRing } from '../lib/key-ring.ts'
import type { Log } from '../lib/log.ts'
import { makeKeyRing, readStoredKeyRing } from './driver/local-file.ts'
import { sealedTokens, tokensByKey } from './global/sealed-tokens.ts'
import { Db } from './sql.ts'
import { explainedKeyRing, StartError } from './start-error.ts'

/**
 * The ring of the settings, or next to a local file. A new one is made only if nothing is encrypted yet: with another
 * ring stored tokens do not open. Fails with a `StartError` if the file is no ring, or cannot be read.
 */
export async function openKeyRing(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  path: string | undefined,
  client: Client,
): Promise<KeyRing> {
  const used = [...(await tokensByKey(sealedTokens(new Db(client)))).keys()]
  const text = config.gridKeys ?? (path && ringNextTo(path, used.length === 0, log))
  const ring = createKeyRing(text)
  ring.missing = used.filter((id) => !ring.ids.includes(id))
  if (ring.missing.length > 0) {
    const nothing = ring.ids.length === 0 ? ' There is no key ring, so nothing is encrypted.' : ''
    log.error(`The key ring lacks keys of stored tokens, which do not open until they are back.${nothing}`, {
      keys: ring.missing,
    })
  }
  return ring
}

function ringNextTo(path: string, mayBeNew: boolean, log: Log): string | undefined {
  const file = `${path}.keys`
  try {
    const stored = readStoredKeyRing(path)
    if (stored !== undefined) return checkedKeyRing(stored, file)
    if (!mayBeNew) return undefined
    const ring = makeKeyRing(path)
    log.warn('A new key ring was made. Keep a copy of it, apart from the data.', { file })
    return ring
  } catch (error) {
    throw explainedKeyRing(error, file)
  }
}

function checkedKeyRing(ring: string, file: string): string {
  if (isKeyRing(ring)) return ring
  throw new StartError(
    'invalid_key_ring',
    `${file} is not a key ring. Restore it from a backup: without it the stored tokens of other services do not open. ` +
      'If there are none, remove the file, and the next start makes a new one.',
  )
}
