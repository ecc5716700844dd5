/** The story of the first person, told to a server of which only the address is known. */
import { expect } from 'vitest'
import { browser } from '../support/browse.ts'

const email = 'olga@scenario.example'
const password = 'correct horse battery'

/** `setUpPath` is what an empty grid says at its first start; without one the person is there already. */
export async function peopleScenario(base: string, setUpPath: string | undefined): Promise<void> {
  const request = (path: string, init: RequestInit = {}) => fetch(base + path, { ...init, redirect: 'manual' })
  const fresh = () => browser({ deps: { config: { appUrl: base } }, request })

  if (setUpPath) {
    const first = fresh()
    const home = await first.submit(setUpPath, { accountName: 'Scenario', name: 'Olga', email, password })
    expect([home.status, home.at]).toEqual([200, expect.stringMatching(/^\/accounts\/[\w-]+/)])
    expect((await first.open(setUpPath)).status).toBe(400)
  }

  const olga = fresh()
  expect((await olga.signIn(email, 'not her password')).status).toBe(401)
  const home = await olga.signIn(email, password)
  expect(home.text).toContain('Olga')

  const account = home.at.split('?')[0]
  const name = `Renamed, ${'<b>'} & ${crypto.randomUUID()}`
  const renamed = await olga.submit(`${account}/settings/account`, { name }, `${account}/settings/account/name`)
  expect(renamed.text).toContain('The account has another name now')
  expect((await olga.open(account)).text).toContain(name)

  const stranger = fresh()
  expect((await stranger.open(`${account}/settings/account`)).at).toMatch(/^\/sign-in\?next=/)
  await olga.submit(account, {}, '/sign-out')
  expect((await olga.open(account)).at).toMatch(/^\/sign-in\?next=/)
}
