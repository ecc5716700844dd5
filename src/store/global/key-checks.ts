import type { SealedToken } from '../../lib/key-ring.ts'
import { type Db, query, type Statement, statement } from '../sql.ts'

const factPrefix = 'key:'

// The character ";" comes after ":", so the range contains all keys with the prefix.
const all = query<{ value: string }>(`SELECT value FROM store_facts WHERE key >= '${factPrefix}' AND key < 'key;'`)
const add = statement(`INSERT INTO store_facts (key, value) VALUES (:key, :value) ON CONFLICT DO NOTHING`)

/** A check text for each key that has encrypted something. It detects a different key with the same id. */
export const keyChecks = (db: Db) => ({
  all: async (): Promise<SealedToken[]> => (await db.all(all)).map(({ value }) => JSON.parse(value)),
  /** Keeps an existing check text. */
  add: (check: SealedToken): Statement =>
    db.bind(add, { key: factPrefix + check.tokenKeyId, value: JSON.stringify(check) }),
})
