/** OAuth: clients, consent pages, grants and their tokens. mcp.md, section 8. */
import type { Crossings, Db } from '../account.ts'
import type { Statement } from '../driver/binding.ts'
import { prepareOAuthClients } from './oauth-clients.ts'
import { prepareOAuthEnds } from './oauth-ends.ts'
import { prepareOAuthGrants } from './oauth-grants.ts'
import { prepareOAuthPicks } from './oauth-picks.ts'
import { prepareOAuthRequests } from './oauth-requests.ts'
import { prepareOAuthTokens } from './oauth-tokens.ts'

export function prepareOAuth(db: Db, crossings: Crossings) {
  const clients = prepareOAuthClients(db)
  const ends = prepareOAuthEnds(db, crossings)
  const grants = prepareOAuthGrants(db, crossings)
  const picks = prepareOAuthPicks(db, crossings)
  const requests = prepareOAuthRequests(db)
  const tokens = prepareOAuthTokens(db, crossings)
  return {
    clients,
    ends,
    grants,
    picks,
    requests,
    tokens,
    /** Forget what has ended by `now`, at most `limit` rows of each kind; a row for each comes back. Safe to repeat. */
    removeExpired: (now: number, limit: number): Statement[] => [
      requests.removeExpired(now, limit),
      tokens.removeExpired(now, limit),
      ...grants.removeEnded(now, limit),
      clients.removeExpired(now, limit),
    ],
  }
}
