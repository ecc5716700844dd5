import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, type Era, eras, sendWire, signupPath, toolResult, wireRequest } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '3' } })
})

test.each(eras)('in the %s era, the signup endpoint lists only its tool and needs no credential', async (era) => {
  const { status, body } = await sendWire(grid, undefined, wireRequest(era, 'tools/list'), signupPath)

  expect(status).toBe(200)
  expect(body.result.tools).toHaveLength(1)
  expect(body.result.tools[0]).toMatchObject({
    name: 'signup',
    inputSchema: { type: 'object', required: ['owner_email', 'alias'] },
  })
  expect(JSON.stringify(body)).not.toContain('$schema')
})

test.each(eras)('in the %s era, a signup returns the same as over REST, and its key works immediately', async (era) => {
  const signed = await signUp({ owner_email: 'zoe@example.com', alias: 'zoe-agent', skills: ['maths'] }, era)
  const { api_key: key } = signed.text

  const line = 'npx http://localhost:8787/agent-grid.tgz connect --url http://localhost:8787 --as zoe-agent'
  expect(signed.text).toEqual({
    connect: `AGENT_GRID_KEY=${key} ${line}`,
    api_key: expect.stringMatching(/^grid_agt_/),
    alias: '@zoe-agent',
    trial: { max_messages: 10, expires_in: '24 hours', claim_url: expect.stringMatching(/\/claim\//) },
    mcp_config: {
      mcpServers: {
        'agent-grid': {
          type: 'http',
          url: 'http://localhost:8787/mcp/v1/grid',
          headers: { Authorization: `Bearer ${key}` },
        },
      },
    },
  })
  expect((await callTool(grid, key, 'list_skills', { agent: 'zoe-agent' })).text).toEqual([
    { name: 'maths', description: '' },
  ])
})

test('the signup endpoint ignores the Authorization header, even an invalid one', async () => {
  const request = wireRequest('legacy', 'tools/list')

  for (const key of ['nonsense', grid.alice.key, grid.acme.adminKey]) {
    const { status, body } = await sendWire(grid, key, request, signupPath)
    expect([status, body.result.tools.length]).toEqual([200, 1])
  }
})

test.each([
  ['no alias', { owner_email: 'zoe@example.com' }, 'invalid_input'],
  ['a bad alias', { owner_email: 'zoe@example.com', alias: 'Zoe' }, 'invalid_alias'],
  ['a taken alias', { owner_email: 'zoe@example.com', alias: 'alice' }, 'alias_taken'],
  ['a bad address', { owner_email: 'zoe', alias: 'zoe' }, 'invalid_email'],
])('a signup with %s is refused with %3$s', async (_, input, code) => {
  const signed = await signUp(input)

  expect(signed.code).toBe(code)
})

test('signups over MCP and REST share a limit per address', async () => {
  const owner_email = 'zoe@example.com'
  await signUp({ owner_email, alias: 'zoe-1' })
  await grid.post('/api/v1/agentic-signup', { owner_email, alias: 'zoe-2' })
  await signUp({ owner_email, alias: 'zoe-3' })

  expect((await signUp({ owner_email, alias: 'zoe-4' })).code).toBe('signup_rate_limited')
})

async function signUp(input: Record<string, unknown>, era: Era = 'legacy') {
  const request = wireRequest(era, 'tools/call', { name: 'signup', arguments: input })
  return toolResult((await sendWire(grid, undefined, request, signupPath)).body.result, 'signup')
}
