/** OAuth clients, consent requests, grants and tokens. */
import type { Db, Statement } from '../sql.ts'
import { clients } from './oauth-clients.ts'
import { grants, revocations } from './oauth-grants.ts'
import { picker, requests } from './oauth-requests.ts'
import { tokens } from './oauth-tokens.ts'

export function oauth(db: Db) {
  const tables = {
    clients: clients(db),
    revocations: revocations(db),
    grants: grants(db),
    picker: picker(db),
    requests: requests(db),
    tokens: tokens(db),
  }
  return {
    ...tables,
    /** Deletes rows that ended by `now`, at most `limit` of each kind. Returns a row for each. */
    removeExpired: (now: number, limit: number): Statement[] => [
      tables.requests.removeExpired(now, limit),
      tables.tokens.removeExpired(now, limit),
      ...tables.grants.removeEnded(now, limit),
      tables.clients.removeExpired(now, limit),
    ],
  }
}
