/** `list_agents` finds the same agents with and without the index. See docs/security.md, "Account isolation". */
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { listAgents } from '../../../src/grid/agents/find-agent.ts'
import { setSkills } from '../../../src/grid/agents/skills.ts'
import { trigramQuery } from '../../../src/store/account/agent-columns.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'

/** Pieces of texts and queries, chosen so that many searches have results. */
const pieces = [
  'Plan',
  'NING',
  'billing',
  ' ',
  '-',
  '"',
  "'",
  '*',
  '%',
  '_',
  'OR',
  'Ä',
  'ä',
  'ß',
  'SS',
  'é',
  'e\u0301',
  'İ',
  'i',
  '日本',
  '語',
  '🙂',
  '👩‍🚀',
  'x',
  'aaaa',
]
const text = (max: number) => fc.array(fc.constantFrom(...pieces), { maxLength: max }).map((parts) => parts.join(''))
const name = fc.stringMatching(/^[a-z]{3,6}$/)

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('list_agents finds the same agents in the same order with and without the index, for any texts', async () => {
    let n = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ alias: name, description: text(8), skill: fc.option(text(4)) }), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.array(text(4), { minLength: 4, maxLength: 12 }),
        async (agents, searches) => {
          for (const { alias, description, skill } of agents) {
            const skills = skill && skill.trim() !== '' ? [{ name: `s ${skill}` }] : []
            await grid.acme.agent(`${alias}-${n++}`, { description, skills })
          }
          for (const search of searches) await expectSame(search)
        },
      ),
      { numRuns: 12 },
    )
  })

  test("a search immediately finds an agent's new texts and skills, and no longer finds a deleted agent", async () => {
    const { id, alias } = await grid.acme.agent('carol', { description: 'translates poems' })
    const carol = grid.store.account(grid.acme.id, { ...actor(), agentId: id, alias })
    const steps: [what: () => Promise<unknown>, found: string[], search: string][] = [
      [() => Promise.resolve(), ['@carol'], 'LATES poem'],
      [() => updateAgent(grid.acme.store, { agent: 'carol', description: 'writes novels' }), [], 'poem'],
      [() => Promise.resolve(), ['@carol'], 'novel'],
      [() => Promise.resolve(), ['@carol'], 'aro'],
      [() => setSkills(carol, { skills: [{ name: 'Needlework' }] }), ['@carol'], 'needle'],
      [() => setSkills(carol, { skills: [] }), [], 'needle'],
      [() => deleteAgent(grid.acme.store, 'carol'), [], 'novel'],
    ]
    for (const [change, found, search] of steps) {
      await change()
      expect(await expectSame(search)).toEqual(found)
    }
  })

  test('the search index reveals nothing about another account, and has one row per agent', async () => {
    await grid.evil.agent('mallory', { description: 'a needle in another account' })
    const { read } = grid.acme.store
    expect(await read.agentSearch.candidates('needle')).toEqual([])
    expect(await grid.evil.store.read.agentSearch.candidates('needle')).toHaveLength(1)
    // The index terms include the account, so a query cannot match another account's rows.
    const found = (account: string) =>
      rows(grid, 'SELECT rowid FROM agent_search WHERE agent_search MATCH ?', [trigramQuery(account, 'needle')!])
    expect([(await found(grid.acme.id)).length, (await found(grid.evil.id)).length]).toEqual([0, 1])

    for (let i = 0; i < 20; i++) await updateAgent(grid.evil.store, { agent: 'mallory', description: `needle ${i}` })
    const count = async (table: string) =>
      (await rows(grid, `SELECT count(*) AS n FROM ${table} WHERE account_id = ?`, [grid.evil.id]))[0].n
    expect(await count('agent_numbers')).toBe(await count('agents'))
    expect(await found(grid.evil.id)).toHaveLength(1)
  })
})

/** Searches with and without the index, and checks that both results are equal. Returns the aliases that were found. */
async function expectSame(search: string): Promise<string[]> {
  const account = grid.store.account(grid.acme.id, actor())
  const { agentSearch } = account.read
  const noIndex = { ...agentSearch, candidates: () => Promise.resolve(undefined) }
  const without = { ...account, read: Object.create(account.read, { agentSearch: { value: noIndex } }) }
  const [fast, plain] = [await all(account, search), await all(without, search)]
  expect(fast, `search for ${JSON.stringify(search)}`).toEqual(plain)
  return fast.map(({ alias }) => alias)
}

async function all(account: Parameters<typeof listAgents>[0], search: string) {
  const found = []
  let cursor: string | undefined
  do {
    const page = await listAgents(account, { search, cursor })
    found.push(...page.agents)
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

function actor() {
  return { type: 'agent', agentId: grid.alice.id, alias: 'alice', credentialId: 'test' } as const
}
