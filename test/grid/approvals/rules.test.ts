/** Approval rules and who may change them. See docs/protocol/guardrails.md, "Approval rules". */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { allowService, approvalConsent } from '../../../src/grid/guardrails/consents.ts'
import type { RuleInput } from '../../../src/grid/approvals/rule-input.ts'
import {
  createApprovalRule,
  deleteApprovalRule,
  listApprovalRules,
  updateApprovalRule,
} from '../../../src/grid/approvals/rules.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
/** The account, opened with an admin key. */
let acme: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  const actor = { type: 'admin', credentialId: 'test', credentialKind: 'admin_key', userId: null } as const
  acme = grid.store.account(grid.acme.id, actor)
})
afterEach(() => grid.close())

const make = (input: Partial<RuleInput> = {}) =>
  createApprovalRule(acme, { name: 'rule', from: '@alice', to: '@bob', ...input })
const change = (id: string, input: Partial<RuleInput>) => updateApprovalRule(acme, id, input)

test('rules are listed with names, in order of creation', async () => {
  const { person } = await member(grid, { name: 'Ben' })
  await createChannel(acme, { name: 'ops', members: ['alice'] })

  await make({ name: 'b', to: '#ops', deciders: [person.email], expiresInHours: 1, isRisky: true })
  await make({ name: 'a', from: 'any', condition: 'parts', mediaType: 'IMAGE/', minBytes: 5 })

  expect(await listApprovalRules(acme)).toMatchObject([
    {
      ...{
        name: 'b',
        from: '@alice',
        to: '#ops',
        condition: 'always',
        expiresInHours: 1,
        isRisky: true,
        enabled: true,
      },
      deciders: [{ id: person.id, name: 'Ben' }],
    },
    { name: 'a', from: 'any', to: '@bob', condition: 'parts', mediaType: 'image/', minBytes: 5, deciders: [] },
  ])
})

test('rules show agents of other accounts as "external", and still accept the former name "strangers"', async () => {
  await make({ name: 'old', from: 'strangers', to: 'any' })
  await make({ name: 'new', from: 'any', to: 'external' })

  expect(await listApprovalRules(acme)).toMatchObject([
    { name: 'old', from: 'external', to: 'any' },
    { name: 'new', from: 'any', to: 'external' },
  ])
})

test.each<[string, Partial<RuleInput>, string]>([
  ['an unknown agent', { from: '@nobody-here' }, 'agent_not_found'],
  ['an agent of another account', { to: '@eve' }, 'agent_not_found'],
  ['a word that is no kind', { from: 'alice' }, 'invalid_input'],
  ['a channel as sender', { from: '#ops' }, 'invalid_input'],
  ['an unknown channel', { to: '#none' }, 'channel_not_found'],
  ['an unknown guardrail', { condition: 'finding', guardrail: 'none' }, 'guardrail_not_found'],
  ['a media type with a space', { condition: 'parts', mediaType: 'image png' }, 'invalid_input'],
  ['a decider who is no member', { deciders: ['eve@example.com'] }, 'invalid_input'],
  ['an empty name', { name: ' ' }, 'invalid_input'],
])('a rule with %s is refused', async (_, input, code) => {
  await expect(make(input)).rejects.toMatchObject({ code })
})

test('a viewer cannot be a decider, and two rules cannot have the same name', async () => {
  const { person } = await member(grid, { role: 'viewer' })
  await make()

  await expect(make({ name: 'other', deciders: [person.id] })).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(make()).rejects.toMatchObject({ code: 'invalid_input', details: { field: 'name' } })
})

test("an account's 51st rule is refused", async () => {
  for (let n = 0; n < 50; n++) await make({ name: `rule ${n}` })

  await expect(make({ name: 'one more' })).rejects.toMatchObject({ code: 'invalid_input' })
})

test('of two rules created at the same time, the 50th is accepted and the 51st is refused', async () => {
  for (let n = 0; n < 49; n++) await make({ name: `rule ${n}` })

  const made = await Promise.allSettled([make({ name: 'one' }), make({ name: 'other' })])

  expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await listApprovalRules(acme)).toHaveLength(50)
})

test('an admin key can neither change nor delete a rule, not even to make it stricter', async () => {
  const { id } = await make()

  await expect(change(id, { from: 'any' })).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(deleteApprovalRule(acme, id)).rejects.toMatchObject({ code: 'not_allowed' })
  expect(await listApprovalRules(acme)).toMatchObject([{ from: '@alice' }])
})

describe('a user in the browser', () => {
  test('an admin can change, disable and delete a rule in the browser with a recent confirmation', async () => {
    const { id } = await make()
    const { account } = await member(grid, { role: 'admin' })

    expect(await updateApprovalRule(account, id, { expiresInHours: 25, enabled: false })).toMatchObject({
      expiresInHours: 25,
      enabled: false,
    })
    grid.clock.now += 11 * minute
    await expect(updateApprovalRule(account, id, { name: 'x' })).rejects.toMatchObject({
      code: 'confirmation_required',
    })
    await expect(deleteApprovalRule(account, id)).rejects.toMatchObject({ code: 'confirmation_required' })
    grid.clock.now -= 11 * minute
    await deleteApprovalRule(account, id)
    expect(await listApprovalRules(acme)).toEqual([])
  })

  test('a former admin cannot delete a rule', async () => {
    const { id } = await make()
    const { account, person } = await member(grid, { role: 'admin' })
    await acme.write([acme.change.team.setRole(person.id, 'member')])

    await expect(deleteApprovalRule(account, id)).rejects.toMatchObject({ code: 'not_allowed' })
  })

  test('a member cannot change or delete a rule', async () => {
    const { id } = await make()
    const { account } = await member(grid)

    await expect(updateApprovalRule(account, id, { name: 'x' })).rejects.toMatchObject({ code: 'not_allowed' })
    await expect(deleteApprovalRule(account, id)).rejects.toMatchObject({ code: 'not_allowed' })
  })
})

describe("a person's alias", () => {
  test("a rule can name a person's alias only with the person's consent, unless the person alone decides", async () => {
    const ann = await personWithAlias(grid, 'ann')
    const ben = await member(grid)

    await expect(make({ to: '@ann' })).rejects.toMatchObject({ code: 'consent_required', details: { field: 'to' } })
    await expect(make({ to: '@ann', deciders: [ann.person.id, ben.person.id] })).rejects.toMatchObject({
      code: 'consent_required',
    })
    await make({ name: 'own', to: '@ann', deciders: [ann.person.id] })
    await allowService(ann.account, approvalConsent)
    await make({ name: 'allowed', to: '@ann', deciders: [ben.person.id] })
  })

  test("rules for everyone do not hold a person's messages until the person consents", async () => {
    const ann = await personWithAlias(grid, 'ann')
    await make({ from: 'any', to: 'any' })
    const exempt = async () => (await acme.read.approvalRules.active())[0].exemptIds

    expect(await exempt()).toEqual([ann.personAlias.agentId])
    await allowService(ann.account, approvalConsent)
    expect(await exempt()).toEqual([])
  })

  test("a rule about a person's alias applies without consent only while that person is its only decider and can decide", async () => {
    const ann = await personWithAlias(grid, 'ann')
    const { id } = await make({ to: '@ann', deciders: [ann.person.id] })
    await member(grid, { role: 'owner' })
    const exempt = async () => (await acme.read.approvalRules.active())[0].exemptIds
    expect(await exempt()).toEqual([])

    await acme.write([acme.change.team.setRole(ann.person.id, 'viewer')])

    expect(await exempt()).toEqual([ann.personAlias.agentId])
    expect(id).toBeDefined()
  })
})

test('on connecting, an agent is told about approval rules only if they apply to it', async () => {
  const told = 'Some messages from or to you are held until a person approves them.'
  const instructions = async ({ key }: { key: string }) => {
    const { body } = await mcp(grid, key, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    return body.result.instructions as string
  }
  await make()
  const carol = await grid.acme.agent('carol')

  expect(await instructions(grid.alice)).toContain(told)
  expect(await instructions(carol)).not.toContain(told)
  await make({ name: 'all', from: 'any' })
  expect(await instructions(carol)).toContain(told)
})
