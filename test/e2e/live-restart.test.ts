/** A server that is killed and restarted while a browser shows a conversation. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { say } from '../support/conversations.ts'
import { storeOf, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { person, signedIn } from '../support/people.ts'
import { type ServerProcess, startServe } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

describe.skipIf(!hasBrowser)('an open page of a server that restarts', () => {
  const visit = useBrowser()
  const database = useDatabase()
  let visitor: Visitor
  let server: ServerProcess
  beforeEach(async () => {
    visitor = await visit()
  })
  afterEach(async () => {
    await visitor.close()
    await server?.stop()
  })

  test('an open page shows every message once and in order after the server was killed and restarted', async () => {
    const port = await freePort()
    const url = `http://localhost:${port}`
    const env = { PORT: `${port}`, BASE_URL: url, DATABASE_URL: database.url }
    const grid = await testGrid({ url: database.url, env })
    grid.clock.now = Date.now()
    await say(grid, storeOf(grid, grid.alice), 'bob', 'message 0')
    const [{ id: thread }] = (await listThreads(grid.acme.store, {})).threads
    const { cookies } = await signedIn(grid, await person(grid, { role: 'owner' }))
    await grid.close()

    server = await startServe('node', env)
    const atServer = { request: (path: string, init?: RequestInit) => fetch(server.url + path, init) }
    const { page, context } = visitor
    await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url })))
    await page.goto(`${url}/accounts/${grid.acme.id}/conversations/${thread}`)
    let sent = 0
    const send = async () => {
      await callTool(atServer, grid.alice.key, 'send_message', { to: '@bob', message: `message ${sent + 1}` })
      sent++
    }
    for (let n = 0; n < 5; n++) await send()
    await page.locator('.messages', { hasText: 'message 5' }).waitFor()

    for (let kills = 0; kills < 2; kills++) {
      for (let n = 0; n < 5; n++) await send()
      server.signal('SIGKILL')
      await server.ended
      await page.getByText('Updates paused.').waitFor()
      server = await startServe('node', env)
      for (let n = 0; n < 5; n++) await send()
      await page.locator('.messages', { hasText: `message ${sent}` }).waitFor()
      await page.getByText('Updates paused.').waitFor({ state: 'detached' })
    }

    const shown = await page.locator('.messages > li[id] .text').allTextContents()
    expect(shown.map((text) => text.trim())).toEqual(Array.from({ length: sent + 1 }, (_, n) => `message ${n}`))
  })
})
