/** The login of a program on the command line. See docs/protocol.md, "Account picker", and docs/security.md, "Consent page". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { maxAgents } from '../../src/oauth/account-picker.ts'
import { type CliLoginOptions, consenting, loginAsCli } from '../support/cli-login.ts'
import { issuer, mcpAccess, type OAuthGrid, oauthGrid, openConsentPage, signedInPerson } from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})
afterEach(() => grid.close())

const login = (options: Partial<CliLoginOptions> = {}) =>
  loginAsCli({
    url: issuer,
    keyName: 'claude on laptop',
    browser: consenting(grid, grid.ann),
    fetch: (url, init) => grid.request(url, init),
    ...options,
  })

test('a program logs in on any port and gets a key of its own for the agent that it asks for', async () => {
  const first = await login({ alias: '@bob' })
  expect(first).toMatchObject({ alias: '@bob', name: 'claude on laptop', apiKey: expect.stringMatching(/^grid_agt_/) })
  const other = await login({ alias: 'Bob', keyName: 'codex on laptop' })
  const again = await login({ alias: '@bob', clientId: first.clientId })

  const keys = [first.apiKey, other.apiKey, again.apiKey, grid.bob.key]
  expect(await Promise.all(keys.map((key) => mcpAccess(grid, key)))).toEqual([
    '401',
    'agent tools',
    'agent tools',
    'agent tools',
  ])
})

test('a program that asks for an agent that does not exist gets it made on the page', async () => {
  const made = await login({ alias: '@fresh-agent' })
  expect(made.alias).toBe('@fresh-agent')
  expect(await mcpAccess(grid, made.apiKey)).toBe('agent tools')
})

test('a program whose person denies hears so', async () => {
  await expect(login({ alias: '@bob', browser: consenting(grid, grid.ann, 'deny') })).rejects.toThrow('access_denied')
})

test('the page names the program, and warns that it is on the computer of the person', async () => {
  const { html } = await openConsentPage(grid, grid.ann, { login_hint: '@bob' })
  expect(html).toContain('A program named <strong>Demo</strong>')
  expect(html).toContain('This program runs on your computer.')
})

test('an agent that the client asks for is selected, whatever its place in the list', async () => {
  for (let n = 0; n < maxAgents; n++) await grid.acme.agent(`a-${n}`)
  const last = await grid.acme.agent('zz-last')
  const { html, picks } = await openConsentPage(grid, grid.ann, { login_hint: '@zz-last', scope: 'agent:use' })
  expect(picks).toHaveLength(maxAgents)
  expect(selected(html)).toEqual([`agent:${last.id}`])

  const other = await openConsentPage(grid, grid.ann, { login_hint: 'ann@acme.example', scope: 'agent:use' })
  expect(selected(other.html)).toEqual([])
})

test("an alias that is no agent of the person is offered as a new one, and another person's agent is not told of", async () => {
  const pages = []
  for (const login_hint of ['@eve', '@nobody-has-it']) {
    const { html } = await openConsentPage(grid, grid.ann, { login_hint, scope: 'agent:use' })
    expect(selected(html)).toEqual([])
    expect(html).toMatch(new RegExp(`<input[^>]* name="alias"[^>]* value="${login_hint.slice(1)}"`))
    const bare = html.replaceAll(login_hint.slice(1), 'HINT').replace(/value="[^"]{20,}"|[\w-]{30,}/g, '')
    pages.push(bare)
  }
  expect(pages[0]).toBe(pages[1])

  // A member makes no agents, so the page only says that there is none.
  const member = await signedInPerson(grid, 'member')
  const { html } = await openConsentPage(grid, member, { login_hint: '@eve' })
  expect(html).toContain('is no agent that you can act as')
  expect(html).not.toContain('name="alias"')
})

function selected(html: string): string[] {
  return [...html.matchAll(/name="pick" value="([^"]+)"[^>]* checked/g)].map(([, pick]) => pick)
}
