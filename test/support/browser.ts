/** Debian's Chromium for tests of pages. Where there is none, those tests are skipped; under CI they fail. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, ConsoleMessage, Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { hasBrowser, launchChromium } from './chromium.ts'

export { hasBrowser }

const viewports = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

export interface Visit {
  scheme?: 'light' | 'dark'
  viewport?: keyof typeof viewports
  /** Without JavaScript every page still works. */
  withScript?: boolean
}

/** Each scheme and each size once; for pictures, all four. */
const views: Required<Pick<Visit, 'scheme' | 'viewport'>>[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
]
if (process.env.SCREENSHOTS) views.push({ scheme: 'dark', viewport: 'desktop' }, { scheme: 'light', viewport: 'phone' })

export interface Visitor {
  page: Page
  context: BrowserContext
  /** Errors of the console, uncaught exceptions and refusals by the Content-Security-Policy. Expect it to be empty. */
  faults: string[]
  close(): Promise<void>
}

/** One Chromium for the file that calls this at its top; each visit has cookies and cache of its own. */
export function useBrowser(): (visit?: Visit) => Promise<Visitor> {
  let browser: Browser
  beforeAll(async () => {
    if (!hasBrowser) return
    browser = await launchChromium()
  }, 300_000)
  afterAll(() => browser?.close())

  return async ({ scheme = 'light', viewport = 'desktop', withScript = true } = {}) => {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: viewports[viewport],
      hasTouch: viewport === 'phone',
      javaScriptEnabled: withScript,
      reducedMotion: 'reduce',
    })
    // A busy machine takes longer than the half minute that is usual.
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      if (isFault(message)) faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(error.message))
    return { page, context, faults, close: () => context.close() }
  }
}

/** Chromium also complains when a page is answered 404, which may be just right. */
function isFault(message: ConsoleMessage): boolean {
  if (message.text().startsWith('Failed to load resource') && !message.location().url.includes('/assets/')) return false
  return message.type() === 'error' || message.type() === 'warning'
}

/** The new colours are there, and no transition is on its way to them. */
const settled = `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))))
  .then(() => 0)`

/**
 * What is wrong with the page that is open, which is shown in each scheme and size in turn: what `accessibilityFaults`
 * finds, what is too wide, and what the console and the policy said so far. Keeps pictures of that name.
 */
export async function faultsOf({ page, faults }: Visitor, name: string): Promise<string[]> {
  const found: string[] = []
  for (const { scheme, viewport } of views) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize(viewports[viewport])
    await page.evaluate(settled)
    await screenshot(page, `${name}-${viewport}-${scheme}`)
    const excess = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    const inView = [...(excess > 0 ? [`is ${excess} px too wide`] : []), ...await accessibilityFaults(page)]
    found.push(...inView.map((fault) => `${scheme}, ${viewport}: ${fault}`))
  }
  return [...found, ...faults.splice(0)]
}

// Whatever a text comes to is sent back, which here would be all of it.
const axeSource = `${readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')};0`

/** What axe finds against WCAG 2.2 A and AA and good practice: each as `rule: selector`, worst first. */
export async function accessibilityFaults(page: Page, within?: string): Promise<string[]> {
  if (!await page.evaluate("'axe' in globalThis")) await page.evaluate(axeSource)
  return await page.evaluate(async (within) => {
    interface Found {
      violations: { id: string; help: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[]
    }
    const { axe } = globalThis as unknown as {
      axe: { run(where: unknown, options: unknown): Promise<Found> }
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const { violations } = await axe.run(within ?? 'html', { runOnly: { type: 'tag', values: tags } })
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${impact} ${id}: ${target.join(' ')}: ${failureSummary}`)
    )
  }, within)
}

/** Writes `screenshots/<name>.png` of the whole page when `SCREENSHOTS` is set: for looking at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return
  mkdirSync('screenshots', { recursive: true })
  // As tall as the page: what sticks to the foot of the window stands where the page ends.
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({
    width: page.viewportSize()!.width,
    height: Math.max(height, page.viewportSize()!.height),
  })
  await page.screenshot({ path: `screenshots/${name}.png`, fullPage: true })
}
