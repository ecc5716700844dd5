/** Agent searches that find nothing do not block the grid, however many agents there are. */
import { beforeEach, expect, test } from 'vitest'
import { addCrowd } from '../support/crowd.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { turn } from '../support/wait-for.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('an agent search checks 1,000 agents per call, lets other work run, and continues with its cursor', async () => {
  const { aliases } = await addCrowd(grid.store, grid.evil.id, { agents: 2_500, skills: 40 })
  const search = (agent: TestAgent, args: object) => searchAll(agent, { ...args, public: true })

  const { calls } = await search(grid.alice, { search: 'no such thing' })
  expect(calls.map(({ found }) => found)).toEqual([[], [], []])
  expect(calls.map(({ cursor }) => cursor)).toEqual([aliases[999].slice(1), aliases[1_999].slice(1), undefined])
  expect(Math.min(...calls.slice(0, 2).map(({ turns }) => turns))).toBeGreaterThan(6)

  const some = await search(grid.alice, { search: 'D-34' })
  expect(some.calls.flatMap(({ found }) => found)).toEqual(aliases.filter((alias) => alias.includes('d-34')))
})

test('a search by three or more letters finds an agent of the account among 2,500 others in one call', async () => {
  const { aliases } = await addCrowd(grid.store, grid.acme.id, { agents: 2_500, skills: 20 })
  await grid.acme.agent('zoe', { skills: [{ name: 'needle' }] })

  const { calls } = await searchAll(grid.alice, { search: 'ZO' })
  const byIndex = await searchAll(grid.alice, { search: 'NEEDLE' })

  // The first call checks @bob and 999 of the others, because the caller is not among the searched agents.
  expect(calls.map(({ cursor }) => cursor)).toEqual([aliases[998].slice(1), aliases[1_998].slice(1), undefined])
  expect(calls.flatMap(({ found }) => found)).toEqual(['@zoe'])
  expect(byIndex.calls).toMatchObject([{ found: ['@zoe'], cursor: undefined }])
  expect(Math.min(...calls.slice(0, 2).map(({ turns }) => turns))).toBeGreaterThan(6)
})

test('no cursor contains the name of a public agent that the caller cannot find', async () => {
  await addCrowd(grid.store, grid.evil.id, { agents: 2_500, skills: 1 })
  await grid.acme.agent('zoe', { visibility: 'public' })

  const { calls } = await searchAll(grid.eve, { public: true, search: 'zoe' })

  expect(calls.map(({ cursor }) => cursor)).toEqual([' 1000', ' 2000', undefined])
  expect(calls.flatMap(({ found }) => found)).toEqual(['@zoe'])
})

/** Returns all pages of a search, each with the number of turns in which other work could run. */
async function searchAll(agent: TestAgent, args: object) {
  const calls: { found: string[]; cursor?: string; turns: number }[] = []
  let turns = 0
  let isSearching = true
  const others = (async () => {
    for (; isSearching; turns++) await turn()
  })()
  let cursor: string | undefined
  do {
    const before = turns
    const { text, more } = await callTool(grid, agent.key, 'list_agents', { ...args, cursor })
    cursor = more?.cursor
    calls.push({ found: text.map(({ alias }: { alias: string }) => alias), cursor, turns: turns - before })
  } while (cursor !== undefined)
  isSearching = false
  await others
  return { calls }
}
