/** Chromium for browser tests. Without Chromium, these tests are skipped; under CI they fail. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, ConsoleMessage, Page } from 'playwright-core'
import { beforeAll } from 'vitest'
import { closeOrGiveUp, hasBrowser, launchChromium } from './chromium.ts'
import { layoutFaults, settled } from './layout.ts'

export { hasBrowser }

const viewports = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
  small: { width: 320, height: 568 },
}

export interface VisitOptions {
  scheme?: 'light' | 'dark'
  viewport?: keyof typeof viewports
  /** Whether JavaScript is enabled. Every page must also work without JavaScript. */
  withScript?: boolean
  /** The visitor's time zone, such as `Asia/Tokyo`. */
  timeZone?: string
}

export type View = Required<Pick<VisitOptions, 'scheme' | 'viewport'>> & {
  /** Whether to check only the layout, which takes a tenth of the time. */
  isLayoutOnly?: boolean
}

/** The colour schemes and viewports to check, each at least once. For screenshots, all combinations. */
export const views: View[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
  // A page that is accessible on a phone is also accessible in a smaller window, if its layout fits the window.
  { scheme: 'light', viewport: 'small', isLayoutOnly: true },
]
if (process.env.SCREENSHOTS) {
  views.push(
    { scheme: 'dark', viewport: 'desktop' },
    { scheme: 'light', viewport: 'phone' },
    { scheme: 'dark', viewport: 'small' },
  )
}

export interface Visitor {
  page: Page
  context: BrowserContext
  /** Console errors and warnings, uncaught exceptions and policy violations. Tests expect an empty list. */
  faults: string[]
  close(): Promise<void>
}

/** One Chromium for all test files of a process. It closes when the process exits. */
let started: Promise<Browser> | undefined

/** Returns a function that starts a visit. Call it inside `describe`. Each visit has its own cookies and cache. */
export function useBrowser(): (options?: VisitOptions) => Promise<Visitor> {
  let browser: Browser
  beforeAll(async () => {
    if (hasBrowser) browser = await (started ??= launchChromium())
  }, 300_000)

  return async ({ scheme = 'light', viewport = 'desktop', withScript = true, timeZone } = {}) => {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: viewports[viewport],
      hasTouch: viewport !== 'desktop',
      javaScriptEnabled: withScript,
      reducedMotion: 'reduce',
      timezoneId: timeZone,
    })
    // The default time limit of 30 seconds is too short on a busy machine.
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      if (isFault(message)) faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(error.message))
    return { page, context, faults, close: () => closeOrGiveUp(context) }
  }
}

/** Whether a console message is a fault. Chromium also reports pages with an error status, which tests may expect. */
function isFault(message: ConsoleMessage): boolean {
  if (message.text().startsWith('Failed to load resource') && !message.location().url.includes('/assets/')) return false
  return message.type() === 'error' || message.type() === 'warning'
}

/**
 * Finds faults of the open page in each colour scheme and viewport: accessibility violations, horizontal scrolling,
 * small controls, console errors and policy violations. Saves screenshots under `name`.
 */
export async function faultsOf({ page, faults }: Visitor, name: string, seen = views): Promise<string[]> {
  const found: string[] = []
  for (const { scheme, viewport, isLayoutOnly } of seen) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize(viewports[viewport])
    await screenshot(page, `${name}-${viewport}-${scheme}`)
    const look = async () => [
      ...await layoutFaults(page),
      ...(isLayoutOnly ? [] : await accessibilityFaults(page)),
    ]
    let inView = await look()
    // Check again, because a busy browser sometimes paints the other scheme's colours, or an incomplete page.
    if (inView.length > 0) inView = await look()
    found.push(...inView.map((fault) => `${scheme}, ${viewport}: ${fault}`))
  }
  return [...found, ...faults.splice(0)]
}

// `evaluate` returns the value of the last expression. Without `;0`, that value would be all of axe.
const axeSource = `${readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')};0`

/** Returns axe's violations (WCAG 2.2 A and AA, and best practices), each as `impact rule: selector: summary`. */
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
    // Passing nodes are not described, and style sheets are not loaded again.
    const options = { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'], preload: false }
    const { violations } = await axe.run(within ?? 'html', options)
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${impact} ${id}: ${target.join(' ')}: ${failureSummary}`)
    )
  }, within)
}

/** Saves the full page as `screenshots/<name>.png` if `SCREENSHOTS` is set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return
  await page.evaluate(settled)
  mkdirSync('screenshots', { recursive: true })
  // The viewport becomes as tall as the page, so that sticky elements appear at the page's end.
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({
    width: page.viewportSize()!.width,
    height: Math.max(height, page.viewportSize()!.height),
  })
  await page.screenshot({ path: `screenshots/${name}.png`, fullPage: true })
}
