/** Paused conversations, on pages and on the command line. docs/conversations.md, "Conversations that run away". */
import { beforeEach, expect, test } from 'vitest'
import type { StoreCommand } from '../../../src/cli/command.ts'
import { findCommand } from '../../../src/cli/commands.ts'
import { rows } from '../../support/database.ts'
import { echo, pausesOf, send } from '../../support/echoes.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'

let grid: TestGrid
let path: string
beforeEach(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}`
  await send(grid, grid.alice, '@bob')
})

test('Attention names agents that keep answering each other', async () => {
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  await echo(grid, [grid.bob, grid.alice], { most: 29 })
  expect((await ann.open(`${path}/attention`)).text).not.toContain('keep answering')

  await echo(grid, [grid.alice, grid.bob].reverse(), { most: 1, again: true })
  await echo(grid, [grid.alice], { most: 1, again: true, to: '@bob' })

  expect((await ann.open(`${path}/attention`)).text).toMatch(
    /@alice and @bob keep answering each other 3\d turns in an hour with no message/,
  )
})

test('an admin resumes a paused conversation on a page, and a viewer cannot open the page', async () => {
  await echo(grid, [grid.bob, grid.alice], {})
  const [{ key }] = await pausesOf(grid)
  const viewer = await signedInMember(grid, grid.acme, 'viewer')
  expect((await viewer.open(`${path}/attention`)).text).not.toContain('is paused')

  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const after = await ann.submit(`${path}/home`, {}, `${path}/conversations/${encodeURIComponent(key)}/resume`)

  expect(after.at).toBe(`${path}/home?done=resumed`)
  expect(after.text).toContain('The conversation continues.')
  expect(after.text).not.toMatch(/is paused|keep answering/)
  expect((await ann.open(`${path}/activity`)).text).toMatch(/Resumed the conversation of @alice ?, @bob/)
  expect((await echo(grid, [grid.bob, grid.alice], { most: 10, again: true })).refused).toBeUndefined()
})

test("admins set the account's conversation limits, and mark an agent as automated", async () => {
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const settings = `${path}/settings/account/turns`

  const refused = await ann.submit(settings, { warn: 'ten', perHour: '20', hops: '0' })
  expect(refused.text).toContain('A limit is a whole number from 0 (no limit) to 1,000,000.')
  await ann.submit(settings, { warn: '10', perHour: '20', hops: '0' })
  expect(await grid.acme.store.read.turns.limits()).toEqual({ warn: 10, perHour: 20, hops: 0 })
  const { turns, refused: paused } = await echo(grid, [grid.bob, grid.alice], {})
  expect([turns, paused.code]).toEqual([20, 'conversation_paused'])

  const page = await ann.submit(`${path}/agents/bob/settings`, {}, `${path}/agents/bob/automated`)
  expect(page.text).toContain('This agent is marked as automated, and exempt.')
  expect((await echo(grid, [grid.bob, grid.alice], { most: 60, again: true })).refused).toBeUndefined()
  expect(await tools()).toEqual(['set_turn_limits invalid_input', 'set_turn_limits ok', 'set_automated ok'])
})

test('the command line lists and resumes paused conversations, sets limits and marks agents', async () => {
  const account = grid.acme.id
  expect(await run('set-turn-limits', { account, 'per-hour': '20' })).toEqual({ warn: 30, per_hour: 20, hops: 64 })
  await expect(run('set-turn-limits', { account, warn: 'x' })).rejects.toMatchObject({ code: 'invalid_input' })
  await echo(grid, [grid.bob, grid.alice], {})

  const listed = await run('list-paused-conversations', { account })
  const [conversation] = listed.conversations as { conversation_id: string }[]
  expect(listed.conversations).toMatchObject([{ agents: ['@alice', '@bob'], turns: 20 }])
  expect(command('list-paused-conversations').print(listed)).toContain('@alice @bob')
  const resume = () => run('resume-conversation', { account, conversation: conversation.conversation_id })
  const resumed = await resume()
  expect(command('resume-conversation').print(resumed)).toBe('The conversation of @alice, @bob is resumed.')
  await expect(resume()).rejects.toMatchObject({ code: 'conversation_not_found' })
  expect(await run('set-automated', { account, agent: 'bob' })).toEqual({ alias: '@bob', automated: true })
  expect(await run('set-automated', { account, agent: 'bob', automated: 'no' })).toMatchObject({ automated: false })
  expect(await tools()).toEqual([
    'set-turn-limits ok',
    'set-turn-limits invalid_input',
    'resume-conversation ok',
    'resume-conversation conversation_not_found',
    'set-automated ok',
    'set-automated ok',
  ])
})

const command = (name: string) => findCommand(name) as StoreCommand
const run = (name: string, args: Record<string, string>) => command(name).run(grid.store, args)

/** Returns the tools and outcomes in Acme's activity log. */
async function tools(): Promise<string[]> {
  const sql = 'SELECT tool, outcome FROM activity WHERE account_id = ? ORDER BY n'
  return (await rows(grid, sql, [grid.acme.id])).map(({ tool, outcome }) => `${tool} ${outcome}`)
}
