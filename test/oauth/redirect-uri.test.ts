/** Redirect URIs: the allowed kinds, and the comparison with registered ones. See docs/protocol/oauth.md. */
import { expect, test } from 'vitest'
import { policySource } from '../../src/html/html-response.tsx'
import { isAllowedRedirect, isSameRedirect, redirectHost } from '../../src/oauth/redirect-uri.ts'

const allow = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'claude://claude.ai/mcp-auth-callback/sdk',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/*',
]

test.each([
  'https://client.example/callback',
  'https://client.example',
  'https://client.example:8443/callback',
  'http://localhost:8787/callback',
  'http://127.0.0.1:33418/',
  'http://[::1]:1234/callback',
  'http://LOCALHOST/callback',
  'https://CLIENT.example/callback',
  'com.example.app:/callback',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/3f2a',
  ...allow.filter((uri) => !uri.endsWith('*')),
])('the redirect URI %s can be registered', (uri) => {
  expect(isAllowedRedirect(uri, allow)).toBe(true)
})

test.each([
  '',
  '//client.example/callback',
  'http://client.example/callback',
  'http://127.0.0.2/callback',
  'http://localhost.evil.example/callback',
  'http://localhost@evil.example/callback',
  'http://127.1/callback',
  'http://localhost:99999/callback',
  'https://user:password@client.example/callback',
  'https://client.example/callback#fragment',
  'https://*.client.example/callback',
  'https://client.example/a/../callback',
  'https://client.example/%2e%2e/callback',
  'https://client.example\\@evil.example/callback',
  'https:/client.example/callback',
  'https://client.example;sandbox/callback',
  "https://'self'.evil.example/callback",
  'https://client.example/call back',
  'https://client.example/callback\r\nSet-Cookie: a=b',
  'https://client.example/\tcallback',
  'https://клиент.example/callback',
  'https://client.example/callback?code=mine',
  'https://client.example/callback?state=mine',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'myapp://callback',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/a/b',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/.',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/..',
  'vscode://saoudrizwan.claude-dev/mcp-auth/callback/a?code=mine',
  'vscode://evil.extension/mcp-auth/callback/a',
  'cursor://anysphere.cursor-mcp/oauth/callback/',
  'cursor://anysphere.cursor-mcp/oauth/callback?x=1',
  'com.example.app:alert(1)',
  'com.example.app://user@host/callback',
  `https://client.example/${'x'.repeat(2_000)}`,
])('the redirect URI %j cannot be registered', (uri) => {
  expect(isAllowedRedirect(uri, allow)).toBe(false)
})

test.each([
  ['http://localhost/callback', 'http://localhost:51234/callback', true],
  ['http://[::1]:1/callback', 'http://[::1]/callback', true],
  ['http://127.0.0.1/', 'http://127.0.0.1:51234', true],
  ['http://127.0.0.1', 'http://127.0.0.1:51234/', true],
  ['https://client.example', 'https://CLIENT.example/', true],
  ['https://client.example/cb', 'https://client.example/CB', false],
  ['http://localhost/callback', 'http://localhost@evil.example/callback', false],
  ['http://localhost:1/callback', 'http://127.0.0.1:1/callback', false],
  ['http://localhost:1/callback', 'https://localhost:1/callback', false],
  ['http://localhost:1/callback', 'http://localhost:1/callback?x=1', false],
  ['http://localhost:1/callback', 'http://localhost:65536/callback', false],
  ['https://client.example:1/callback', 'https://client.example:2/callback', false],
  ['com.example.app://host:1/callback', 'com.example.app://host:2/callback', false],
])('the redirect URIs %s and %s are equal: %s', (registered, requested, same) => {
  expect(isSameRedirect(registered, requested)).toBe(same)
})

test.each([
  ['https://client.example/cb', 'client.example', 'https://client.example'],
  ['http://127.0.0.1:1234/cb?x=1', '127.0.0.1:1234', 'http://127.0.0.1:1234'],
  ['http://[::1]:1234/cb', '[::1]:1234', 'http:'],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:', 'cursor:'],
])('the redirect URI %s is shown as %s, and form-action allows %s', (uri, host, source) => {
  expect([redirectHost(uri), policySource(uri)]).toEqual([host, source])
})
