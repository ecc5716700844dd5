/** Creates OAuth access tokens without a login, for tests of a token's permissions. */
import { newId } from '../../src/lib/id.ts'
import { mintKey } from '../../src/lib/secrets.ts'
import { hour } from '../../src/lib/time.ts'
import type { TestGrid } from './grid.ts'

/** Grants a client access to the account as its admin, or as the agent `agentId`. */
export async function accessTokenFor(
  { store, clock }: TestGrid,
  userId: string,
  accountId: string,
  agentId: string | null = null,
): Promise<{ token: string; grantId: string }> {
  const { grants, requests, tokens } = store.global.oauth
  const [id, handleHash, codeHash, refreshId] = [newId(), newId(), newId(), newId()]
  const { key, hash } = mintKey('access_token')
  const at = clock.now
  const browserProof = { handleHash, cookieHash: '', sessionId: '', userId }
  const client = { clientId: 'client', redirectUri: 'https://client.example/callback', codeChallenge: 'challenge' }
  const request = { ...browserProof, ...client, clientName: 'Client', state: null, resource: 'grid', choices: '{}' }
  const scope = agentId === null ? 'admin' as const : 'agent:use' as const
  const expiry = { codeExpiresAt: at + hour, expiresAt: at + 100 * hour }
  await store.write([
    ...requests.add({ ...request, expiresAt: at + hour }),
    requests.complete(browserProof, id, at),
    grants.add({ id, accountId, agentId, scope, codeHash, ...expiry }, handleHash, at),
    grants.exchangeCode({ accountId, codeHash, ...client, refreshId }, at),
    tokens.addForCode(
      { accountId, hash: codeHash, refreshId },
      { id: newId(), kind: 'access', hash, expiresAt: at + hour },
      at,
    ),
  ])
  return { token: key, grantId: id }
}
