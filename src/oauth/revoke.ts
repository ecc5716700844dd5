/** `POST /oauth/revoke` (RFC 7009). */
import { hashForLookup, keyKind } from '../auth/secrets.ts'
import { GridError } from '../errors.ts'
import { returnGrant } from '../grid/oauth/grants.ts'
import type { Store } from '../store/store.ts'
import { authenticateClient, type Clients } from './clients.ts'
import { parameter, readForm } from './form.ts'

/**
 * End a token: an access token itself, with a refresh token everything of its grant. Another client's token, and
 * one that is none, are let be without saying so. The end of a grant stands in the log of its account.
 * Fails with `invalid_client` or `invalid_request`.
 */
export async function revokeToken(store: Store, clients: Clients, request: Request, requestId: string): Promise<void> {
  const { global, write, deps } = store
  const form = await readForm(request)
  const client = await authenticateClient(clients, request, form)
  const text = parameter(form, 'token')
  if (text === undefined) throw new GridError('invalid_request', 'token is missing.')
  const kind = keyKind(text)
  if (kind !== 'access_token' && kind !== 'refresh_token') return
  const hash = hashForLookup(text)
  const token = await global.oauth.tokens.byHash(hash)
  if (token?.clientId !== client.id) return
  if (token.kind === 'access') {
    await write([global.oauth.tokens.revoke(token.accountId, hash, deps.now())])
    return
  }
  if (token.revokedAt !== null) return
  await returnGrant(store, token, requestId).catch((error) => {
    // Somebody was faster: what the client wants holds.
    if (!(error instanceof GridError) || error.code !== 'credential_not_found') throw error
  })
}
