/** Redirect URIs: the allowed kinds, and that only a registered one is used. See docs/security.md, "Redirect URIs". */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { policySource } from '../../src/html/html-response.tsx'
import { isAllowedRedirect, isSameRedirect, redirectHost } from '../../src/oauth/redirect-uri.ts'
import { issuer, type OAuthGrid, oauthGrid, openConsentPage } from '../support/oauth.ts'

const allow = ['cursor://anysphere.cursor-mcp/oauth/callback', 'claude://claude.ai/mcp-auth-callback/sdk']

test.each([
  'https://client.example/callback',
  'https://client.example/callback?from=grid',
  'https://client.example',
  'https://client.example:8443/callback',
  'http://localhost:8787/callback',
  'http://localhost/callback',
  'http://127.0.0.1:33418/',
  'http://127.0.0.1',
  'http://[::1]:1234/callback',
  'com.example.app:/callback',
  'com.example.app://host/callback',
  ...allow,
])('%s can be registered', (uri) => {
  expect(isAllowedRedirect(uri, allow)).toBe(true)
})

test.each([
  '',
  'callback',
  '/callback',
  '//client.example/callback',
  'http://client.example/callback',
  'http://127.0.0.2/callback',
  'http://localhost.evil.example/callback',
  'http://localhost@evil.example/callback',
  'http://0.0.0.0/callback',
  'http://127.1/callback',
  'http://2130706433/callback',
  'http://localhost:99999/callback',
  'http://localhost:0/callback',
  'http://LOCALHOST/callback',
  'https://user:password@client.example/callback',
  'https://user@client.example/callback',
  'https://client.example/callback#fragment',
  'https://client.example/callback#',
  'https://*.client.example/callback',
  'https://client.example/*',
  'https://CLIENT.example/callback',
  'https://client.example/a/../callback',
  'https://client.example/%2e%2e/callback',
  'https://client.example\\@evil.example/callback',
  'https:\\\\client.example/callback',
  'https:/client.example/callback',
  'https:client.example/callback',
  'https://client.example;sandbox/callback',
  'https://client.example,x.evil.example/callback',
  "https://'self'.evil.example/callback",
  'https://client.example/call back',
  'https://client.example/callback\r\nSet-Cookie: a=b',
  'https://client.example/\tcallback',
  ' https://client.example/callback',
  'https://client.example/callback ',
  'https://клиент.example/callback',
  'https://client.example/callback?code=mine',
  'https://client.example/callback?iss=mine',
  'https://client.example/callback?state=mine',
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:https://client.example/x',
  'ftp://x/y',
  'about:blank',
  'myapp://callback',
  'cursor://evil/callback',
  'cursor://anysphere.cursor-mcp/oauth/callback/',
  'cursor://anysphere.cursor-mcp/oauth/callback?x=1',
  'com.example.app:',
  'com.example.app:alert(1)',
  'com.example.app://user@host/callback',
  `https://client.example/${'x'.repeat(2_000)}`,
])('%j cannot be registered', (uri) => {
  expect(isAllowedRedirect(uri, allow)).toBe(false)
})

test.each([
  ['http://localhost/callback', 'http://localhost:51234/callback', true],
  ['http://127.0.0.1:1/callback', 'http://127.0.0.1:65535/callback', true],
  ['http://[::1]:1/callback', 'http://[::1]/callback', true],
  ['http://127.0.0.1:1', 'http://127.0.0.1:2', true],
  ['http://localhost:1/callback', 'http://127.0.0.1:1/callback', false],
  ['http://localhost:1/callback', 'https://localhost:1/callback', false],
  ['http://localhost:1/callback', 'http://localhost:1/callback?x=1', false],
  ['http://localhost:1/callback', 'http://localhost:1/callback/', false],
  ['http://localhost:1/callback', 'http://localhost:65536/callback', false],
  ['http://localhost:1/callback', 'http://localhost:01/callback', false],
  ['http://localhost:1/callback', 'http://localhost:/callback', false],
  ['https://client.example:1/callback', 'https://client.example:2/callback', false],
  ['com.example.app://host:1/callback', 'com.example.app://host:2/callback', false],
])('%s and %s are equal: %s', (registered, requested, same) => {
  expect(isSameRedirect(registered, requested)).toBe(same)
})

test.each([
  ['https://client.example/cb', 'client.example', 'https://client.example'],
  ['http://127.0.0.1:1234/cb?x=1', '127.0.0.1:1234', 'http://127.0.0.1:1234'],
  ['http://[::1]:1234/cb', '[::1]:1234', 'http:'],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:', 'cursor:'],
])('%s is shown as %s, and form-action allows %s', (uri, host, source) => {
  expect([redirectHost(uri), policySource(uri)]).toEqual([host, source])
})

const registered = 'https://client.example/oauth/callback?from=grid'

let grid: OAuthGrid
let clientId: string
beforeAll(async () => {
  grid = await oauthGrid()
  const answer = await grid.post(`${issuer}/oauth/register`, { redirect_uris: [registered] })
  clientId = (await answer.json()).client_id
})
afterAll(() => grid.close())

test('60 mutations of a registered redirect URI are rejected without a redirect', async () => {
  const mutants = mutations(registered)
  expect(mutants.length).toBeGreaterThanOrEqual(60)

  for (const redirect_uri of mutants) {
    const { response } = await openConsentPage(grid, grid.ann, { client_id: clientId, redirect_uri })
    expect([redirect_uri, response.status, response.headers.get('location')]).toEqual([redirect_uri, 400, null])
  }
  const { response } = await openConsentPage(grid, grid.ann, { client_id: clientId, redirect_uri: registered })
  expect(response.status).toBe(200)
})

function mutations(uri: string): string[] {
  const [before, path] = [uri.slice(0, 'https://client.example'.length), uri.slice('https://client.example'.length)]
  const insertions = [
    '/',
    '%2e',
    '%2f',
    '@',
    '\\',
    ':443',
    ':8443',
    ';',
    ',',
    '\r\n',
    '\t',
    ' ',
    '\0',
    '#',
    '?',
    '*',
    '%00',
    '.',
    'é',
  ]
  return [
    ...insertions.flatMap((text) => [before + text + path, uri + text, `${uri.slice(0, 30)}${text}${uri.slice(30)}`]),
    uri.toUpperCase(),
    uri.replace('client', 'Client'),
    uri.replace('https', 'HTTPS'),
    uri.replace('https', 'http'),
    uri.replace('https:', ''),
    uri.replace('callback', 'Callback'),
    uri.replace('/oauth', '/x/../oauth'),
    uri.replace('/oauth', '/./oauth'),
    uri.replace('client.example', 'client.example.evil.example'),
    uri.replace('client.example', 'evil.example/client.example'),
    uri.replace('client.example', 'client.example@evil.example'),
    uri.replace('client.example', 'evil.example%23@client.example'),
    uri.replace('client.example', 'сlient.example'),
    uri.replace('client.example', 'xn--lient-7ve.example'),
    uri.replace('?from=grid', ''),
    uri.replace('from', 'From'),
    `${uri}&iss=x`,
    `${uri}&from=grid`,
  ]
}
