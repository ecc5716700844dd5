/** `agent-grid list-guardrails`, `change-guardrail` and `delete-guardrail`. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readArguments, type StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/help.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { make, makeJudge, token } from '../support/guardrails.ts'
import { activityOf } from '../support/roles.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

const command = (name: string) => findCommand(name) as StoreCommand
const run = (name: string, args: Record<string, string> = {}) =>
  command(name).run(grid.store, { account: grid.acme.id, ...args })
const sealed = async () =>
  (await rows(grid, 'SELECT encrypted_token FROM guardrails WHERE account_id = ?', [grid.acme.id]))[0].encrypted_token

test('list-guardrails lists those of one account by name, without their tokens', async () => {
  const id = await makeJudge(grid.acme)
  await make(grid.acme, { name: 'a', action: 'flag', enabled: false })
  await make(grid.evil, { name: 'foreign' })

  const listed = await run('list-guardrails')

  expect(listed).toMatchObject({ guardrails: [{ name: 'a' }, { guardrail_id: id, name: 'judge' }] })
  expect((listed.guardrails as unknown[])[1]).toEqual({
    guardrail_id: id,
    name: 'judge',
    provider: 'llm-judge',
    config: { baseUrl: 'https://l.example', model: 'm', policy: 'p' },
    action: 'block',
    on_failure: 'closed',
    enabled: true,
    agents: 0,
    created_at: '2026-11-21T09:00:00.000Z',
  })
  expect(command('list-guardrails').print(listed).split('\n')[1]).toMatch(/^a +\S+ +pii +flag +open +off +0$/)
  expect(command('list-guardrails').print({ guardrails: [] })).toBe('The account has no guardrails.')
})

test('change-guardrail changes what is given, by name or id, and records it without the token', async () => {
  const id = await makeJudge(grid.acme)
  const first = await sealed()

  const changed = await run('change-guardrail', { guardrail: 'judge', name: 'the judge', action: 'flag' })
  expect(changed).toEqual({
    guardrail_id: id,
    name: 'the judge',
    provider: 'llm-judge',
    config: { baseUrl: 'https://l.example', model: 'm', policy: 'p' },
    action: 'flag',
    on_failure: 'closed',
    enabled: true,
  })
  expect(command('change-guardrail').print(changed)).toMatch(/^Guardrail +the judge\nID [^]*\nState +on$/)
  expect(await sealed()).toBe(first)
  const config = '{"baseUrl":"https://other.example","model":"m","policy":"p"}'
  await expect(run('change-guardrail', { guardrail: id, config })).rejects.toMatchObject({ code: 'invalid_input' })
  await run('change-guardrail', { guardrail: id, config, token: `${token}-2` })
  expect(await sealed()).not.toBe(first)
  await expect(run('change-guardrail', { guardrail: id, 'remove-token': 'yes' }))
    .rejects.toMatchObject({ code: 'invalid_input' })
  await run('change-guardrail', { guardrail: id, 'remove-token': 'yes', state: 'off', 'on-failure': 'open' })

  expect(await sealed()).toBe(null)
  expect(await grid.acme.store.read.guardrails.byId(id)).toMatchObject({ enabled: false, onFailure: 'open' })
  const log = await activityOf(grid)
  expect(log.map(({ tool, outcome, by }) => `${tool} ${outcome} ${by}`)).toEqual([
    'change-guardrail ok system null',
    'change-guardrail invalid_input system null',
    'change-guardrail ok system null',
    'change-guardrail invalid_input system null',
    'change-guardrail ok system null',
  ])
  expect(log[2].input).toMatchObject({ guardrail: id, token: '…' })
  expect(JSON.stringify(log) + grid.logs.join()).not.toContain(token)
})

test.each<[string, Record<string, string>, string]>([
  ['nothing to change', {}, 'change-guardrail needs something to change.'],
  ['a token to set and to remove', { token, 'remove-token': 'yes' }, 'Give --token or --remove-token, not both.'],
])('change-guardrail with %s is a usage error', async (_, args, message) => {
  await makeJudge(grid.acme)

  await expect(run('change-guardrail', { guardrail: 'judge', ...args })).rejects.toMatchObject({
    code: 'usage',
    message,
  })
})

test('change-guardrail takes the token from the environment', () => {
  const words = ['--account', 'a', '--guardrail', 'g']

  expect(readArguments(command('change-guardrail'), words, { GUARDRAIL_TOKEN: 's' }).args).toMatchObject({ token: 's' })
})

test('delete-guardrail deletes one of the account, and no other', async () => {
  const id = await makeJudge(grid.acme)
  const foreign = await make(grid.evil, { name: 'foreign' })

  const deleted = await run('delete-guardrail', { guardrail: 'judge' })

  expect(deleted).toEqual({ deleted: true, guardrail_id: id })
  expect(command('delete-guardrail').print(deleted)).toBe(`The guardrail ${id} is deleted.`)
  for (const guardrail of [id, 'judge', foreign, 'foreign']) {
    await expect(run('delete-guardrail', { guardrail })).rejects.toMatchObject({ code: 'guardrail_not_found' })
  }
  expect(await grid.evil.store.read.guardrails.byId(foreign)).toMatchObject({ name: 'foreign' })
})
