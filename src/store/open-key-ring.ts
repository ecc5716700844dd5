/** Opens a process's key ring at start. See docs/security.md, "What is encrypted". */
import type { Client } from '@libsql/client'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { createKeyRing, isKeyRing, type KeyRing, wrongKeys } from '../lib/key-ring.ts'
import type { Log } from '../lib/log.ts'
import { makeKeyRing, readStoredKeyRing } from './driver/local-file.ts'
import { keyChecks } from './global/key-checks.ts'
import { sealedTokens, tokensByKey } from './global/sealed-tokens.ts'
import { Db, type Statement } from './sql.ts'
import { explainedKeyRing, StartError, wrongKeyRing } from './start-error.ts'

/**
 * Opens the key ring from the settings, or the one next to a local file. Creates one only if nothing is encrypted yet,
 * because stored tokens cannot be decrypted with another ring. Fails with a `StartError` if the file is not a key ring
 * or cannot be read, or if the ring has a different key under an id that was used to encrypt.
 */
export async function openKeyRing(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  path: string | undefined,
  client: Client,
): Promise<KeyRing> {
  const db = new Db(client)
  const used = [...(await tokensByKey(sealedTokens(db))).keys()]
  const text = config.gridKeys ?? (path && ringNextTo(path, used.length === 0, log))
  const ring = createKeyRing(text)
  const wrong = await wrongKeys(ring, await keyChecks(db).all())
  if (wrong.length > 0) throw wrongKeyRing(wrong, config.gridKeys === undefined ? `${path}.keys` : undefined)
  ring.missing = used.filter((id) => !ring.ids.includes(id))
  if (ring.missing.length > 0) {
    const nothing = ring.ids.length === 0 ? ' There is no key ring, so nothing is encrypted.' : ''
    log.error(
      `The key ring lacks keys of stored tokens. These tokens cannot be decrypted until the keys are restored.${nothing}`,
      {
        keys: ring.missing,
      },
    )
  }
  return ring
}

/**
 * Stores the newest key's check text before the key encrypts anything. If several processes have different keys with
 * the same id, only one stores its check text. In the others, encrypting fails with `unavailable`.
 */
export function storeKeyCheck(
  keyRing: KeyRing,
  checks: ReturnType<typeof keyChecks>,
  write: (statements: Statement[]) => Promise<unknown>,
): void {
  let stored: Promise<void> | undefined
  keyRing.beforeSeal = () =>
    stored ??= store().catch((error) => {
      stored = undefined
      throw error
    })

  async function store(): Promise<void> {
    await write([checks.add(await keyRing.sealCheck())])
    const wrong = await wrongKeys(keyRing, await checks.all())
    if (!wrong.includes(keyRing.ids[0])) return
    throw new GridError('unavailable', 'This process has other encryption keys than the grid. Correct its GRID_KEYS.')
  }
}

function ringNextTo(path: string, mayBeNew: boolean, log: Log): string | undefined {
  const file = `${path}.keys`
  try {
    const stored = readStoredKeyRing(path)
    if (stored !== undefined) return checkedKeyRing(stored, file)
    if (!mayBeNew) return undefined
    const ring = makeKeyRing(path)
    log.warn('A new key ring was created. Keep a copy of it separate from the data.', { file })
    return ring
  } catch (error) {
    throw explainedKeyRing(error, file)
  }
}

function checkedKeyRing(ring: string, file: string): string {
  if (isKeyRing(ring)) return ring
  throw new StartError(
    'invalid_key_ring',
    `${file} is not a key ring. Restore it from a backup. ` +
      'Without it the stored tokens of other services cannot be decrypted. ' +
      'If there are none, remove the file; the next start creates a new one.',
  )
}
