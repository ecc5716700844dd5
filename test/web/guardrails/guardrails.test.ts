/** Guardrail pages: their forms, the permitted visitors, and deletion. */
import { beforeEach, expect, test } from 'vitest'
import { setAgentGuardrails } from '../../../src/grid/guardrails/guardrails.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { judge, make, stored, token } from '../../support/guardrails.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let guardrails: string
beforeEach(async () => {
  grid = await testGrid()
  guardrails = `/accounts/${grid.acme.id}/guardrails`
})

test.each([
  ['phrases', { 'config.phrases': 'one\r\n\r\n two \r\n', 'config.preset': 'injection' }, {
    phrases: ['one', 'two'],
    preset: 'injection',
  }],
  ['patterns', { 'config.patterns': '\\d+' }, { patterns: ['\\d+'] }],
  ['pii', [['config.kinds', 'email'], ['config.kinds', 'iban']], { kinds: ['email', 'iban'] }],
  ['length', { 'config.maxCharacters': '400' }, { maxCharacters: 400 }],
  ['openai-moderation', { token, 'config.baseUrl': '', 'config.threshold': '0.25', 'config.model': '' }, {
    baseUrl: 'https://api.openai.com',
    model: 'omni-moderation-latest',
    threshold: 0.25,
  }],
  ['llm-judge', { token, ...judge }, {
    baseUrl: 'https://llm.example/v1',
    model: 'small',
    policy: 'No insults.\nNo threats.',
  }],
])("the posted form of %s becomes the guardrail's configuration", async (provider, fields, config) => {
  const ann = await signedInWithRole(grid, 'admin')
  const given = Array.isArray(fields) ? fields : Object.entries(fields)
  const path = `${guardrails}/new/${provider}`

  const page = await ann.submit(path, [['name', 'one'], ['action', 'redact'], ['onFailure', 'open'], ...given] as [
    string,
    string,
  ][])

  expect(page.at, page.text).toMatch(/\?done=guardrail-created$/)
  const { id } = (await grid.acme.store.read.guardrails.byRef('one'))!
  expect(await stored(grid.acme, id)).toMatchObject({ provider, config, onFailure: 'open' })
  expect(Object.keys((await stored(grid.acme, id)).config as object)).toEqual(Object.keys(config))
})

test.each([
  ['length', { 'config.maxCharacters': '' }, 'config.maxCharacters', 'This is required'],
  ['length', { 'config.maxCharacters': 'many' }, 'config.maxCharacters', 'expected number'],
  ['patterns', { 'config.patterns': `ok\n${'x'.repeat(501)}` }, 'config.patterns', 'must have at most 500 characters'],
  ['webhook', { 'config.url': 'ftp://x.example', token }, 'config.url', 'must be an http or https address'],
  ['webhook', { 'config.url': 'https://me:pw@x.example', token }, 'config.url', 'must have no user or password'],
  ['webhook', { 'config.url': 'https://x.example' }, 'token', 'needs a token'],
  ['webhook', { 'config.url': 'https://x.example', token }, 'token', 'whsec_ and the base64'],
  ['phrases', { 'config.preset': 'forged' }, 'config.preset', 'Invalid option'],
  ['phrases', { token }, 'rest', 'takes no token'],
  ['phrases', { name: '' }, 'name', 'A guardrail name must have 1 to 64 characters'],
  ['phrases', { name: 'taken' }, 'name', 'The account has a guardrail taken'],
])('a guardrail form for %s with %j is rejected with an error at %s', async (provider, fields, field, text) => {
  await make(grid.acme, { name: 'taken' })
  const ann = await signedInWithRole(grid, 'owner')

  const page = await ann.submit(`${guardrails}/new/${provider}`, {
    name: 'typed',
    action: 'flag',
    enabled: 'on',
    ...fields,
  })

  expect(page.status).toBe('name' in fields && fields.name === 'taken' ? 409 : 400)
  expect(page.text).toContain(text)
  if (field !== 'rest') {
    expect(page.html).toMatch(new RegExp(`name="${field}"[^>]*aria-invalid="true"`))
    expect(page.html).toContain(`id="${field}-error"`)
  }
  expect(page.html).toContain(`value="${'name' in fields ? fields.name : 'typed'}"`)
  expect(page.html).toMatch(/value="flag" checked/)
  const typed = Object.entries(fields).filter(([name]) => name.startsWith('config.') && name !== 'config.preset')
  for (const [, value] of typed) expect(page.html).toMatch(new RegExp(`(value="|>)${value}`))
  expect(page.html).not.toContain(token)
  expect(await grid.acme.store.read.guardrails.searchTotal('')).toBe(1)
  expect(JSON.stringify(await activityOf(grid))).not.toContain(token)
})

test("a guardrail's form shows the stored settings, and a change applies to every agent", async () => {
  const id = await make(grid.acme, { name: 'data', config: { kinds: ['email'] }, action: 'redact' })
  await setAgentGuardrails(grid.acme.store, {
    agent: 'alice',
    guardrails: [{ ref: 'data', direction: 'outbound', action: 'flag' }],
  })
  const ann = await signedInWithRole(grid, 'admin')

  const before = await ann.open(`${guardrails}/${id}`)
  expect(before.html).toMatch(/value="email" checked/)
  expect(before.html).not.toMatch(/value="phone" checked/)
  expect(before.html).toMatch(/value="redact" checked/)
  expect(before.text).toMatch(/@alice sent flag/)

  const page = await ann.submit(`${guardrails}/${id}`, { 'name': 'phones', 'config.kinds': 'phone', 'action': 'block' })
  expect(page.at).toBe(`${guardrails}/${id}?done=saved`)
  expect(await stored(grid.acme, id)).toMatchObject({
    name: 'phones',
    config: { kinds: ['phone'] },
    action: 'block',
    onFailure: 'open',
    enabled: false,
  })
  expect((await ann.open(guardrails)).text).toContain('phones Personal data block off nothing 1')
})

test('deleting a guardrail detaches it from its agents', async () => {
  const id = await make(grid.acme, { name: 'data' })
  await setAgentGuardrails(grid.acme.store, { agent: 'alice', guardrails: [{ ref: 'data' }] })
  const ann = await signedInWithRole(grid, 'owner')

  expect((await ann.open(`${guardrails}/${id}`)).text).toContain('It will be detached from 1 agent')
  const page = await ann.submit(`${guardrails}/${id}`, {}, `${guardrails}/${id}/delete`)

  expect(page.at).toBe(`${guardrails}?done=guardrail-deleted`)
  expect(await rows(grid, 'SELECT * FROM agent_guardrails WHERE account_id = ?', [grid.acme.id])).toEqual([])
  expect((await ann.open(`${guardrails}/${id}`)).status).toBe(404)
  expect((await postWithToken(ann, `${guardrails}/${id}/delete`)).status).toBe(404)
  expect((await activityOf(grid)).map(({ tool, outcome }) => `${tool} ${outcome}`))
    .toEqual(['delete_guardrail ok', 'delete_guardrail guardrail_not_found'])
})
