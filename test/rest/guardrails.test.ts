/**
 * `/api/v1/guardrails`. See docs/protocol/guardrails.md, "Over REST". `test/roles.test.ts` tests the accepted
 * credentials.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { tryGuardrail } from '../../src/grid/guardrails/try-guardrail.ts'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { makeJudge, token } from '../support/guardrails.ts'
import { callTool } from '../support/mcp.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import { callRest } from '../support/rest.ts'
import { activityOf } from '../support/roles.ts'

const list = 'GET /api/v1/guardrails'
const create = 'POST /api/v1/guardrails'
const show = 'GET /api/v1/guardrails/:guardrail'
const update = 'PATCH /api/v1/guardrails/:guardrail'
const remove = 'DELETE /api/v1/guardrails/:guardrail'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const call = (route: string, args?: Record<string, unknown>, key: string = grid.acme.adminKey) =>
  callRest(grid, key, route, args)

const ofAcme = (what: string) => rows(grid, `SELECT ${what} WHERE account_id = ?`, [grid.acme.id])

describe('an admin over REST', () => {
  test('guardrails can be created, listed, shown, changed and deleted, in the format of admin_list_guardrails', async () => {
    const created = await call(create, {
      name: 'Länge',
      provider: 'length',
      config: { maxCharacters: 100 },
      action: 'flag',
    })
    const { id } = created.body
    const listed = await callTool(grid, grid.acme.adminKey, 'admin_list_guardrails')

    expect(created.status).toBe(201)
    expect(created.headers.get('Location')).toBe(`/api/v1/guardrails/${id}`)
    expect(created.body).toEqual({
      id,
      name: 'Länge',
      provider: 'length',
      config: { maxCharacters: 100 },
      action: 'flag',
      onFailure: 'open',
      enabled: true,
      agentCount: 0,
      createdAt: '2026-11-21T09:00:00.000Z',
    })
    expect((await call(list)).body).toEqual(listed.text)
    expect(listed.text.guardrails).toEqual([created.body])
    expect((await call(show, { guardrail: id })).body).toEqual(created.body)

    await callTool(grid, grid.acme.adminKey, 'admin_set_agent_guardrails', { alias: 'bob', guardrails: [id] })
    const changed = await call(update, { guardrail: 'Länge', config: { maxCharacters: 7 }, enabled: false })
    expect(changed.status).toBe(200)
    expect(changed.body).toEqual({ ...created.body, config: { maxCharacters: 7 }, enabled: false, agentCount: 1 })
    expect((await call(show, { guardrail: 'Länge' })).body).toEqual(changed.body)

    const deleted = await call(remove, { guardrail: id })
    expect([deleted.status, deleted.body]).toEqual([200, { deleted: true, id }])
    expect((await call(show, { guardrail: id })).status).toBe(404)
    expect(await ofAcme('* FROM agent_guardrails')).toEqual([])
  })

  test('guardrails can be listed in pages', async () => {
    for (const name of ['a', 'b', 'c']) await call(create, { name, provider: 'pii' })

    const first = (await call(list, { limit: 2 })).body
    const second = (await call(list, { limit: 2, cursor: first.next_cursor })).body

    const names = ({ guardrails }: { guardrails: { name: string }[] }) => guardrails.map(({ name }) => name)
    expect([names(first), names(second)]).toEqual([['a', 'b'], ['c']])
    expect([first.total, second.total]).toEqual([3, 3])
    expect(second).not.toHaveProperty('next_cursor')
  })

  test("guardrails can be changed with an OAuth token, and every call is logged without the guardrail's token", async () => {
    const [ann] = await rows(grid, "SELECT id FROM users WHERE email = 'ann@acme.example'")
    const oauth = await accessTokenFor(grid, String(ann.id), grid.acme.id)
    const config = { baseUrl: 'https://llm.example', model: 'm', policy: 'p' }
    const { id } = (await call(create, { name: 'judge', provider: 'llm-judge', config, token }, oauth.token)).body
    await call(update, { guardrail: id, name: 'the judge', token: `${token}-2` })
    await call(update, { guardrail: 'the judge', provider: 'pii' })
    await call(list)
    await call(show, { guardrail: 'nobody' })
    await call(remove, { guardrail: 'the judge' })

    const log = await activityOf(grid)
    expect(log).toEqual([
      {
        tool: 'create_guardrail',
        outcome: 'ok',
        by: 'admin oauth',
        input: { name: 'judge', provider: 'llm-judge', config, token: '…' },
      },
      {
        tool: 'update_guardrail',
        outcome: 'ok',
        by: 'admin admin_key',
        input: { id, name: 'the judge', token: '…', changed: { name: ['judge', 'the judge'] } },
      },
      {
        tool: 'update_guardrail',
        outcome: 'invalid_input',
        by: 'admin admin_key',
        input: { id, name: 'the judge', provider: 'pii' },
      },
      { tool: 'admin_list_guardrails', outcome: 'ok', by: 'admin admin_key', input: {} },
      {
        tool: 'admin_list_guardrails',
        outcome: 'guardrail_not_found',
        by: 'admin admin_key',
        input: { guardrail: 'nobody' },
      },
      { tool: 'delete_guardrail', outcome: 'ok', by: 'admin admin_key', input: { id, name: 'the judge' } },
    ])
    expect(JSON.stringify([log, await dump(grid, grid.acme)]) + grid.logs.join()).not.toContain(token)
  })
})

describe("a guardrail's token", () => {
  test("a guardrail's token can be set, kept, replaced and removed, and is in no response", async () => {
    const id = await makeJudge(grid.acme)
    const sealed = async () => (await ofAcme('encrypted_token FROM guardrails'))[0].encrypted_token
    const first = await sealed()

    const kept = await call(update, { guardrail: id, action: 'flag' })
    expect([kept.status, await sealed()]).toEqual([200, first])
    const replaced = await call(update, { guardrail: id, token: `${token}-2` })
    const second = await sealed()
    expect(second).not.toBe(first)
    const refused = await call(update, { guardrail: id, token: null })
    expect([refused.status, refused.body.error.code, await sealed()]).toEqual([400, 'invalid_input', second])
    const removed = await call(update, { guardrail: id, token: null, enabled: false })
    expect([removed.status, await sealed()]).toEqual([200, null])
    const on = await call(update, { guardrail: id, enabled: true })
    expect(on.body.error.message).toContain('needs a token while the guardrail is enabled')

    for (const { text } of [kept, replaced, refused, removed, on]) expect(text).not.toMatch(/sk-very|"[a-z]*token"/i)
  })

  test("a guardrail's token must be given again when its server address changes", async () => {
    const id = await makeJudge(grid.acme)
    const config = { baseUrl: 'https://elsewhere.example', model: 'm', policy: 'p' }

    const refused = await call(update, { guardrail: id, config })
    const same = await call(update, { guardrail: id, config: { ...config, baseUrl: 'https://l.example/another/path' } })
    const changed = await call(update, { guardrail: id, config, token: `${token}-2` })

    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining('The server address has changed'),
    ])
    expect(same.status).toBe(200)
    expect([changed.status, changed.body.config]).toEqual([200, config])
  })

  test('simultaneous changes of different settings do not undo each other', async () => {
    const id = await makeJudge(grid.acme)

    await Promise.all([
      call(update, { guardrail: id, name: 'renamed' }),
      call(update, { guardrail: id, onFailure: 'open' }),
      call(update, { guardrail: id, action: 'redact' }),
    ])

    expect((await call(show, { guardrail: id })).body).toMatchObject({
      name: 'renamed',
      onFailure: 'open',
      action: 'redact',
    })
    await expect(tryGuardrail(grid.acme.store, { guardrail: id }, 'x')).resolves.toMatchObject({
      provider: 'llm-judge',
    })
  })
})

describe('a refused guardrail request', () => {
  test.each<[string, string, Record<string, unknown>, number, string, string]>([
    ['a field that it does not have', create, { name: 'g', provider: 'pii', tokn: 'x' }, 400, 'invalid_input', 'tokn'],
    ['a missing name', create, { provider: 'pii' }, 400, 'invalid_input', 'name is missing'],
    ['a name that is taken', create, { name: 'own', provider: 'pii' }, 409, 'guardrail_taken', 'own'],
    ['another provider', update, { guardrail: 'own', provider: 'length' }, 400, 'invalid_input', 'provider'],
    ['to change what is not there', update, { guardrail: 'none' }, 404, 'guardrail_not_found', 'no such guardrail'],
    ['to delete what is not there', remove, { guardrail: 'none' }, 404, 'guardrail_not_found', 'no such guardrail'],
    ['a limit of 0', list, { limit: 0 }, 400, 'invalid_input', 'limit must be at least 1'],
    ['a limit that is no number', list, { limit: 'x' }, 400, 'invalid_input', 'limit must be a number'],
    ['a query that it does not have', list, { search: 'x' }, 400, 'invalid_input', 'search is not a known field'],
  ])('%s', async (_, route, args, status, code, text) => {
    await call(create, { name: 'own', provider: 'pii' })
    const before = await ofAcme('* FROM guardrails')

    const refused = await call(route, args)

    expect([refused.status, refused.body.error.code]).toEqual([status, code])
    expect(refused.body.error.message).toContain(text)
    expect(await ofAcme('* FROM guardrails')).toEqual(before)
    expect((await activityOf(grid)).at(-1)).toMatchObject({ outcome: code })
  })

  test.each<[string, string, Record<string, string>, number, string]>([
    ['a body that is not JSON', '{', { 'Content-Type': 'application/json' }, 400, 'malformed_json'],
    ['a list', '[]', { 'Content-Type': 'application/json' }, 400, 'invalid_request'],
    ['a form', 'name=g', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    ['a large body', ' '.repeat(300_000), { 'Content-Type': 'application/json' }, 413, 'payload_too_large'],
  ])('%s is refused without a row in the activity log', async (_, body, headers, status, code) => {
    const authorization = { Authorization: `Bearer ${grid.acme.adminKey}` }
    const response = await grid.post('/api/v1/guardrails', body, { ...authorization, ...headers })

    expect([response.status, (await response.json()).error.code]).toEqual([status, code])
    expect(await activityOf(grid)).toEqual([])
  })
})
