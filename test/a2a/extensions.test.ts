import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
  await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public' })
})

interface Declared {
  uri: string
  required: boolean
  params: Record<string, unknown>
}

async function declaredAt(path: string): Promise<Declared[]> {
  return (await (await grid.request(path)).json()).capabilities.extensions
}

const uri = (name: string) => `https://grid.example/a2a/ext/${name}/v1`

test("the shared endpoint has three extensions, an agent's endpoint has one, and none is required", async () => {
  const shared = await declaredAt('/a2a/v1/grid')
  const ofAgent = await declaredAt('/a2a/v1/agents/bob')

  expect(shared.map(({ uri }) => uri)).toEqual([uri('grid-routing'), uri('await-reply'), uri('idempotency')])
  expect(ofAgent.map(({ uri }) => uri)).toEqual([uri('idempotency')])
  expect([...shared, ...ofAgent].filter(({ required }) => required)).toEqual([])
  expect(shared[0].params).toMatchObject({
    field: 'message.metadata.to',
    aliasPattern: '^@?[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$',
  })
  // The params state the time limit as an ISO 8601 duration, and the description states it in words.
  expect(shared[1].params).toEqual({ waitsAtMost: 'PT30S' })
  expect(await (await grid.request(shared[1].uri)).text()).toContain('after 30 seconds at the latest')
})

test('the params of extensions contain no numbers, because signature verifiers format them differently', async () => {
  const numbers: unknown[] = []
  JSON.stringify(await declaredAt('/a2a/v1/grid'), (_, value) => {
    if (typeof value === 'number') numbers.push(value)
    return value
  })

  expect(numbers).toEqual([])
})

test('each extension has a description at its own URI, and an unknown URI gets 404', async () => {
  for (const extension of await declaredAt('/a2a/v1/grid')) {
    const text = await grid.request(extension.uri)

    expect(text.status).toBe(200)
    expect(text.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(await text.text()).toContain(extension.uri)
  }
  expect((await grid.request('/a2a/ext/constructor/v1')).status).toBe(404)
})
