import type { WildClient, WildRequest } from './wild.ts'

const register = (does: string, uris: string[], expected: WildRequest['expect']): WildRequest => ({
  does,
  path: '/oauth/register',
  headers: { 'content-type': 'application/json' },
  body: { client_name: 'Editor', redirect_uris: uris },
  expect: expected,
})
const taken = (does: string, uri: string) => register(does, [uri], { status: 201, body: { redirect_uris: [uri] } })
const refused = (uri: string) =>
  register(`${uri} is refused, with the setting`, [uri], {
    status: 400,
    body: `OAUTH_REDIRECT_ALLOW, which the operator sets. Sent: ${uri}.`,
  })
const ofCline = (scheme: string) => `${scheme}://saoudrizwan.claude-dev/mcp-auth/callback/3f9a`

const client: WildClient = {
  client: 'redirect URIs of editors',
  seen: 'by hand, with the schemes of these editors; what is taken by default has its source in config/settings.ts',
  requests: [
    taken('Cursor registers', 'cursor://anysphere.cursor-mcp/oauth/callback'),
    taken('Warp registers', 'warp://mcp/oauth2callback'),
    taken('Raycast registers', 'raycast://oauth?package_name=mcp_server_grid_(dev)'),
    ...['vscode', 'vscode-insiders', 'cursor', 'windsurf'].map((editor) =>
      taken(`Cline registers in ${editor}`, ofCline(editor))
    ),
    taken('a client writes the host in upper case', 'http://LOCALHOST:8787/callback'),
    ...['zed', 'kiro', 'goose', 'vscode'].map((scheme) => refused(`${scheme}://callback`)),
    register('a list keeps the good ones', ['zed://callback', 'http://127.0.0.1/callback'], {
      status: 201,
      body: { redirect_uris: ['http://127.0.0.1/callback'] },
    }),
    register('a script is never taken', ['javascript:alert(1)'], { status: 400 }),
    register('a web address off loopback needs https', ['http://client.example/callback'], { status: 400 }),
  ],
}
export default client
