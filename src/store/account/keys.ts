import { eq, sql } from 'drizzle-orm'
import { credentials } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { mine, own, p, type Scope } from '../bound.ts'

/** What is stored of an agent key or admin key. */
export interface NewKey {
  id: string
  kind: 'agent_key' | 'admin_key'
  agentId: string | null
  userId: string | null
  name: string
  hash: string
  last4: string
}

export function prepareKeys(db: Db) {
  const add = db.insert(credentials).values(mine({
    id: p('id'),
    kind: p('kind'),
    agentId: p('agentId'),
    userId: p('userId'),
    name: p('name'),
    hash: p('hash'),
    last4: p('last4'),
    createdAt: p('at'),
  })).onConflictDoNothing().toSQL()
  const used = db.update(credentials).set({ lastUsedAt: sql`${p('at')}` })
    .where(own(credentials, eq(credentials.id, p('id')))).toSQL()

  return {
    reads: () => ({}),
    changes: (scope: Scope) => ({
      /** Repeated, it does nothing. A constraint error when its agent is missing. */
      add: (key: NewKey, at: number) => scope.bind(add, { ...key, at }),
      used: (id: string, at: number) => scope.bind(used, { id, at }),
    }),
  }
}
