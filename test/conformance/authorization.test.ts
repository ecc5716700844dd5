/** The OAuth client of the official MCP conformance suite against a running grid. */
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { type OAuthBrowser, ownerOf, signedIn } from '../support/oauth.ts'
import { runScript } from '../support/process.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const suite = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'

let grid: LiveGrid
let ann: OAuthBrowser
beforeAll(async () => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  grid = await liveGrid({ env: { PORT: `${port}`, BASE_URL: origin } }, port)
  ann = await signedIn(grid, await ownerOf(grid, grid.acme, 'ann@acme.example'))
})

test("the grid passes all scenarios of the MCP conformance suite's authorization mode", async () => {
  const port = await freePort()
  const registered = await fetch(`${grid.url}/oauth/register`, {
    method: 'POST',
    body: JSON.stringify({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
  })
  const { client_id } = await registered.json()
  const visited = new Set<string>()
  const words = ['authorization', '--url', grid.url, '--client-id', client_id, '-p', `${port}`]

  const { code, stdout, stderr } = await runScript('bun', suite, words, {}, (output) => {
    for (const [url] of output.matchAll(/http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+(?=\s)/g)) {
      if (!visited.has(url)) void allow(url)
      visited.add(url)
    }
  })

  expect(stdout + stderr).not.toMatch(/FAILURE|[1-9]\d* failed/)
  expect(visited.size).toBeGreaterThan(0)
  expect(code).toBe(0)
})

/** Opens the authorization page as the user and chooses the admin entry. */
async function allow(url: string): Promise<void> {
  const session = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const page = await fetch(url, { headers: { cookie: session } })
  const html = await page.text()
  const handle = html.match(/name="handle" value="([^"]+)"/)?.[1]
  if (handle === undefined) throw new Error(`No consent page: ${html}`)
  const consent = page.headers.getSetCookie()[0].split(';')[0]
  const form = { csrf: ann.visitor.csrf, handle, pick: `admin:${grid.acme.id}`, decision: 'allow' }
  await fetch(`${grid.url}/oauth/authorize`, {
    method: 'POST',
    headers: { cookie: `${session}; ${consent}`, origin: grid.url },
    body: new URLSearchParams(form),
  })
}
