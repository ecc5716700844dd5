/** Limits count characters, not UTF-16 code units, so an emoji counts as one. See docs/protocol/README.md, "Limits". */
import { beforeEach, expect, test } from 'vitest'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { postA2a, send03 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { signUp } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const admin = (name: string, args: object) => callTool(grid, grid.acme.adminKey, name, { ...args })
const asAlice = (name: string, args: object) => callTool(grid, grid.alice.key, name, { ...args })
/** Returns the error code of a refused call, or undefined. */
const refusal = async (answer: Promise<{ code?: string }>) => (await answer).code
const rejection = (work: Promise<unknown>) => work.then(() => undefined, ({ code }) => code as string)
const a2aRefusal = async (message: object) => {
  const { error } = (await postA2a(grid, grid.alice.key, send03({ ...message }))).body
  return error && 'invalid_input'
}
const signupRefusal = async (input: object) =>
  (await (await signUp(grid, { ...input })).json()).error && 'invalid_input'
const phrases = (phrase: string) =>
  createGuardrail(grid.acme.store, { name: 'words', provider: 'phrases', config: { phrases: [phrase] } })

const limits: [what: string, limit: number, refusalOf: (text: string) => Promise<string | undefined>][] = [
  [
    'description of an agent',
    500,
    (description) => refusal(admin('admin_create_agent', { alias: 'zoe', description })),
  ],
  [
    'description of a skill',
    500,
    (description) => refusal(asAlice('set_skills', { skills: [{ name: 'a', description }] })),
  ],
  ['description of a signup', 500, (description) => signupRefusal({ description })],
  ['skill of a signup', 64, (name) => signupRefusal({ skills: [name] })],
  ['skill', 64, (name) => refusal(asAlice('set_skills', { skills: [name] }))],
  ['guardrail', 64, (name) => rejection(createGuardrail(grid.acme.store, { name, provider: 'pii' }))],
  ['phrase of a guardrail', 200, (phrase) => rejection(phrases(phrase))],
  ['admin key', 80, (name) => rejection(createAdminKey(grid.acme.store, name))],
  ['search', 200, (search) => refusal(asAlice('list_agents', { search }))],
  [
    'idempotency key',
    200,
    (idempotency_key) => refusal(asAlice('send_message', { to: 'bob', message: 'hi', idempotency_key })),
  ],
  ['context of A2A', 256, (contextId) => a2aRefusal({ contextId })],
]

test.each(limits)('an emoji counts as one character: %s, %i emoji', async (_, limit, refusalOf) => {
  expect(await refusalOf('🙂'.repeat(limit))).toBeUndefined()
  expect(await refusalOf('🙂'.repeat(limit + 1))).toBe('invalid_input')
})

test("invisible characters do not count towards a description's length", async () => {
  const description = 'x'.repeat(500) + '\u{e0041}'.repeat(100)
  const created = await admin('admin_create_agent', { alias: 'carol', description })

  expect(created.text).toMatchObject({ agent: { description: 'x'.repeat(500) }, sanitized: true })
  expect((await signUp(grid, { alias: 'zoe', description })).status).toBe(201)
})

test('tool schemas contain the length limits, which JSON Schema also counts in characters', async () => {
  const { body } = await mcp(grid, grid.acme.adminKey, 'tools/list')
  const ofAgent = await mcp(grid, grid.alice.key, 'tools/list')
  const parameters = (tools: { name: string; inputSchema: { properties: object } }[], tool: string) =>
    tools.find(({ name }) => name === tool)!.inputSchema.properties

  expect(parameters(body.result.tools, 'admin_create_agent')).toMatchObject({
    description: { type: 'string', maxLength: 500 },
    remoteToken: { type: 'string', minLength: 1, maxLength: 4_000 },
    skills: { items: { anyOf: [{ type: 'string', minLength: 1, maxLength: 64 }, { type: 'object' }] } },
  })
  expect(parameters(body.result.tools, 'admin_delete_agent')).toMatchObject({ id: { minLength: 1 } })
  expect(parameters(ofAgent.body.result.tools, 'send_message')).toMatchObject({ message: { maxLength: 256 * 1024 } })
})
