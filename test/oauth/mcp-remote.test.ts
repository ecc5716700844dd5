/** A complete login with mcp-remote, which opens the browser through `xdg-open` and listens on its own callback. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { approveInBrowser } from '../support/consent-browser.ts'
import { fakeXdgOpen } from '../support/fake-xdg-open.ts'
import { gridPath, toolResult } from '../support/mcp.ts'
import { password } from '../support/people.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { rpcOver } from '../support/stdio-rpc.ts'

const calls = {
  '@admin (Acme)': { name: 'admin_list_agents', arguments: {} },
  '@alice': { name: 'send_message', arguments: { to: '@bob', message: 'hi' } },
}

describe.skipIf(!hasBrowser)('a login', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  const children: ChildProcess[] = []
  let grid: LiveGrid
  let ann: Visitor
  beforeAll(async () => {
    grid = await liveGrid()
    await grid.setPassword('ann@acme.example', password)
    ann = await visit()
  })
  afterAll(async () => {
    children.forEach((child) => child.kill())
    await ann?.close()
    await grid?.close()
  })

  test.each(Object.entries(calls))('as %s, up to a tool call; the second start needs no login', async (entry, call) => {
    const home = join(grid.folder, `home of ${entry}`)
    mkdirSync(home)
    const visits: Promise<string>[] = []
    const browser = await fakeXdgOpen(
      join(home, 'bin'),
      (url) => visits.push(approveInBrowser(ann.context, url, { email: 'ann@acme.example', password, entry })),
    )

    for (const start of ['first', 'second']) {
      const { request, end } = await started(home)
      const { tools } = await request('tools/list', {}) as { tools: { name: string }[] }
      expect(tools.map(({ name }) => name), start).toContain(call.name)
      expect(toolResult(await request('tools/call', call)).code).toBeUndefined()
      await end()
    }

    expect(visits).toHaveLength(1)
    expect(await visits[0]).toMatch(/^http:\/\/(localhost|127\.0\.0\.1):\d+\/oauth\/callback\?code=/)
    await browser.close()
  })

  async function started(home: string) {
    const args = [new URL(gridPath, grid.url).href, `${await freePort()}`, '--transport', 'http-only', '--allow-http']
      // On a busy machine the login takes longer than its default of 30 seconds.
      .concat('--auth-timeout', '300')
    const opener = join(home, 'bin', 'xdg-open')
    const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, BROWSER: opener }
    const child = spawn('node_modules/.bin/mcp-remote', args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
    children.push(child)
    const request = rpcOver(child)
    const clientInfo = { name: 'test', version: '1' }
    await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
    return {
      request,
      end: () =>
        new Promise<void>((ended) => {
          child.once('exit', () => ended())
          child.kill()
        }),
    }
  }
})
