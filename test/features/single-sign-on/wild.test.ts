/**
 * Real providers of single sign-on, according to their documentation. See docs/people.md, "Setting up single sign-on".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ssoTables } from '../../../src/features/single-sign-on/store.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { beginAt } from '../../support/oidc.ts'
import { settings, type SsoGrid, ssoGrid } from '../../support/sso.ts'
import { signedIn } from '../../support/people.ts'
import { startWildOidc, wildProviders } from '../../support/wild-oidc.ts'

let world: SsoGrid
beforeAll(async () => {
  world = await ssoGrid()
})
afterAll(() => world.close())

describe.each(wildProviders())('sign-ins with $provider', (wild) => {
  test.each(wild.cases)(
    'a sign-in as the provider documents it has the right outcome, $title: $outcome',
    async (one) => {
      const { grid } = world
      const played = await startWildOidc(wild)
      played.play(one)
      await rows(grid, 'DELETE FROM memberships WHERE account_id = ? AND user_id <> ?', [grid.acme.id, world.owner.id])
      await rows(grid, 'DELETE FROM sso_sign_ins WHERE account_id = ?', [grid.acme.id])
      await rows(grid, "UPDATE users SET email = id || '@gone.example' WHERE email LIKE 'una@%'", [])
      const id = await world.setUp({ issuer: played.issuer, roleClaim: '', ...played.here(one.setUp ?? {}) })

      const una = browser(grid)
      await una.open(await played.wayBack(await beginAt(una, id)))

      const joined = await grid.acme.store.read.team.memberByEmail('una@corp.example')
      const [{ outcome, report }] = await grid.acme.store.feature(ssoTables).read.signIns(1)
      expect(joined?.role ?? outcome).toBe(one.outcome)
      if (one.notes) expect(report.notes).toEqual(one.notes)
      if (one.asksUserinfo !== undefined) expect(played.asked.includes('userinfo')).toBe(one.asksUserinfo)
      if (one.scope) expect(played.asked).toContain(`authorize ${one.scope}`)
      const { text } = await (await signedIn(grid, world.owner)).open(settings(grid.acme))
      expect(text).toContain('Claims')
      for (const name of report.missing) expect(text).toContain(name)
      await played.close()
    },
  )
})
