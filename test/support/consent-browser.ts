/** Acts as the user on the consent page in a real browser: signs in with a password and chooses an entry. */
import type { BrowserContext, Page, Request } from 'playwright-core'
import { closeOrGiveUp } from './chromium.ts'

/** The user, and the entry to choose. */
export interface ConsentingUser {
  email: string
  password: string
  /** The entry as the page shows it: `@admin (Acme)` or `@alice`. */
  entry: string
}

/**
 * Opens the authorization URL and allows the client. Resolves to the URL of the following redirect, which is the
 * client's callback. Fails with the page's text if the page has no such entry.
 */
export async function approveInBrowser(context: BrowserContext, url: string, person: ConsentingUser): Promise<string> {
  const page = await context.newPage()
  try {
    await openAccountPicker(page, url, person)
    let answered = await allow(page, person.entry)
    if (isConfirmation(answered)) {
      await page.waitForURL(/\/confirm/)
      await page.getByLabel('Your password', { exact: true }).fill(person.password)
      const confirm = page.getByRole('button', { name: 'Continue' }).click()
      await Promise.all([page.waitForURL(/\/oauth\/authorize/), confirm])
      answered = await allow(page, person.entry)
    }
    // Waits for the client's response, which may be a page, a redirect, or missing.
    await answered.response().catch(() => null)
    return answered.url()
  } finally {
    await closeOrGiveUp(page)
  }
}

/**
 * Chooses an entry and allows the client. Resolves to the next request, which goes either to the client or to the page
 * that asks for a fresh proof of identity.
 */
async function allow(page: Page, entry: string): Promise<Request> {
  await chooseEntry(page, entry)
  const [next] = await Promise.all([
    page.waitForRequest((request) => request.isNavigationRequest() && (hasAnswer(request) || isConfirmation(request))),
    page.getByRole('button', { name: 'Allow' }).click(),
  ])
  return next
}

/** Whether a request goes to the client. Only redirects to a client name the issuer. @see RFC 9207 */
function hasAnswer(request: Request): boolean {
  return new URL(request.url()).searchParams.has('iss')
}

/** Whether a request opens the page for proof of identity. `@admin` requires proof from the last ten minutes. */
function isConfirmation(request: Request): boolean {
  return new URL(request.url()).pathname === '/confirm'
}

/** Opens the consent page. Signs in first if necessary. */
export async function openAccountPicker(
  page: Page,
  url: string,
  { email, password }: Omit<ConsentingUser, 'entry'>,
): Promise<void> {
  await page.goto(url)
  if (new URL(page.url()).pathname !== '/sign-in') return
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await Promise.all([page.waitForURL(/\/oauth\/authorize/), page.getByRole('button', { name: 'Sign in' }).click()])
}

/** Selects one entry. */
export async function chooseEntry(page: Page, entry: string): Promise<void> {
  const name = new RegExp(`^\\s*${entry.replace(/[()[\]]/g, '\\$&')}(\\s+Admin)?\\s*$`)
  const choice = page.locator('label.choice', { has: page.locator('.title', { hasText: name }) })
  if (await choice.count() !== 1) {
    throw new Error(`Not exactly one entry ${entry} on the page: ${await page.locator('main').innerText()}`)
  }
  await choice.click()
}
