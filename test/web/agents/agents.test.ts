import { beforeEach, describe, expect, test } from 'vitest'
import { setAgentSkills } from '../../../src/grid/agents/skills.ts'
import type { Browser } from '../../support/browse.ts'
import { dump } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { signedInByEmail } from '../../support/people.ts'

const hostile = `<script>alert("x")</script> ' & `
const keyPattern = /grid_agt_[0-9A-Za-z]{49}/

let grid: TestGrid
let ann: Browser
let base: string
beforeEach(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})

const agent = (alias: string) => grid.acme.store.read.agents.byAlias(alias)
const works = async (key: string) => (await mcp(grid, key, 'tools/list')).status === 200
const newest = async () => (await grid.acme.store.read.activity.list({ limit: 1 }))[0]
const asJson = (text: string) => text.replaceAll('&quot;', '"')

describe('the list of agents', () => {
  test("the list shows only the account's agents, fifty per page", async () => {
    for (let n = 100; n < 155; n++) await grid.acme.agent(`helper-${n}`)

    const first = await ann.open(`${base}/agents`)
    const next = first.html.match(/href="([^"]+)" rel="next"/)![1].replaceAll('&amp;', '&')
    const second = await ann.open(next)

    expect(first.text).toContain('57 agents')
    expect(first.text).toContain('@alice')
    expect(first.text).not.toContain('@helper-154')
    expect(second.text).toContain('57 agents')
    expect(second.html).toContain(`href="${base}/agents" rel="prev"`)
    expect(second.text).not.toContain('@alice')
    expect(second.text).toContain('@helper-154')
    expect(`${first.text}${second.text}`).not.toContain('@eve')
  })

  test.each([
    ['alias', 'LIC'],
    ['description', 'beans'],
    ['skill', 'juggl'],
  ])('the list of agents can be searched by %s', async (_, search) => {
    await grid.acme.agent('counter', { description: 'Counts Beans' })
    await setAgentSkills(grid.acme.store, { agent: 'counter', skills: [{ name: 'Juggling' }] })
    await setAgentSkills(grid.evil.store, { agent: 'eve', skills: [{ name: 'juggling beans' }] })

    const { text } = await ann.open(`${base}/agents?search=${search}`)

    expect(text).toContain(search === 'LIC' ? '@alice' : '@counter')
    expect(text).not.toMatch(/@bob|@eve/)
  })
})

describe('the order of the list of agents', () => {
  const aliases = (text: string) => [...text.matchAll(/@(alice|bob|carol|mel|[bc]-\d+)/g)].map(([, alias]) => alias)
  const listed = async (query: string) => aliases((await ann.open(`${base}/agents?${query}`)).text)

  test('the list of agents can be sorted by longest waiting, unread messages, or last seen', async () => {
    await grid.acme.agent('carol')
    const send = (to: string) => callTool(grid, grid.bob.key, 'send_message', { to, message: 'hi' })
    await send('@carol')
    grid.clock.now += 60_000
    for (let n = 0; n < 2; n++) await send('@alice')

    expect(await listed('')).toEqual(['alice', 'bob', 'carol'])
    expect(await listed('sort=oldest')).toEqual(['carol', 'alice', 'bob'])
    expect(await listed('sort=unread')).toEqual(['alice', 'carol', 'bob'])
    expect((await listed('sort=seen'))[0]).toBe('bob')
    expect(await listed('sort=unread&search=ca')).toEqual(['carol'])
  })

  test.each(['', 'sort=oldest', 'sort=unread', 'sort=seen', 'sort=seen&search=c-', 'search=c-'])(
    'the pages of the list show every agent once: %s',
    async (query) => {
      for (let n = 100; n < 220; n++) await grid.acme.agent(`c-${n}`)
      const seen: string[] = []
      for (let next: string | undefined = `${base}/agents?${query}`; next;) {
        const page = await ann.open(next)
        seen.push(...aliases(page.text))
        next = page.html.match(/href="([^"]+)" rel="next"/)?.[1].replaceAll('&amp;', '&')
      }

      expect(seen).toHaveLength(query.includes('search') ? 120 : 122)
      expect(new Set(seen).size).toBe(seen.length)
    },
  )
})

describe('a new agent', () => {
  test("a new agent's key is shown once, in the client configurations", async () => {
    await grid.evil.agent('mallory')
    const created = await ann.submit(`${base}/new-agent`, {
      alias: '@carol',
      description: 'Counts\r\nbeans',
      type: 'mcp',
      visibility: 'public',
      publicSure: 'on',
      accessPolicy: 'block_list',
      accessList: '@eve, mallory',
      skills: 'counting\r\n\r\nbeans of all kinds',
    })

    const key = created.html.match(keyPattern)![0]
    expect(created.status).toBe(200)
    expect(created.text).toContain('@carol is ready')
    expect(asJson(created.html)).toContain(`"Authorization": "Bearer ${key}"`)
    expect(await works(key)).toBe(true)
    expect(await agent('carol')).toMatchObject({
      visibility: 'public',
      accessPolicy: 'block_list',
      description: 'Counts\nbeans',
    })
    const page = await ann.open(`${base}/agents/carol/settings`)
    expect(page.text).toContain('beans of all kinds counting')
    expect(page.text).toContain('eve mallory')
    expect(page.html).not.toContain(key)
    expect((await ann.open(`${base}/agents/carol/connect`)).html).toContain('YOUR_AGENT_KEY')
  })

  test('a new agent of type a2a has a URL and an encrypted token, and neither its token nor its key is logged', async () => {
    const fields = { alias: 'partner', type: 'a2a', remoteUrl: 'https://partner.example/a2a', remoteToken: 'tok-8831' }

    const { html } = await ann.submit(`${base}/new-agent`, fields)

    const page = await ann.open(`${base}/agents/partner/settings`)
    expect(page.html).toContain('value="https://partner.example/a2a"')
    expect(page.text).toContain('A token is stored')
    expect(page.html).not.toContain('tok-8831')
    const row = await newest()
    expect(row).toMatchObject({
      tool: 'admin_create_agent',
      outcome: 'ok',
      actorType: 'user',
      credentialKind: 'session',
    })
    expect(row.userEmail).toBe('ann@acme.example')
    expect(row.arguments).not.toMatch(/tok-8831|grid_agt_/)
    expect(await dump(grid, grid.acme)).not.toContain(html.match(keyPattern)![0])
  })

  test.each([
    ['alias', { alias: 'alice' }, 'is taken'],
    ['alias', { alias: 'Al' }, 'An alias has 3 to 32'],
    ['alias', { alias: 'admin' }, 'is reserved'],
    ['remoteUrl', { alias: 'carol', type: 'a2a', remoteUrl: 'javascript:alert(1)' }, 'must be an https address'],
    ['remoteUrl', { alias: 'carol', type: 'a2a', remoteUrl: 'https://127.0.0.1/' }, 'not in a private network'],
    ['accessList', { alias: 'carol', accessPolicy: 'allow_list', accessList: 'eve !' }, 'valid aliases'],
    ['description', { alias: 'carol', description: 'x'.repeat(501) }, 'at most 500'],
    ['visibility', { alias: 'carol', visibility: 'secret' }, 'Choose one'],
  ])(
    "a new agent's %s %j is rejected with an error at the field, and the other values are kept",
    async (field, fields, words) => {
      const before = await dump(grid, grid.acme, ['activity'])

      const page = await ann.submit(`${base}/new-agent`, { skills: hostile, remoteToken: 'tok-8831', ...fields })

      expect([400, 409]).toContain(page.status)
      expect(page.text).toContain(words)
      expect(page.html).toMatch(new RegExp(`id="${field}-error"`))
      expect(page.text).toContain(hostile.trim())
      expect(page.html).not.toContain(hostile)
      expect(page.html).not.toContain('tok-8831')
      expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    },
  )
})
