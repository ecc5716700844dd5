/** The environment of a client test: a local grid, its owner at a browser, and a record of the answered calls. */
import type { BrowserContext } from 'playwright-core'
import { launchChromium } from '../../test/support/chromium.ts'
import { approveInBrowser } from '../../test/support/consent-browser.ts'
import { gridPath } from '../../test/support/mcp.ts'
import { type LiveGrid, liveGrid } from '../../test/support/server.ts'

const owner = { email: 'ann@acme.example', password: 'correct horse battery' }

/** Whom the client may act as, and a tool that it then has. */
export interface Identity {
  /** As on the consent page. */
  name: string
  tool: string
  arguments: Record<string, unknown>
}

export const identities: Identity[] = [
  { name: '@admin (Acme)', tool: 'admin_list_agents', arguments: {} },
  { name: '@alice', tool: 'send_message', arguments: { to: '@bob', message: 'hello' } },
]

export interface Environment {
  /** The URL of the MCP endpoint. */
  url: string
  /** The methods that the grid answered without an error since `reset()`; a tool call as `tools/call NAME`. */
  answeredMethods(): string[]
  reset(): void
  /** A new browser context without a session. */
  browser(): Promise<BrowserContext>
  /** The owner signs in if necessary, and allows the client to act as the identity. */
  allow(browser: BrowserContext, url: string, identity: Identity): Promise<string>
  close(): Promise<void>
}

export async function openEnvironment(): Promise<Environment> {
  const grid = await liveGrid()
  const chromium = await launchChromium()
  await grid.setPassword(owner.email, owner.password)
  let answered: string[] = []
  observeCalls(grid, (method) => answered.push(method))
  return {
    url: new URL(gridPath, grid.url).href,
    answeredMethods: () => answered,
    reset: () => void (answered = []),
    browser: () => chromium.newContext(),
    allow: (browser, url, { name }) => approveInBrowser(browser, url, { ...owner, entry: name }),
    async close() {
      await chromium.close()
      await grid.close()
    },
  }
}

function observeCalls(grid: LiveGrid, onAnswered: (method: string) => void): void {
  const originalFetch = grid.app.fetch
  grid.app.fetch = async (request, ...more) => {
    const isCall = request.method === 'POST' && new URL(request.url).pathname === gridPath
    const body = isCall ? await request.clone().json().catch(() => undefined) : undefined
    const response = await originalFetch(request, ...more)
    if (body?.method && response.status === 200) {
      const { error, result } = await response.clone().json()
      const name = body.method === 'tools/call' ? `tools/call ${body.params.name}` : body.method
      if (!error && !result.isError) onAnswered(name)
    }
    return response
  }
}
