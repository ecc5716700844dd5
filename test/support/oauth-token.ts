/** An OAuth access token without its login, for tests that ask only what it opens. */
import { mintKey } from '../../src/auth/secrets.ts'
import { newId } from '../../src/lib/id.ts'
import { hour } from '../../src/lib/time.ts'
import type { TestGrid } from './grid.ts'

/** What a person lets a client be: the admin of an account, or with `agentId` an agent of it. */
export async function accessTokenOf(
  { store, clock }: TestGrid,
  userId: string,
  accountId: string,
  agentId: string | null = null,
): Promise<{ token: string; grantId: string }> {
  const { grants, requests, tokens } = store.global.oauth
  const [id, handleHash, codeHash, refreshId] = [newId(), newId(), newId(), newId()]
  const { key, hash } = await mintKey('access_token')
  const at = clock.now
  const proof = { handleHash, cookieHash: '', sessionId: '', userId }
  const client = { clientId: 'client', redirectUri: 'https://client.example/callback', codeChallenge: 'challenge' }
  const request = { ...proof, ...client, clientName: 'Client', state: null, resource: 'grid', choices: '{}' }
  const scope = agentId === null ? 'admin' as const : 'agent:use' as const
  const ends = { codeExpiresAt: at + hour, expiresAt: at + 100 * hour }
  await store.write([
    ...requests.add({ ...request, expiresAt: at + hour }),
    requests.take(proof, id, at),
    grants.add({ id, accountId, agentId, scope, codeHash, ...ends }, handleHash, at),
    grants.collect({ accountId, codeHash, ...client, refreshId }, at),
    tokens.addForCode(
      { accountId, hash: codeHash, refreshId },
      { id: newId(), kind: 'access', hash, expiresAt: at + hour },
      at,
    ),
  ])
  return { token: key, grantId: id }
}
