/** `POST /oauth/revoke` (RFC 7009). */
import { GridError } from '../errors.ts'
import { revokeGrantByClient } from '../grid/oauth/grants.ts'
import { hashForLookup, keyKind } from '../lib/secrets.ts'
import type { AppContext } from '../request-context.ts'
import type { Store } from '../store/store.ts'
import { authenticateClient, type Clients } from './clients.ts'
import { parameter, readOAuthForm } from './form.ts'

/**
 * Revoke an access token, or a refresh token together with its grant and all tokens of it. Unknown tokens and tokens of
 * other clients are ignored silently. The revocation of a grant is recorded in the activity log of its account.
 * Fails with `invalid_client` or `invalid_request`.
 */
export function revokeToken(store: Store, clients: Clients) {
  return async function revokeToken(c: AppContext): Promise<Response> {
    await revoke(store, clients, c.req.raw, c.get('requestId'))
    return new Response(null, { status: 200 })
  }
}

async function revoke(store: Store, clients: Clients, request: Request, requestId: string): Promise<void> {
  const { global, write, deps } = store
  const form = await readOAuthForm(deps.bodies, request)
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
  await revokeGrantByClient(store, token, requestId).catch((error) => {
    // A concurrent request has revoked the grant: the client's request is fulfilled.
    if (!(error instanceof GridError) || error.code !== 'credential_not_found') throw error
  })
}
