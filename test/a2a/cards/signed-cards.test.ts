/** Card signatures, verified with the official library and with other libraries. */
import { type AgentCard, canonicalizeAgentCard } from '@a2a-js/sdk'
import { base64url, createLocalJWKSet, decodeProtectedHeader, flattenedVerify, type JWK } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { keepSigningKeys, readSigningKeys, replaceSigningKeys } from '../../../src/grid/cards.ts'
import { canonicalJson } from '../../../src/lib/encoding.ts'
import { day, minute } from '../../../src/lib/time.ts'
import { keyIn, verifyCard } from '../../support/card-signatures.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
})

const description = 'Übersetzt „alles“ 🌍'

interface ServedCard extends Record<string, unknown> {
  signatures?: { protected: string; signature: string }[]
}

async function cardAt(path: string, version: string, key?: string): Promise<ServedCard> {
  const response = await grid.request(path, {
    headers: { 'A2A-Version': version, ...(key !== undefined && { Authorization: `Bearer ${key}` }) },
  })
  return await response.json()
}

async function publishedKeys(): Promise<JWK[]> {
  return (await (await grid.request('/.well-known/jwks.json')).json()).keys
}

/** Verifies a card as a client does: with the key id and the key set URL that the signature names. */
async function verify(card: ServedCard): Promise<void> {
  await verifyCard(card, async (kid, jku) => {
    expect(jku).toBe('https://grid.example/.well-known/jwks.json')
    return keyIn({ keys: await publishedKeys() }, kid)
  })
}

/** Whether one of a card's signatures is valid for a text. */
async function signs(card: ServedCard, text: string): Promise<boolean> {
  const keys = createLocalJWKSet({ keys: await publishedKeys() })
  const payload = base64url.encode(text)
  const verified = await Promise.all(
    card.signatures!.map((signature) =>
      flattenedVerify({ ...signature, payload }, keys, { algorithms: ['ES256'] }).then(() => true, () => false)
    ),
  )
  return verified.includes(true)
}

describe.each(['0.3', '1.0'])('signed cards of version %s', (version) => {
  test('the official library verifies root, agent and extended cards', async () => {
    await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', description })
    const { key } = grid.alice

    await verify(await cardAt('/.well-known/agent-card.json', version))
    await verify(await cardAt('/a2a/v1/agents/bob', version))
    await verify(await cardAt('/a2a/v1/grid/v1/card', version, key))
    await verify(await cardAt('/a2a/v1/agents/alice/v1/card', version, key))
  })

  test('the official library refuses a modified card', async () => {
    const card = await cardAt('/.well-known/agent-card.json', version)

    await expect(verify({ ...card, name: 'other' })).rejects.toThrow('No valid signatures')
    await expect(verify({ ...card, supportedInterfaces: [] })).rejects.toThrow('No valid signatures')
  })

  test('a card has a signature for each text that verifiers derive from it', async () => {
    await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', description })
    const card = await cardAt('/a2a/v1/agents/bob', version)
    const { signatures: _, ...served } = card
    const asSdk = canonicalizeAgentCard(card as unknown as AgentCard)

    expect(asSdk).toContain(description)
    expect(await signs(card, canonicalJson(served)), 'the served members').toBe(true)
    expect(await signs(card, asSdk), 'as the official library').toBe(true)
    expect(await signs(card, inPython(asSdk)), 'as the library for Python').toBe(true)
    // ProtoJSON omits members with default values, but keeps a scheme with an empty list of scopes.
    const proto = { ...JSON.parse(asSdk), securityRequirements: [{ schemes: { bearer: {} } }] }
    expect(await signs(card, canonicalJson(proto)), 'as ProtoJSON').toBe(true)
  })

  test('an ASCII card has no extra signature for verifiers that escape non-ASCII characters', async () => {
    expect((await cardAt('/.well-known/agent-card.json', version)).signatures).toHaveLength(4)
  })
})

test("a signature's header names the algorithm, the key, the key set's URL, and the type that the library requires", async () => {
  const { signatures: [signature] = [] } = await cardAt('/.well-known/agent-card.json', '1.0')
  const [key] = await publishedKeys()

  expect(decodeProtectedHeader(signature)).toEqual({
    alg: 'ES256',
    typ: 'JOSE',
    kid: key.kid,
    jku: 'https://grid.example/.well-known/jwks.json',
  })
})

test('the key set is public, contains only public keys, and may be cached for 5 minutes', async () => {
  const response = await grid.request('/.well-known/jwks.json', { headers: { Origin: 'https://page.example' } })
  await cardAt('/.well-known/agent-card.json', '1.0')

  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/jwk-set+json')
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(await response.json()).toEqual({
    keys: [{
      kty: 'EC',
      crv: 'P-256',
      x: expect.any(String),
      y: expect.any(String),
      kid: expect.any(String),
      use: 'sig',
      alg: 'ES256',
    }],
  })
})

test('a new key signs only after it has been published for some minutes, and older signatures remain valid', async () => {
  const before = await cardAt('/.well-known/agent-card.json', '1.0')
  grid.clock.now += 90 * day
  await keepSigningKeys(grid.store)
  const [id] = (await readSigningKeys(grid.store)).published.map(({ kid }) => kid)
  const kidOf = (card: ServedCard) => decodeProtectedHeader(card.signatures![0]).kid

  grid.clock.now += 2 * minute
  expect((await publishedKeys()).map(({ kid }) => kid)).toEqual([id, kidOf(before)])
  expect(await cardAt('/.well-known/agent-card.json', '1.0')).toEqual(before)

  grid.clock.now += 9 * minute
  const after = await cardAt('/.well-known/agent-card.json', '1.0')
  expect(kidOf(after)).toBe(id)
  await verify(after)
  await verify(before)
})

test('after a compromised key is replaced, its signatures are no longer valid', async () => {
  const before = await cardAt('/.well-known/agent-card.json', '1.0')
  await replaceSigningKeys(grid.store)
  grid.clock.now += 2 * minute

  await verify(await cardAt('/.well-known/agent-card.json', '1.0'))
  await expect(verify(before)).rejects.toThrow('No valid signatures')
})

test('without encryption keys, cards are unsigned and the key set is empty', async () => {
  const withoutRing = { ...grid.store.keyRing, ids: [], canSeal: false }
  Object.assign(grid.store, { keyRing: withoutRing })

  expect(await cardAt('/.well-known/agent-card.json', '1.0')).not.toHaveProperty('signatures')
  expect(await publishedKeys()).toEqual([])
})

test('the private key is stored encrypted, and all cards are signed with the same key', async () => {
  const first = await cardAt('/.well-known/agent-card.json', '1.0')
  grid.clock.now += day
  const second = await cardAt('/a2a/v1/agents/bob', '1.0', grid.alice.key)
  const stored = await rows(grid, 'SELECT * FROM signing_keys')

  expect(stored).toHaveLength(1)
  expect(JSON.stringify(stored)).not.toContain('"d\\"')
  expect(decodeProtectedHeader(first.signatures![0]).kid).toBe(decodeProtectedHeader(second.signatures![0]).kid)
})

/** Escapes non-ASCII characters, as Python's `json.dumps` does. */
function inPython(json: string): string {
  return [...json].flatMap((char) => char.split('')).map((unit) =>
    unit < '\x7f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  ).join('')
}

test('a card and its signatures name the requested host', async () => {
  grid = await testGrid({
    env: { BASE_URL: 'https://grid.example', EXTRA_BASE_URLS: 'http://grid.internal:8787, http://localhost:9999' },
  })
  const { key } = grid.alice
  for (const origin of ['https://grid.example', 'http://grid.internal:8787', 'http://[::1]:9999']) {
    for (const path of ['/.well-known/agent-card.json', '/a2a/v1/agents/bob/', '/a2a/v1/grid/v1/card']) {
      const card = await cardAt(`${origin}${path}`, '1.0', key) as unknown as AgentCard
      expect(card.supportedInterfaces.every(({ url }) => url.startsWith(`${origin}/a2a/v1/`))).toBe(true)
      await verifyCard(card as unknown as ServedCard, async (kid, jku) => {
        expect(jku).toBe(`${origin}/.well-known/jwks.json`)
        return keyIn({ keys: await publishedKeys() }, kid)
      })
    }
    const answer = await grid.post(`${origin}/a2a/v1/grid`, { jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' }, {
      Authorization: `Bearer ${key}`,
      'A2A-Version': '1.0',
    })
    expect((await answer.json()).result.supportedInterfaces[0].url).toBe(`${origin}/a2a/v1/grid`)
  }
})
