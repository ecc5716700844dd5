/** Starts and closes headless Chromium. */
import { existsSync } from 'node:fs'
import process from 'node:process'
import { type Browser, chromium } from 'playwright-core'

const executablePath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
  .find((path) => path && existsSync(path))

/** For `describe.skipIf(!hasBrowser)`. Always true under CI, so that tests fail without Chromium. */
export const hasBrowser = executablePath !== undefined || process.env.CI === 'true'
if (!hasBrowser) console.warn('No Chromium: browser tests are skipped. Install it, or set CHROMIUM to its path.')

/** Starts Chromium with all background network requests disabled. */
export async function launchChromium(): Promise<Browser> {
  if (!executablePath) throw new Error('Chromium is missing, and CI skips no tests: apt-get install chromium')
  return await chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'].concat(
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ),
  })
}

/** Closing a page or context takes milliseconds, and on a busy machine seconds. */
const closeTimeoutMs = 15_000

/**
 * Closes a page or a context, and gives up after 15 seconds. While a navigation commits, Chromium can acknowledge the
 * close request and then ignore it, so that `close()` never resolves. The browser closes a target that stays open.
 */
export async function closeOrGiveUp(target: { close(): Promise<void> }): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs)
  })
  await Promise.race([target.close(), timeout]).finally(() => clearTimeout(timer))
}
