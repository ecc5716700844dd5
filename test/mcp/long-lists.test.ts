/** No list exceeds its maximum size, whatever an account's descriptions and names contain. */
import { beforeEach, expect, test } from 'vitest'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import type { Connection } from '../../src/listen.ts'
import { addCrowd } from '../support/crowd.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, gridPath, mcp, wireRequest } from '../support/mcp.ts'
import { waitFor } from '../support/wait-for.ts'

/** The maximum size of a page's text, with some room for brackets. */
const pageBytes = 30_000

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('200 public agents with 200 skills each are listed once, in pages of about 32 kB', async () => {
  const crowd = await addCrowd(grid.store, grid.evil.id, { agents: 200, skills: 200 })
  const pages = await pagesOf('list_agents', { public: true })

  expect(pages.flat().map(({ alias }) => alias)).toEqual(crowd.aliases)
  expect(pages.every((page) => JSON.stringify(page).length <= pageBytes)).toBe(true)
  expect(pages.length).toBeLessThan(20)
  const [{ skills, skills_left_out }] = pages[0]
  expect([skills.length, skills_left_out]).toEqual([10, 190])
  expect(skills[0]).toEqual({ name: 'skill-1000', description: `${'x'.repeat(99)}…` })
})

test('an agent with many skills is listed with those that match the search', async () => {
  await addCrowd(grid.store, grid.evil.id, { agents: 3, skills: 200 })
  const { text } = await callTool(grid, grid.alice.key, 'list_agents', { public: true, search: 'SKILL-1177' })

  expect(text.map(({ skills }: Entry) => skills[0].name)).toEqual(['skill-1177', 'skill-1177', 'skill-1177'])
})

test("lists of the account's own agents, channels and skills have pages too", async () => {
  const { aliases, skills } = await addCrowd(grid.store, grid.acme.id, { agents: 200, skills: 200 })
  for (let n = 10; n < 25; n++) await createChannel(grid.acme.store, { name: `c-${n}`, members: ['alice', ...aliases] })

  const listed = {
    agents: await pagesOf('list_agents', {}),
    channels: await pagesOf('list_channels', {}),
    skills: await pagesOf('list_skills', {}),
    ofAgent: await pagesOf('list_skills', { agent: aliases[0] }),
  }

  expect(listed.agents.flat().map(({ alias }) => alias)).toEqual(['@bob', ...aliases])
  expect(listed.channels.flat().map(({ name }) => name)).toEqual(Array.from({ length: 15 }, (_, n) => `#c-${10 + n}`))
  expect(listed.channels.flat().every(({ members }) => members.length === 201)).toBe(true)
  expect(listed.channels[0][0].members.slice(0, 2)).toEqual(['@alice', '@crowd-1000'])
  expect(listed.skills.flat().map(({ name }) => name)).toEqual(skills)
  expect(listed.ofAgent.flat().map(({ name }) => name)).toEqual(skills)
  for (const pages of Object.values(listed)) {
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.every((page) => JSON.stringify(page).length <= pageBytes)).toBe(true)
  }
})

test('resources contain the first page of a list', async () => {
  await addCrowd(grid.store, grid.acme.id, { agents: 200, skills: 200 })
  const { body } = await mcp(grid, grid.alice.key, 'resources/read', { uri: 'grid://agents' })

  expect(body.result.contents[0].text).toBe(JSON.stringify((await callTool(grid, grid.alice.key, 'list_agents')).whole))
  expect(body.result.contents[0].text.length).toBeLessThanOrEqual(pageBytes)
})

test('a credential may have 6 lists at a time, regardless of other credentials', async () => {
  const { lists } = grid.store.waiting
  const keys = [grid.alice.key, grid.acme.adminKey]
  const tools = ['list_agents', 'admin_list_agents']
  for (const [n, key] of keys.entries()) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => callTool(grid, key, tools[n])))
    const refused = answers.filter(({ code }) => code !== undefined)

    expect(refused.map(({ code }) => code)).toEqual(['rate_limit_exceeded', 'rate_limit_exceeded'])
    expect(refused[0].message).toBe(
      'This key may have 6 lists at a time. Call again once one of them has been answered.',
    )
    expect(lists.count).toBe(0)
  }
  const others = [grid.alice, grid.bob, grid.eve].flatMap(({ key }) => Array(6).fill(key))
  const answers = await Promise.all(others.map((key) => callTool(grid, key, 'list_agents')))
  expect(answers.map(({ code }) => code)).toEqual(Array(18).fill(undefined))
})

test("an account's unsent lists have a memory limit, regardless of other accounts", async () => {
  const { lists, answerBytes: { ofAccounts, ofKeys } } = grid.store.waiting
  const ends: (() => void)[] = []
  /** Calls a list tool. The client reads the response only when the function in `ends` is called. */
  const list = async (key: string, tool = 'admin_list_agents') => {
    const connection: Connection = {
      remoteAddress: '203.0.113.7',
      answerSent: () => new Promise<void>((resolve) => ends.push(resolve)),
    }
    const { headers, body } = wireRequest('legacy', 'tools/call', { name: tool, arguments: {} })
    const init = {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    }
    const response = await grid.app.request(new URL(gridPath, grid.deps.config.baseUrl).href, init, connection)
    return (await response.text()).match(/This (key|account) may have [\d,]+ (bytes|lists)/)?.[0] ?? 'made'
  }
  const keys = [grid.acme.adminKey]
  while (keys.length < 4) keys.push((await createAdminKey(grid.acme.store, `key ${keys.length}`)).adminKey)
  const answers: string[] = []
  for (const key of keys) {
    for (let n = 0; n < 5; n++) answers.push(await list(key))
  }

  const full = 'This account may have 16,000,000 bytes'
  expect(answers).toEqual([...Array(16).fill('made'), ...Array(4).fill(full)])
  expect([lists.count, ofAccounts.held, ofKeys.held]).toEqual([16, 16_000_000, 16_000_000])
  expect(await list(grid.alice.key, 'list_agents')).toBe(full)
  expect(await list(grid.evil.adminKey)).toBe('made')
  for (const end of ends.splice(0)) end()
  await waitFor('the release', () => lists.count === 0)
  expect([await list(grid.alice.key, 'list_agents'), ofAccounts.held, ofKeys.held]).toEqual(['made', 29_500, 29_500])
})

interface Entry {
  alias: string
  name: string
  members: string[]
  skills: { name: string; description: string }[]
  skills_left_out?: number
}

/** Returns all pages of alice's list, each requested with the previous page's cursor. */
async function pagesOf(tool: string, args: Record<string, unknown>): Promise<Entry[][]> {
  const pages: Entry[][] = []
  let cursor: string | undefined
  do {
    const { text, more } = await callTool(grid, grid.alice.key, tool, { ...args, cursor })
    cursor = more?.cursor
    const note = `There are more results. Call ${tool} with the same arguments and this cursor.`
    expect(more).toEqual(cursor && { cursor, has_more: true, note })
    pages.push(text)
  } while (cursor !== undefined)
  return pages
}
