/** The person before the account picker: signs in with a password and chooses, in a real browser. */
import type { BrowserContext, Page } from 'playwright-core'

/** Who sits there, and what they let every client be that asks. */
export interface Person {
  email: string
  password: string
  /** As the page names it: `@admin (Acme)` or `@alice`. */
  entry: string
}

/**
 * Go where a client sends its person, and allow it. Resolves to the address at which the browser ends, which is the
 * client's callback. Fails with the words of the page when there is no such entry.
 */
export async function allowAt(context: BrowserContext, url: string, person: Person): Promise<string> {
  const page = await context.newPage()
  try {
    await openPicker(page, url, person)
    await chooseEntry(page, person.entry)
    const [answered] = await Promise.all([
      page.waitForRequest((request) => request.isNavigationRequest() && new URL(request.url()).searchParams.has('iss')),
      page.getByRole('button', { name: 'Allow' }).click(),
    ])
    // Whoever listens there may answer with a page, a redirect or nothing at all.
    await answered.response().catch(() => null)
    return answered.url()
  } finally {
    await page.close()
  }
}

/** The picker, after signing in where that is asked for. */
export async function openPicker(
  page: Page,
  url: string,
  { email, password }: Omit<Person, 'entry'>,
): Promise<void> {
  await page.goto(url)
  if (new URL(page.url()).pathname !== '/sign-in') return
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await Promise.all([page.waitForURL(/\/oauth\/authorize/), page.getByRole('button', { name: 'Sign in' }).click()])
}

/** Tick one entry. */
export async function chooseEntry(page: Page, entry: string): Promise<void> {
  const name = new RegExp(`^\\s*${entry.replace(/[()[\]]/g, '\\$&')}(\\s+Admin)?\\s*$`)
  const choice = page.locator('label.choice', { has: page.locator('.title', { hasText: name }) })
  if (await choice.count() !== 1) {
    throw new Error(`No one entry ${entry} on the page: ${await page.locator('main').innerText()}`)
  }
  await choice.click()
}
