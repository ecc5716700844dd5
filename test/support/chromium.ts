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

/** For `describe.skipIf(!hasBrowser)`. */
export const hasBrowser = executablePath !== undefined

/** One that calls nobody but the pages it is sent to. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'].concat(
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ),
  })
}
