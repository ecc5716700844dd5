/** A grid with a single sign-on provider. Accounts can also set up their own single sign-on. */
import { expect } from 'vitest'
import { recordOf } from '../../src/features/single-sign-on/provider.ts'
import { ssoTables } from '../../src/features/single-sign-on/store.ts'
import type { Browser } from './browse.ts'
import { type TestAccount, testGrid } from './grid.ts'
import { clientId, clientSecret, linkOut, startOidc } from './oidc.ts'
import { csrfTokenOf, person, signedIn } from './people.ts'
import { postWithToken } from './roles.ts'

export type SsoGrid = Awaited<ReturnType<typeof ssoGrid>>

/** Returns the address to which a provider redirects the browser. */
export const callback = (id: string) => `http://localhost:8787/sso/${id}/callback`
export const settings = ({ id }: { id: string }) => `/accounts/${id}/settings/account/sso`

/** `OIDC_ISSUER` is the provider; `env` may add other variables. The provider and its tokens use the grid's clock. */
export async function ssoGrid(env: Record<string, string> = {}) {
  const server = await startOidc()
  /** The TXT records by name. */
  const records: Record<string, string[]> = {}
  const grid = await testGrid({
    env: {
      ALLOW_PRIVATE_TARGETS: '1',
      OIDC_ISSUER: server.issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_NAME: 'Corp',
      ...env,
    },
    resolveTxt: (name) => records[name] ? Promise.resolve(records[name]) : Promise.reject(new Error('ENOTFOUND')),
  })
  grid.clock.now = Date.now()
  server.serve([callback('grid')])
  const owner = await person(grid, { role: 'owner', email: 'olga@acme.example' })

  const given = (domain = 'corp.example') => ({
    ...{ name: 'Corp', issuer: server.issuer, clientId, clientSecret, domain, roleClaim: '', roles: '' },
  })
  /** Begins to link the provider's identity to the user. Resolves to the page that links to the provider. */
  const beginLink = async (one: Browser, id: string) =>
    await one.post(`/sso/${id}/link`, { csrf: await csrfTokenOf(one, '/sso') })

  return {
    ...{ grid, server, records, owner, given, beginLink },
    userOf: async (email: string) => await grid.store.global.users.byEmail(email),
    /** Sets up single sign-on with a verified domain for an account. Resolves to the provider's id. */
    async setUp(more: Record<string, string> = {}, account: TestAccount = grid.acme, by = owner): Promise<string> {
      const one = await signedIn(grid, by)
      const saved = await postWithToken(one, `${settings(account)}`, { ...given(), ...more })
      expect(saved.text).toContain('Saved.')
      const provider = (await account.store.feature(ssoTables).read.get())!
      records[provider.domain] = ['v=spf1 -all', recordOf(provider)]
      expect((await postWithToken(one, `${settings(account)}/verify`)).text).toContain('the domain is verified')
      server.serve([callback('grid'), callback(provider.id)])
      return provider.id
    },
    async linked(one: Browser, id: string) {
      const page = await beginLink(one, id)
      const url = linkOut(page)
      return url === undefined ? page : await one.open(await server.wayBack(url))
    },
    async close() {
      await server.close()
      await grid.close()
    },
  }
}
