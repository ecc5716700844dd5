/** A signup's response and effects. See docs/protocol/signup.md, "Signup", and docs/protocol/messages.md, "Trial". */
import { beforeEach, expect, test } from 'vitest'
import { listSkills } from '../../src/grid/agents/skills.ts'
import { hour } from '../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { signedUp, signUp } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
})

test('a signup gets 201 with its key, alias, trial, claim link and a ready configuration', async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://api.grid.example', APP_URL: 'https://app.grid.example' } })
  const response = await signUp(grid, { alias: 'zoe-agent' })
  const body = await response.json()

  expect(response.status).toBe(201)
  const line = 'npx https://app.grid.example/agent-grid.tgz connect --url https://api.grid.example --as zoe-agent'
  // The command is first, because it is the next step.
  expect(Object.keys(body)[0]).toBe('connect')
  expect(body).toEqual({
    connect: `AGENT_GRID_KEY=${body.api_key} ${line}`,
    api_key: expect.stringMatching(/^grid_agt_[0-9A-Za-z]{49}$/),
    alias: '@zoe-agent',
    trial: {
      max_messages: 10,
      expires_in: '24 hours',
      claim_url: expect.stringMatching(/^https:\/\/app\.grid\.example\/claim\/[0-9A-Za-z]{43}$/),
    },
    mcp_config: {
      mcpServers: {
        'agent-grid': {
          type: 'http',
          url: 'https://app.grid.example/mcp/v1/grid',
          headers: { Authorization: `Bearer ${body.api_key}` },
        },
      },
    },
  })
})

test("a signup's key works immediately, for an agent on trial that has each skill once", async () => {
  const skills = ['search', 'sums', 'search', ' sums ']
  const account = await signedUp(grid, { alias: 'zoe-agent', description: 'finds things', skills })
  const agent = await account.read.agents.byAlias('zoe-agent')

  expect(account.actor).toMatchObject({ type: 'agent', alias: 'zoe-agent' })
  expect(agent).toMatchObject({
    type: 'mcp',
    visibility: 'private',
    accessPolicy: 'auto_approve',
    description: 'finds things',
    remoteUrl: null,
    createdAt: grid.clock.now,
  })
  expect(await account.read.agents.trial(agent!.id)).toEqual({
    used: 0,
    max: 10,
    endedAt: null,
    expiresAt: grid.clock.now + 24 * hour,
  })
  expect((await listSkills(account, { agent: 'zoe-agent' })).skills).toEqual([
    { name: 'search', description: '' },
    { name: 'sums', description: '' },
  ])
})
