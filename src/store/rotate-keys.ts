/** Re-encrypts stored tokens with the newest key. */
import { setTimeout as sleep } from 'node:timers/promises'
import { GridError } from '../errors.ts'
import { second } from '../lib/time.ts'
import type { Statement } from './sql.ts'
import { type SealedTable, type StoredToken, tokensByKey } from './global/sealed-tokens.ts'
import type { Store } from './store.ts'

const batchSize = 200
/** Maximum duration of a run, because a server may close a connection that is idle for longer. */
const maxRunMs = 20 * second

interface KeyRotation {
  key: string
  rotated: Record<string, number>
  /** False if the run reached its time limit. The next run continues the work. */
  isFinished: boolean
  /** The number of tokens left unchanged because their key is missing or they are damaged. */
  unreadable: number
  /** Each key in the ring or the database, with the number of its tokens after the run. */
  keys: { key: string; tokens: number; isInRing: boolean }[]
}

/**
 * Re-encrypts every token under another key with the newest one. Each batch is a separate unit, so a killed run keeps
 * its committed batches, and the next run does the rest. Tokens that change during the run are skipped, because every
 * change encrypts with the newest key. Fails with `invalid_input` without a key ring, or if a running process lacks the
 * newest key. `waitForHeartbeats` is for tests.
 */
export async function rotateKeys(store: Store, waitForHeartbeats = () => sleep(20 * second)): Promise<KeyRotation> {
  const [key] = store.keyRing.ids
  if (key === undefined) {
    throw new GridError('invalid_input', 'This grid has no encryption keys, so it has stored no tokens. Set GRID_KEYS.')
  }
  await requireEverywhere(store, key, waitForHeartbeats)
  const until = performance.now() + maxRunMs
  const rotated: Record<string, number> = {}
  let isFinished = true
  let unreadable = 0
  for (const table of store.global.sealedTokens) {
    const done = await rotateTable(store, table, key, until)
    rotated[table.name] = done.rotated
    isFinished &&= done.isFinished
    unreadable += done.unreadable
  }
  return { key, rotated, isFinished, unreadable, keys: await keysOf(store) }
}

async function requireEverywhere({ global }: Store, key: string, waitForHeartbeats: () => Promise<void>) {
  const lacking = async () => (await global.instances.all()).filter(({ keyIds }) => !keyIds.includes(key))
  const found = new Map((await lacking()).map(({ id, heartbeats }) => [id, heartbeats]))
  if (found.size === 0) return
  // A killed process leaves its row behind, so only processes whose heartbeat count rises are running.
  await waitForHeartbeats()
  const living = (await lacking()).filter(({ id, heartbeats }) => found.get(id) !== heartbeats)
  if (living.length === 0) return
  throw new GridError(
    'invalid_input',
    `The key ${key} is not in the key ring of every process that runs (missing in ${living.length}), so they could not ` +
      'decrypt what it encrypts. Add it to GRID_KEYS of every process, at the end, and restart them.',
  )
}

async function rotateTable(store: Store, table: SealedTable, key: string, until: number) {
  let [rotated, unreadable] = [0, 0]
  let after = { owner: '', id: '' }
  for (;;) {
    if (performance.now() > until) return { rotated, unreadable, isFinished: false }
    const tokens = await table.underOtherKeys(key, after, batchSize)
    if (tokens.length === 0) return { rotated, unreadable, isFinished: true }
    const statements = (await Promise.all(tokens.map((token) => replaced(store, table, token)))).flat()
    if (statements.length > 0) {
      const changed = (await store.write(statements)).filter((rows) => rows.length > 0).length
      rotated += changed
      store.deps.log.info('Tokens were re-encrypted', { table: table.name, key, tokens: changed })
    }
    unreadable += tokens.length - statements.length
    after = tokens[tokens.length - 1]
  }
}

/** Returns the statement that replaces a token. If the token cannot be decrypted, logs an error and returns none. */
async function replaced({ keyRing, deps }: Store, table: SealedTable, token: StoredToken): Promise<Statement[]> {
  const context = table.context(token)
  try {
    return [table.replace(token, await keyRing.seal(await keyRing.open(token, context), context))]
  } catch (error) {
    deps.log.error('A token could not be re-encrypted', { row: context, key: token.tokenKeyId, error })
    return []
  }
}

async function keysOf({ keyRing, global }: Store): Promise<KeyRotation['keys']> {
  const unused = keyRing.ids.map((id) => [id, 0] as const)
  const counts = new Map([...unused, ...await tokensByKey(global.sealedTokens)])
  return [...counts].map(([key, tokens]) => ({ key, tokens, isInRing: keyRing.ids.includes(key) }))
}
