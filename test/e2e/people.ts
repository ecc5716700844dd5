/** The first user's actions on the web, on a server known only by its URL. */
import { expect } from 'vitest'
import { browser } from '../support/browse.ts'

const email = 'olga@scenario.example'
const password = 'correct horse battery'

/** `setUpPath` is the path that an empty grid prints at its first start; undefined if the user already exists. */
export async function peopleScenario(base: string, setUpPath: string | undefined): Promise<void> {
  const request = (path: string, init: RequestInit = {}) => fetch(base + path, { ...init, redirect: 'manual' })
  const newBrowser = () => browser({ deps: { config: { appUrl: base } }, request })

  if (setUpPath) {
    const first = newBrowser()
    const home = await first.submit(setUpPath, { accountName: 'Scenario', name: 'Olga', email, password })
    expect([home.status, home.at]).toEqual([200, expect.stringMatching(/^\/accounts\/[\w-]+/)])
    expect((await first.open(setUpPath)).status).toBe(400)
  }

  const olga = newBrowser()
  expect((await olga.signIn(email, 'not her password')).status).toBe(401)
  const home = await olga.signIn(email, password)
  expect(home.text).toContain('Olga')

  const account = home.at.match(/^\/accounts\/[\w-]+/)![0]
  const name = `Renamed, ${'<b>'} & ${crypto.randomUUID()}`
  const renamed = await olga.submit(`${account}/settings/account/name`, { name })
  expect(renamed.text).toContain('The account has been renamed')
  expect((await olga.open(account)).text).toContain(name)

  const signedOut = newBrowser()
  expect((await signedOut.open(`${account}/settings/account`)).at).toMatch(/^\/sign-in\?next=/)
  await olga.submit(account, {}, '/sign-out')
  expect((await olga.open(account)).at).toMatch(/^\/sign-in\?next=/)
}
