/** mcp-remote through the whole login: it opens the browser through `xdg-open` and listens at its own callback. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { asCalled, gridPath } from '../support/mcp.ts'
import { opener } from '../support/opener.ts'
import { password } from '../support/people.ts'
import { allowAt } from '../support/picker.ts'
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

  test.each(Object.entries(calls))('as %s, up to a called tool; the second start asks nobody', async (entry, call) => {
    const home = join(grid.folder, `home of ${entry}`)
    mkdirSync(home)
    const visits: Promise<string>[] = []
    const browser = await opener(
      join(home, 'bin'),
      (url) => visits.push(allowAt(ann.context, url, { email: 'ann@acme.example', password, entry })),
    )

    for (const start of ['first', 'second']) {
      const { request, end } = await started(home)
      const { tools } = await request('tools/list', {}) as { tools: { name: string }[] }
      expect(tools.map(({ name }) => name), start).toContain(call.name)
      expect(asCalled(await request('tools/call', call)).code).toBeUndefined()
      await end()
    }

    expect(visits).toHaveLength(1)
    expect(await visits[0]).toMatch(/^http:\/\/(localhost|127\.0\.0\.1):\d+\/oauth\/callback\?code=/)
    await browser.close()
  })

  async function started(home: string) {
    const words = [new URL(gridPath, grid.url).href, `${await freePort()}`, '--transport', 'http-only', '--allow-http']
      // A busy machine takes longer to sign in than its half minute.
      .concat('--auth-timeout', '300')
    const opens = join(home, 'bin', 'xdg-open')
    const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, BROWSER: opens }
    const child = spawn('node_modules/.bin/mcp-remote', words, { env, stdio: ['pipe', 'pipe', 'ignore'] })
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
