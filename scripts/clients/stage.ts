/** What every client meets: a grid on this machine, its owner at a browser, and a note of what was asked for. */
import type { BrowserContext } from 'playwright-core'
import { launchChromium } from '../../test/support/chromium.ts'
import { gridPath } from '../../test/support/mcp.ts'
import { allowAt } from '../../test/support/picker.ts'
import { type LiveGrid, liveGrid } from '../../test/support/server.ts'

const owner = { email: 'ann@acme.example', password: 'correct horse battery' }

/** What the person lets the client be, and a tool that it has then. */
export interface Entry {
  /** As the picker says it. */
  name: string
  tool: string
  arguments: Record<string, unknown>
}

export const entries: Entry[] = [
  { name: '@admin (Acme)', tool: 'admin_list_agents', arguments: {} },
  { name: '@alice', tool: 'send_message', arguments: { to: '@bob', message: 'hello' } },
]

export interface Stage {
  /** Of the MCP endpoint. */
  url: string
  /** The methods that the grid answered with 200 and no error since `forget()`; a call as `tools/call NAME`. */
  heard(): string[]
  forget(): void
  /** A new browser with nobody signed in. */
  browser(): Promise<BrowserContext>
  /** The owner signs in where it is asked for, and lets the client be the entry. */
  allow(browser: BrowserContext, url: string, entry: Entry): Promise<string>
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const grid = await liveGrid()
  const chromium = await launchChromium()
  await grid.setPassword(owner.email, owner.password)
  let heard: string[] = []
  listenIn(grid, (method) => heard.push(method))
  return {
    url: new URL(gridPath, grid.url).href,
    heard: () => heard,
    forget: () => void (heard = []),
    browser: () => chromium.newContext(),
    allow: (browser, url, { name }) => allowAt(browser, url, { ...owner, entry: name }),
    async close() {
      await chromium.close()
      await grid.close()
    },
  }
}

function listenIn(grid: LiveGrid, note: (method: string) => void): void {
  const answer = grid.app.fetch
  grid.app.fetch = async (request, ...more) => {
    const isCall = request.method === 'POST' && new URL(request.url).pathname === gridPath
    const body = isCall ? await request.clone().json().catch(() => undefined) : undefined
    const response = await answer(request, ...more)
    if (body?.method && response.status === 200) {
      const { error, result } = await response.clone().json()
      const what = body.method === 'tools/call' ? `tools/call ${body.params.name}` : body.method
      if (!error && !result.isError) note(what)
    }
    return response
  }
}
