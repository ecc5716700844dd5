/** A guardrail's token in its form. See docs/security.md, "What is encrypted". */
import { beforeEach, expect, test } from 'vitest'
import { dump, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { judge, makeJudge, stored, token } from '../../support/guardrails.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let guardrails: string
beforeEach(async () => {
  grid = await testGrid()
  guardrails = `/accounts/${grid.acme.id}/guardrails`
})

const sealed = async () =>
  (await rows(grid, 'SELECT encrypted_token FROM guardrails WHERE account_id = ?', [grid.acme.id]))[0].encrypted_token

test("a guardrail's token can be kept, replaced and removed, and is never shown", async () => {
  const ann = await signedInWithRole(grid, 'owner')
  const created = await ann.submit(`${guardrails}/new/llm-judge`, { name: 'judge', token, ...judge })
  const path = created.at.split('?')[0]
  const id = path.split('/').at(-1)!
  const first = await sealed()

  const kept = await ann.submit(path, { name: 'the judge', ...judge })
  expect(kept.at).toBe(`${path}?done=saved`)
  expect(kept.text).toContain('A token is stored. It is never shown')
  expect(await sealed()).toBe(first)

  const another = `${token}-2`
  await ann.submit(path, { name: 'the judge', token: another, ...judge })
  expect(await sealed()).not.toBe(first)
  expect((await stored(grid.acme, id)).hasToken).toBe(true)

  const refused = await ann.submit(path, { name: 'the judge', removeToken: 'on', ...judge })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('needs a token while the guardrail is enabled')
  expect((await stored(grid.acme, id)).hasToken).toBe(true)

  const { enabled: _, ...off } = judge
  const removed = await ann.submit(path, { name: 'the judge', removeToken: 'on', ...off })
  expect(removed.at).toBe(`${path}?done=saved`)
  expect(await stored(grid.acme, id)).toMatchObject({ hasToken: false, enabled: false, name: 'the judge' })
  expect(await sealed()).toBe(null)

  const on = await ann.submit(path, { name: 'the judge', ...judge })
  expect(on.status).toBe(400)

  const log = await activityOf(grid)
  expect(log.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
    'create_guardrail ok',
    'update_guardrail ok',
    'update_guardrail ok',
    'update_guardrail invalid_input',
    'update_guardrail ok',
    'update_guardrail invalid_input',
  ])
  expect(log[0].input.token).toBe('…')
  const seen = JSON.stringify([log, await dump(grid, grid.acme)]) + grid.logs.join() +
    [created, kept, refused, removed, on, await ann.open(path), await ann.open(guardrails)].map(({ html }) => html)
      .join()
  expect(seen).not.toContain(token)
})

test('concurrent requests to enable a guardrail and to remove its token never leave it enabled without the token', async () => {
  const id = await makeJudge(grid.acme)
  const ann = await signedInWithRole(grid, 'owner')
  const { enabled: _, ...off } = judge
  const here = { 'config.baseUrl': 'https://l.example' }

  const pages = await Promise.all([
    postWithToken(ann, `${guardrails}/${id}`, { name: 'judge', removeToken: 'on', ...off, ...here }),
    postWithToken(ann, `${guardrails}/${id}`, { name: 'judge', ...judge, ...here }),
  ])

  expect(pages.map(({ status }) => status)).toContain(200)
  const { enabled, hasToken } = await stored(grid.acme, id)
  expect(enabled && !hasToken).toBe(false)
})
