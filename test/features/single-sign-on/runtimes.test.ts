/** Single sign-on on each runtime, with the runtime's own HTTP client. */
import { expect, test } from 'vitest'
import { clientId, clientSecret, startOidc } from '../../support/oidc.ts'
import { startServe } from '../../support/process.ts'
import { useDatabase } from '../../support/use-database.ts'

const database = useDatabase()

test.each(['node', 'deno', 'bun'] as const)('on %s, a person signs in with a provider', async (runner) => {
  const server = await startOidc()
  const grid = await startServe(runner, {
    DATABASE_URL: database.url,
    OIDC_ISSUER: server.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
  })
  server.serve([])
  const begun = await fetch(`${grid.url}/sso/grid`, { redirect: 'manual' })
  const at = (await begun.text()).match(/href="(http[^"]+)"/)![1].replaceAll('&amp;', '&')
  server.serve([new URL(at).searchParams.get('redirect_uri')!])
  const cookie = begun.headers.getSetCookie().find((one) => one.startsWith('grid-sso'))!.split(';')[0]

  const back = await fetch(grid.url + await server.wayBack(at), { redirect: 'manual', headers: { cookie } })

  expect(back.headers.getSetCookie().join()).toMatch(/^grid-session=\S{40}/)
  await grid.stop()
})
