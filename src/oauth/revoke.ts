/** `POST /oauth/revoke` (RFC 7009). */
import { hashForLookup, keyKind } from '../auth/secrets.ts'
import { GridError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { authenticateClient, type Clients } from './clients.ts'
import { parameter, readForm } from './form.ts'

/**
 * End a token: an access token itself, with a refresh token everything of its grant. Another client's token, and
 * one that is none, are let be without saying so. Fails with `invalid_client` or `invalid_request`.
 */
export async function revokeToken({ global, write, deps }: Store, clients: Clients, request: Request): Promise<void> {
  const form = await readForm(request)
  const client = await authenticateClient(clients, request, form)
  const text = parameter(form, 'token')
  if (text === undefined) throw new GridError('invalid_request', 'token is missing.')
  const kind = keyKind(text)
  if (kind !== 'access_token' && kind !== 'refresh_token') return
  const hash = hashForLookup(text)
  const token = await global.oauth.tokens.byHash(hash)
  if (token?.clientId !== client.id) return
  const { grants, tokens } = global.oauth
  const at = deps.now()
  await write([
    token.kind === 'refresh'
      ? grants.revoke(token.accountId, token.grantId, at)
      : tokens.revoke(token.accountId, hash, at),
  ])
}
