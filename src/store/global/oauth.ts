/** OAuth clients, consent requests, grants and tokens. See docs/protocol.md, "OAuth". */
import type { Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { prepareOAuthClients } from './oauth-clients.ts'
import { prepareOAuthGrants } from './oauth-grants.ts'
import { prepareOAuthPicker } from './oauth-picker.ts'
import { prepareOAuthRequests } from './oauth-requests.ts'
import { prepareOAuthRevocations } from './oauth-revocations.ts'
import { prepareOAuthTokens } from './oauth-tokens.ts'

export function prepareOAuth(db: Db, crossAccountQueries: CrossAccountQueries) {
  const clients = prepareOAuthClients(db, crossAccountQueries)
  const revocations = prepareOAuthRevocations(db, crossAccountQueries)
  const grants = prepareOAuthGrants(db, crossAccountQueries)
  const picker = prepareOAuthPicker(db, crossAccountQueries)
  const requests = prepareOAuthRequests(db)
  const tokens = prepareOAuthTokens(db, crossAccountQueries)
  return {
    clients,
    revocations,
    grants,
    picker,
    requests,
    tokens,
    /**
     * Delete what has ended by `now`, at most `limit` rows of each kind. Returns a row for each one deleted. Safe to
     * repeat.
     */
    removeExpired: (now: number, limit: number): Statement[] => [
      requests.removeExpired(now, limit),
      tokens.removeExpired(now, limit),
      ...grants.removeEnded(now, limit),
      clients.removeExpired(now, limit),
    ],
  }
}
