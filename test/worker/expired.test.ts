/** Removal of expired sessions, links, invitations, OAuth rows and attempts, with a test clock. */
import { beforeEach, expect, test } from 'vitest'
import { takeSignInAttempt } from '../../src/grid/people/throttle.ts'
import { day, hour } from '../../src/lib/time.ts'
import type { Statement } from '../../src/store/sql.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestGrid } from '../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  const added: Record<string, (row: { id: string; userId: string; at: number; expiresAt: number }) => Statement> = {
    sessions: ({ id, at, ...row }) =>
      grid.store.global.sessions.add({
        ...{ ...row, id, tokenHash: id, halfExpiresAt: 0, hasSecondFactor: true, onlyAccount: null, confirmedAt: at },
        ...{ userAgent: '', address: '' },
      }, at),
    links: ({ id, at, ...row }) =>
      grid.store.global.links.add({ ...row, id, kind: 'verify', tokenHash: id, email: 'ann@acme.example' }, at),
    invitations: ({ id, userId, at, expiresAt }) =>
      grid.acme.store.change.team.addInvitation(
        { id, email: 'x@acme.example', role: 'member', tokenHash: id, invitedBy: userId, expiresAt },
        at,
      ),
    snoozes: ({ id, userId, expiresAt }) => ({
      sql: "INSERT INTO snoozes (account_id, user_id, kind, subject, until, level) VALUES (?, ?, 'waiting', ?, ?, 1)",
      args: [grid.acme.id, userId, id, expiresAt],
    }),
  }

  test.each([['sessions', 30], ['links', 0], ['invitations', 30], ['snoozes', 0]])(
    'expired %s are removed %i days after their expiry',
    async (table, days) => {
      const { sessions, links } = grid.store.global
      const userId = (await grid.store.global.users.byEmail('ann@acme.example'))!.id
      const at = grid.clock.now
      const add = (id: string, ms: number) => added[table]({ id, userId, at, expiresAt: at + ms })
      await grid.store.write([add('short', hour), add('long', 2 * hour)])
      if (table === 'sessions') {
        await grid.store.write([add('ended', 9 * day), sessions.end(userId, 'ended', at)])
      }
      if (table === 'links') await grid.store.write([add('used', hour), ...links.use('verify', 'used', at)])

      const before = await idsAfter(hour + days * day - 1, table)
      expect(before).toEqual(table === 'links' ? ['long', 'short', 'used'] : ['long', 'short'])
      expect(await idsAfter(1, table)).toEqual(['long'])
    },
  )

  test('attempts are removed after a day, in several units, by two simultaneous sweeps', async () => {
    const { attempts } = grid.store.global
    const many = Array.from({ length: 1_200 }, (_, n) => ({ id: `${n}`, kind: 'sign_in', subject: 'x' }))
    await grid.store.write([attempts.add(many, [], grid.clock.now)])
    grid.clock.now += day - 1
    await takeSignInAttempt(grid.store, 'ann@acme.example', '203.0.113.7')
    const all = await rows(grid, 'SELECT 1 FROM attempts')
    expect(all.length).toBeGreaterThan(many.length)

    await Promise.all([sweep(grid.store), sweep(grid.store)])
    expect(await rows(grid, 'SELECT 1 FROM attempts')).toHaveLength(all.length)
    grid.clock.now += 1
    await Promise.all([sweep(grid.store), sweep(grid.store)])
    expect(await rows(grid, 'SELECT 1 FROM attempts')).toHaveLength(all.length - many.length)
  })

  test('unused OAuth clients are removed when they have expired', async () => {
    const { clients } = grid.store.global.oauth
    const client = (id: string, ms: number) =>
      clients.add(
        {
          id,
          name: 'x',
          redirectUris: '[]',
          authMethod: 'none',
          secretHash: null,
          expiresAt: grid.clock.now + ms,
        },
        { total: 500, most: 500, youngSince: 0, idleSince: 0 },
        grid.clock.now,
      )
    for (let n = 0; n < 150; n++) await grid.store.write(client(`${n}`, day))
    await grid.store.write(client('long', 2 * day))

    expect(await idsAfter(day, 'oauth_clients')).toEqual(['long'])
  })
})

/** Advances the clock, sweeps, and returns the ids that remain in a table. */
async function idsAfter(ms: number, table: string): Promise<string[]> {
  grid.clock.now += ms
  await sweep(grid.store)
  const id = table === 'snoozes' ? 'subject' : 'id'
  const isOwned = table === 'snoozes' || table === 'invitations'
  const found = await rows(
    grid,
    `SELECT ${id} AS id FROM ${table} ${isOwned ? 'WHERE account_id = ?' : ''} ORDER BY 1`,
    isOwned ? [grid.acme.id] : [],
  )
  return found.map(({ id }) => String(id))
}
