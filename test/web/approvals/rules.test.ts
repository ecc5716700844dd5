/** Approval rules on pages without script. See docs/protocol/guardrails.md, "Approval rules". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { minute } from '../../../src/lib/time.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let ann: Person
let annsBrowser: Browser
let list: string
beforeEach(async () => {
  grid = await testGrid()
  ann = await person(grid, { role: 'admin', name: 'Ann' })
  annsBrowser = await signedIn(grid, ann)
  list = `/accounts/${grid.acme.id}/approval-rules`
})
afterEach(() => grid.close())

const rules = () => grid.acme.store.read.approvalRules.list()
const filled = { name: 'Payments', fromKind: 'any', toKind: 'external', expiresInHours: '24', enabled: 'on' }
const make = (fields: Record<string, string>) => annsBrowser.submit(`${list}/new`, { ...filled, ...fields })

test('creating, changing and deleting a rule is logged, and the list describes the rule', async () => {
  const named = { fromKind: 'one', from: 'alice', deciders: ann.id }
  const made = await make({ ...named, toKind: 'one', to: '@bob' })
  expect(made.text).toContain('The approval rule has been created.')
  expect(made.text).toContain('Messages from @alice to @bob')
  expect(made.text).toContain('Ann')
  const [{ id }] = await rules()
  const page = `${list}/${id}`

  const changed = await annsBrowser.submit(page, { ...filled, ...named, toKind: 'any', expiresInHours: '72' })
  expect(changed.text).toContain('from @alice to anyone')
  expect(await rules()).toMatchObject([{ toKind: 'any', toId: null, expiresMs: 72 * 3_600_000, deciders: [ann.id] }])

  expect((await annsBrowser.submit(page, {}, `${page}/delete`)).text).toContain('The approval rule has been deleted.')
  expect(await rules()).toEqual([])
  const log = await annsBrowser.open(`/accounts/${grid.acme.id}/activity`)
  expect(log.text).toMatch(/Deleted the approval rule Payments.*Changed the approval rule.*Created the approval rule/)
})

test('the form of a rule can create each condition', async () => {
  const { id } = await createGuardrail(grid.acme.store, { name: 'keys', provider: 'pii' })
  const finding = await make({ condition: 'finding', guardrail: id, fromKind: 'external', toKind: 'people' })
  expect(finding.text).toContain('Messages from other accounts to people of the account, if keys objects')

  const parts = await make({ name: 'Files', condition: 'parts', mediaType: 'Image/', minBytes: '1000' })
  expect(parts.text).toContain('with a part of type image/… of at least 1,000 bytes')
  expect(await rules()).toMatchObject([
    { condition: 'finding', guardrailId: id, mediaType: null },
    { condition: 'parts', guardrailId: null, mediaType: 'image/', minBytes: 1_000 },
  ])
})

test.each([
  ['from', { fromKind: 'one', from: '' }, 'Choose an agent.'],
  ['to', { toKind: 'one', to: '' }, 'Choose an agent or a channel.'],
  ['from', { fromKind: 'one', from: 'nobody-here' }, 'Agent &#39;@nobody-here&#39; not found'],
  ['to', { toKind: 'one', to: '#none' }, 'Channel &#39;#none&#39; not found'],
  ['minBytes', { condition: 'parts', minBytes: 'many' }, 'Enter a whole number.'],
])('a rule with an invalid %s causes an error at its field, and the input is kept', async (field, fields, message) => {
  const { html, status } = await make(fields as Record<string, string>)

  expect(status).toBeGreaterThanOrEqual(400)
  expect(html.replaceAll('&apos;', '&#39;')).toMatch(new RegExp(`id="${field}-error".*${message}`))
  expect(html).toContain('value="Payments"')
  expect(await rules()).toEqual([])
})

test('changing a rule requires a recent confirmation', async () => {
  await make({})
  const page = `${list}/${(await rules())[0].id}`
  grid.clock.now += 11 * minute

  const asked = await annsBrowser.submit(page, { ...filled, toKind: 'any' })

  expect(asked.at).toContain('/confirm')
  expect(await rules()).toMatchObject([{ toKind: 'external' }])
})

test('a member can read the rules but sees no form', async () => {
  await make({})
  const one = await signedIn(grid, await person(grid, { role: 'member' }))

  expect((await one.open(list)).text).toContain('Payments')
  for (const page of [`${list}/new`, `${list}/${(await rules())[0].id}`]) {
    expect((await one.open(page)).text).toContain('Only owners and admins of the account can')
  }
})
