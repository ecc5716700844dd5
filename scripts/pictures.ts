/**
 * Takes the pictures of the example grid in README.md and the documents: `docs/pictures/NAME-light.webp` and
 * `NAME-dark.webp`. The last step of `npm run screenshots`.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { readServerConfig, serverDeps, startServer, stopServer } from '../src/cli/server.ts'
import { newKeyRing } from '../src/lib/key-ring.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { emailOf } from '../src/cli/example/cast.ts'
import { unreadPerInbox } from '../src/cli/example/scenes.ts'
import { seedWorld } from '../src/cli/example/world.ts'

const folder = 'docs/pictures'
const size = { width: 1280, height: 800 }
/** Maximum picture size, so that pages stay small. */
const maxBytes = 250_000
/** Delay until the live parts of a page have settled. */
const settleMs = 1_500

const pictures: Record<string, (page: Page, account: string) => Promise<unknown>> = {
  home: (page, account) => page.goto(`${account}/home`),
  async held(page, account) {
    await page.goto(`${account}/home`)
    await page.getByRole('link', { name: 'Deploy release' }).click()
    await page.waitForURL(/held\//)
  },
  async network(page, account) {
    await page.goto(`${account}/network`)
    await page.evaluate('scrollTo(0, 170)')
  },
}

const password = 'correct horse battery staple'
const home = mkdtempSync(join(tmpdir(), 'agent-grid-pictures-'))
const config = await readServerConfig({
  ...{ PORT: '0', DATABASE_URL: `file:${join(home, 'grid.db')}`, GRID_KEYS: newKeyRing(), LOG_LEVEL: 'error' },
  ...{ OAUTH_CIMD: 'off', UNREAD_PER_INBOX: String(unreadPerInbox) },
})
await seedWorld(config, password)
const server = await startServer(await serverDeps(config))
const browser = await launchChromium()
try {
  mkdirSync(folder, { recursive: true })
  const files = []
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ baseURL: config.appUrl, viewport: size, colorScheme })
    const page = await context.newPage()
    await page.goto('/sign-in')
    await page.locator('input[name=email]').fill(emailOf('olga'))
    await page.locator('input[name=password]').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/accounts\//)
    const account = new URL(page.url()).pathname.split('/').slice(0, 3).join('/')
    const session = await context.newCDPSession(page)
    for (const [name, open] of Object.entries(pictures)) {
      await open(page, account)
      await page.waitForTimeout(settleMs)
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 50 })
      const file = join(folder, `${name}-${colorScheme}.webp`)
      writeFileSync(file, Buffer.from(data, 'base64'))
      files.push(file)
    }
    await context.close()
  }
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  if (bytes > maxBytes) throw new Error(`The pictures have ${bytes} bytes together, more than ${maxBytes}.`)
  console.log(`${files.length} pictures, ${Math.round(bytes / 1000)} kB, in ${folder}/`)
} finally {
  await browser.close()
  await stopServer(server)
  rmSync(home, { recursive: true, force: true })
}
