/** Debian's Chromium, without a screen. */
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

/** For `describe.skipIf(!hasBrowser)`. Under CI it is taken for granted: without one, starting it fails. */
export const hasBrowser = executablePath !== undefined || process.env.CI === 'true'
if (!hasBrowser) console.warn('No Chromium: tests of pages are skipped. Install it, or name it in CHROMIUM.')

/** One that calls nobody but the pages it is sent to. */
export async function launchChromium(): Promise<Browser> {
  if (!executablePath) throw new Error('There is no Chromium, and CI skips nothing: apt-get install chromium')
  return await chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'].concat(
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ),
  })
}
