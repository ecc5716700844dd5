/** Skill pages. */
import { beforeEach, expect, test } from 'vitest'
import { createSkill, setAgentSkills } from '../../../src/grid/agents/skills.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let skills: string
beforeEach(async () => {
  grid = await testGrid()
  skills = `/accounts/${grid.acme.id}/skills`
})

const make = async (name: string, description = '', account = grid.acme) =>
  (await createSkill(account.store, { name, description })).id
const give = (agent: string, ...names: string[]) =>
  setAgentSkills(grid.acme.store, { agent, skills: names.map((name) => ({ name })) })
const names = async () => (await grid.acme.store.read.skills.list()).map(({ name }) => name)

test('a new skill is in the list of skills, with the number of its active agents', async () => {
  const ann = await signedInWithRole(grid, 'admin')

  const page = await ann.submit(`${skills}/new`, { name: ' proof reading ', description: 'of English' })
  await give('alice', 'proof reading')
  await give('bob', 'proof reading')

  expect(page.at).toMatch(/\/skills\/[0-9a-f-]{36}\?done=skill-created$/)
  expect(page.text).toContain('No agent has this skill')
  expect((await ann.open(skills)).text).toContain('proof reading of English 2')
  const one = await ann.open(page.at)
  for (const alias of ['alice', 'bob']) expect(one.html).toContain(`href="/accounts/${grid.acme.id}/agents/${alias}"`)
  expect(await activityOf(grid)).toEqual([{
    tool: 'create_skill',
    outcome: 'ok',
    by: 'user session',
    input: { name: ' proof reading ', description: 'of English' },
  }])
})

test.each([
  ['no name', { name: '  ' }, 400, 'The name of a skill must have 1 to 64 characters'],
  ['a long name', { name: 'x'.repeat(65) }, 400, 'The name of a skill must have 1 to 64 characters'],
  ['a long description', { name: 'new', description: 'x'.repeat(501) }, 400, 'at most 500 characters'],
  ['a name that is taken', { name: 'taken' }, 409, 'The account has a skill taken'],
])(
  'a skill with %s causes an error at its field, when it is created and when it is changed',
  async (_, fields, status, text) => {
    await make('taken')
    const id = await make('other', 'kept')
    const ann = await signedInWithRole(grid, 'owner')

    for (const path of [`${skills}/new`, `${skills}/${id}`]) {
      const page = await ann.submit(path, { description: 'typed', ...fields })
      expect(page.status).toBe(status)
      expect(page.text).toContain(text)
      expect(page.html).toContain(`value="${fields.name}"`)
      expect(page.html).toMatch(/class="error"/)
    }
    expect(await names()).toEqual(['other', 'taken'])
    expect((await activityOf(grid)).map(({ outcome }) => outcome)).not.toContain('ok')
  },
)

test('the list of skills is sorted regardless of case', async () => {
  for (const name of ['writing', 'SQL', 'analysis']) await make(name)

  expect((await (await signedInWithRole(grid, 'owner')).open(skills)).text).toMatch(/analysis .*SQL .*writing/)
})

test('renaming a skill renames it for every agent that has it', async () => {
  const id = await make('proof reading')
  await give('alice', 'proof reading')
  const ann = await signedInWithRole(grid, 'owner')

  const page = await ann.submit(`${skills}/${id}`, { name: 'proofreading', description: 'of English' })

  expect(page.at).toBe(`${skills}/${id}?done=saved`)
  expect(await grid.acme.store.read.skills.ofAgent(grid.alice.id))
    .toMatchObject([{ name: 'proofreading', description: 'of English' }])
  expect(await activityOf(grid)).toMatchObject([{ tool: 'update_skill', outcome: 'ok', input: { id } }])
})

test('two skills cannot get the same name, even concurrently', async () => {
  const ids = [await make('one'), await make('two')]
  const ann = await signedInWithRole(grid, 'owner')

  const pages = await Promise.all([
    ...ids.map((id) => postWithToken(ann, `${skills}/${id}`, { name: 'same' })),
    postWithToken(ann, `${skills}/new`, { name: 'same' }),
  ])

  expect(pages.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect((await names()).filter((name) => name === 'same')).toHaveLength(1)
})

test('deleting a skill removes it from its agents, which keep their other skills', async () => {
  const id = await make('one')
  await give('alice', 'one', 'two')
  const ann = await signedInWithRole(grid, 'owner')

  expect((await ann.open(`${skills}/${id}`)).text).toContain('1 agent will lose it')
  const page = await ann.submit(`${skills}/${id}`, {}, `${skills}/${id}/delete`)

  expect(page.at).toBe(`${skills}?done=skill-deleted`)
  expect(await names()).toEqual(['two'])
  expect(await grid.acme.store.read.skills.ofAgent(grid.alice.id)).toMatchObject([{ name: 'two' }])
  expect((await ann.open(`${skills}/${id}`)).status).toBe(404)
  expect((await postWithToken(ann, `${skills}/${id}/delete`)).status).toBe(404)
  expect((await activityOf(grid)).map(({ tool, outcome }) => `${tool} ${outcome}`))
    .toEqual(['delete_skill ok', 'delete_skill skill_not_found'])
})
