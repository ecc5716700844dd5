import { beforeAll, describe, expect, test } from 'vitest'
import type { Actor } from '../../../src/auth/actor.ts'
import { recordActivity } from '../../../src/grid/activity.ts'
import { day } from '../../../src/lib/time.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { signedInByEmail } from '../../support/people.ts'

const hostile = `<script>alert("x")</script>`

let grid: TestGrid
let ann: Browser
let path: string
let annId: string
beforeAll(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}/activity`
  ann = await signedInByEmail(grid, 'ann@acme.example')
  annId = (await grid.store.global.users.byEmail('ann@acme.example'))!.id
})

/** Returns the tools on a page, newest first. */
const tools = (html: string) => [...html.matchAll(/<code>([a-z_]+)<\/code>/g)].map(([, tool]) => tool)
const note = (actor: Actor, tool: string, input: unknown = {}) =>
  recordActivity(
    grid.store.account(grid.acme.id, actor),
    { tool, arguments: input, requestId: null },
    () => Promise.resolve(),
  )

describe('an activity log with entries', () => {
  beforeAll(async () => {
    await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias: 'carol', description: hostile })
    await callTool(grid, grid.acme.adminKey, 'admin_delete_agent', { alias: 'eve' })
    grid.clock.now += day
    ann = await signedInByEmail(grid, 'ann@acme.example')
    await ann.submit(`/accounts/${grid.acme.id}/new-agent`, { alias: 'dave', skills: 'one\ntwo' })
    await note({ type: 'admin', credentialId: 'grant', credentialKind: 'oauth', userId: annId }, 'by_oauth')
    await note({ type: 'system', job: 'test' }, 'by_system', { long: 'x'.repeat(200), nested: { a: 1 } })
    await callTool(grid, grid.evil.adminKey, 'admin_list_skills')
  })

  test("the activity log shows each row's actor, credential, arguments and outcome", async () => {
    const { text, html } = await ann.open(path)

    expect(text).toContain('ann@acme.example browser session')
    expect(text).toContain('ann@acme.example OAuth')
    expect(text).toMatch(/A program admin key “first key” …\w{4}/)
    expect(text).toContain('The operator command line')
    expect(text).toContain('alias dave')
    expect(text).toContain('agent_not_found')
    expect(text).toContain(hostile)
    expect(html).not.toContain(hostile)
    expect(text).not.toContain('admin_list_skills')
  })

  test.each([
    ['tool', () => 'tool=admin_delete_agent', ['admin_delete_agent']],
    ['refusals', () => 'outcome=refused', ['admin_delete_agent']],
    ['one refusal', () => 'outcome=agent_not_found', ['admin_delete_agent']],
    ['success', () => 'outcome=ok&tool=by_oauth', ['by_oauth']],
    ['person', () => `who=user:${annId}`, ['by_oauth', 'admin_create_agent']],
    ['first day', () => 'to=2026-11-21', ['admin_delete_agent', 'admin_create_agent']],
    ['second day', () => 'from=2026-11-22&to=2026-11-22', ['by_system', 'by_oauth', 'admin_create_agent']],
    ['later', () => 'from=2026-11-23', []],
    ['nonsense', () => `tool=${encodeURIComponent(hostile)}`, []],
    ['invalid dates', () => 'from=x&to=2026-99-99&before=y&tool=by_system', ['by_system']],
  ])('the activity log can be filtered by %s', async (_, query, expected) => {
    const { html, status } = await ann.open(`${path}?${query()}`)

    expect(status).toBe(200)
    expect(tools(html)).toEqual(expected)
  })

  test('the activity log can be filtered by a key that the page offers', async () => {
    const { html } = await ann.open(path)
    const key = html.match(/<option value="(key:[^"]+)"/)![1]

    expect(tools((await ann.open(`${path}?who=${key}`)).html)).toEqual(['admin_delete_agent', 'admin_create_agent'])
  })

  test("the activity log shows each call's credential, and on request also calls that only read", async () => {
    await callTool(grid, grid.acme.adminKey, 'admin_list_agents')
    await note(
      { type: 'admin', credentialId: 'list-key', credentialKind: 'admin_key', userId: annId },
      'admin_list_skills',
    )

    await note({ type: 'user', userId: annId, role: 'owner', sessionId: 's', confirmedAt: 0 }, 'read_conversations')

    const { html, text } = await ann.open(`${path}?readings=on`)
    const changes = await ann.open(path)

    expect(tools(html).slice(0, 3)).toEqual(['read_conversations', 'admin_list_skills', 'admin_list_agents'])
    expect(tools(html).slice(3)).toEqual(tools(changes.html))
    expect(tools(changes.html)).toHaveLength(5)
    expect(html).toMatch(/<input type="checkbox" id="readings" name="readings" checked/)
    expect(text).toContain('Credential list-key')
    expect(tools((await ann.open(`${path}?tool=read_conversations`)).html)).toEqual(['read_conversations'])
  })

  test('the activity log offers each signed-in program as a filter, with the agent it acts as', async () => {
    const { token } = await accessTokenFor(grid, annId, grid.acme.id)
    await accessTokenFor(grid, annId, grid.acme.id, grid.alice.id)
    await callTool(grid, token, 'admin_list_channels')

    const { html } = await ann.open(path)
    const offered = [...html.matchAll(/<option value="(key:[^"]+)">([^<]*)/g)].filter(([, , title]) =>
      / as @/.test(title)
    )

    expect(offered.map(([, , title]) => title.trim())).toEqual([
      expect.stringMatching(/^Client as @admin, 2026-11-\d\d$/),
    ])
    expect(tools((await ann.open(`${path}?readings=on&who=${offered[0][1]}`)).html)).toEqual(['admin_list_channels'])
  })

  test('the pages of the filtered activity log together contain every row once', async () => {
    for (let n = 0; n < 120; n++) await note({ type: 'system', job: 'test' }, 'many')

    const seen: string[] = []
    let at: string | undefined = `${path}?tool=many`
    for (let pages = 0; at !== undefined && pages < 5; pages++) {
      const { html } = await ann.open(at)
      seen.push(...tools(html))
      at = html.match(/href="([^"]+)" rel="next"/)?.[1].replaceAll('&amp;', '&')
    }

    expect(seen).toEqual(Array(120).fill('many'))
  })
})
