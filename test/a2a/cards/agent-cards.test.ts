import { beforeEach, describe, expect, test } from 'vitest'
import { agentCardPaths, card10Paths } from '../../../src/a2a/cards/cards.ts'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const url = 'https://grid.example/a2a/v1/agents/bob'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
})

function get(path: string, key?: string, headers: Record<string, string> = {}) {
  return grid.request(path, { headers: { ...headers, ...(key !== undefined && { Authorization: `Bearer ${key}` }) } })
}

async function answerTo(path: string, key?: string) {
  const response = await get(path, key)
  return { status: response.status, body: await response.text(), vary: response.headers.get('vary') }
}

const publish = (more = {}) => updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', ...more })

describe("a public agent's card", () => {
  test("a public agent's card names only the agent's own endpoint", async () => {
    await publish({ description: 'Adds numbers.' })

    const response = await get('/a2a/v1/agents/bob')

    expect(response.headers.get('cache-control')).toBe('public, max-age=300')
    expect(await response.json()).toMatchObject({
      name: 'bob',
      description: 'Adds numbers.',
      url,
      protocolVersion: '0.3.0',
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ url, transport: 'JSONRPC' }],
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
    })
  })

  test("an agent's card has its skills, each with every field that A2A requires", async () => {
    await grid.acme.agent('carol', {
      visibility: 'public',
      skills: [{ name: 'sums', description: 'adds' }, { name: 'drawing' }],
    })

    const { skills } = await (await get('/a2a/v1/agents/carol')).json()

    expect(skills).toEqual([
      { id: 'drawing', name: 'drawing', description: 'drawing', tags: ['drawing'] },
      { id: 'sums', name: 'sums', description: 'adds', tags: ['sums'] },
    ])
  })

  test('the card of an agent without skills and description has a default skill and a default description', async () => {
    await publish()

    const card = await (await get('/a2a/v1/agents/bob')).json()

    expect(card.description).toBe('The agent @bob of this grid.')
    expect(card.skills).toHaveLength(1)
    expect(card.skills[0]).toMatchObject({ id: 'message', tags: ['messaging'] })
  })

  test.each(agentCardPaths)("an agent's card is served at %s, in any spelling of the alias", async (path) => {
    await publish()
    const card = (await answerTo('/a2a/v1/agents/bob')).body

    expect((await answerTo(path.replace(':alias', 'bob'))).body).toBe(card)
    expect((await answerTo(path.replace(':alias', '@BOB'))).body).toBe(card)
  })

  test("an agent's card in version 1.0 has no member of version 0.3", async () => {
    await publish()

    const response = await get('/a2a/v1/agents/bob', undefined, { 'A2A-Version': '1.0' })

    expect(response.headers.get('a2a-version')).toBe('1.0')
    const text = await response.text()
    for (const member of ['url', 'protocolVersion', 'preferredTransport', 'security']) {
      expect(JSON.parse(text)).not.toHaveProperty(member)
    }
    expect((await answerTo(card10Paths.agent.replace(':alias', 'bob'))).body).toBe(text)
  })

  test('an agent card URL made from a base URL without its final slash gets a 404 that explains the mistake', async () => {
    const { status, body } = await answerTo(new URL('.well-known/agent-card.json', url).pathname)

    expect([status, JSON.parse(body).error]).toEqual([404, {
      code: 404,
      status: 'NOT_FOUND',
      message: expect.stringContaining('ends with a slash'),
    }])
  })

  test("a public agent's card is the same with any key and without a key", async () => {
    await publish()
    const card = (await answerTo('/a2a/v1/agents/bob')).body

    expect((await answerTo('/a2a/v1/agents/bob', grid.eve.key)).body).toBe(card)
    expect((await answerTo('/a2a/v1/agents/bob', 'nonsense')).body).toBe(card)
  })

  test("an unchanged card is not resent, and a change to the agent changes the card's ETag and date", async () => {
    await publish({ description: 'one' })
    const first = await get('/a2a/v1/agents/bob')
    const etag = first.headers.get('etag')!
    const status = async () => (await get('/a2a/v1/agents/bob', undefined, { 'If-None-Match': etag })).status
    grid.clock.now += 5_000

    expect(await status()).toBe(304)
    expect(await (await get('/a2a/v1/agents/bob')).text()).toBe(await first.text())

    await publish({ description: 'two' })
    expect(await status()).toBe(200)
    const second = await get('/a2a/v1/agents/bob')
    const changedAt = (response: Response) => Date.parse(response.headers.get('last-modified')!)
    expect(changedAt(second) - changedAt(first)).toBe(5_000)
  })
})

describe("a private agent's card", () => {
  test("only keys of the same account's agents can read a private agent's card, and proxies never cache it", async () => {
    const response = await get('/a2a/v1/agents/bob', grid.alice.key)

    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(response.headers.get('vary')).toContain('Authorization')
    expect(await response.json()).toMatchObject({ name: 'bob', url })
  })

  test("without a key of its account, a private agent's card gets the same response as a missing agent's", async () => {
    await grid.acme.agent('gone', { visibility: 'public' })
    await deleteAgent(grid.acme.store, 'gone')
    for (const key of [undefined, grid.eve.key]) {
      const missing = await answerTo('/a2a/v1/agents/nobody', key)

      expect(missing).toMatchObject({ status: 404, vary: expect.stringContaining('Authorization') })
      expect(await answerTo('/a2a/v1/agents/bob', key)).toEqual(missing)
      expect(await answerTo('/a2a/v1/agents/gone', key)).toEqual(missing)
      expect(await answerTo('/a2a/v1/agents/No%20Alias', key)).toEqual(missing)
    }
  })

  test.each(['bob', 'nobody'])(
    'a card request with a refused key gets 401, whether or not there is an agent @%s',
    async (alias) => {
      const response = await get(`/a2a/v1/agents/${alias}`, 'nonsense')

      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="agent-grid", error="invalid_token"')
      expect((await get(`/a2a/v1/agents/${alias}`, grid.acme.adminKey)).status).toBe(401)
    },
  )
})

test('a public agent of an unclaimed account is visible only within its account', async () => {
  await publish()
  await rows(grid, "UPDATE accounts SET state = 'provisional' WHERE id = ?", [grid.acme.id])

  expect((await get('/a2a/v1/agents/bob')).status).toBe(404)
  expect((await get('/a2a/v1/agents/bob', grid.eve.key)).status).toBe(404)
  expect((await get('/a2a/v1/agents/bob', grid.alice.key)).status).toBe(200)
})
