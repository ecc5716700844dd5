/** Removal of expired sessions, links, invitations, OAuth rows and attempts, with a test clock. */
import { beforeEach, expect, test } from 'vitest'
import { takeSignInAttempt } from '../../src/grid/people/throttle.ts'
import { day, hour } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestGrid } from '../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })

  test('a session is removed 30 days after it has ended or expired', async () => {
    const { sessions } = grid.store.global
    const { userId, at } = await ann()
    const session = (id: string, ms: number) =>
      sessions.add({
        id,
        userId,
        tokenHash: id,
        expiresAt: at + ms,
        halfExpiresAt: 0,
        hasSecondFactor: true,
        confirmedAt: grid.clock.now,
        userAgent: '',
        address: '',
      }, at)
    await grid.store.write([session('ended', 9 * day), session('short', day), session('long', 2 * day)])
    await grid.store.write([sessions.end(userId, 'ended', at)])

    expect(await idsAfter(31 * day - 1, 'sessions')).toEqual(['long', 'short'])
    expect(await idsAfter(1, 'sessions')).toEqual(['long'])
  })

  test('a link is removed when it has expired, used or not', async () => {
    const { links } = grid.store.global
    const { userId, at } = await ann()
    const link = (id: string, ms: number) =>
      links.add({ id, kind: 'verify', tokenHash: id, userId, email: 'ann@acme.example', expiresAt: at + ms }, at)
    await grid.store.write([link('used', hour), link('short', hour), link('long', day)])
    await grid.store.write(links.use('verify', 'used', at))

    expect(await idsAfter(hour - 1, 'links')).toEqual(['long', 'short', 'used'])
    expect(await idsAfter(1, 'links')).toEqual(['long'])
  })

  test('a snooze is removed when it has ended', async () => {
    const { userId, at } = await ann()
    await grid.store.write([{
      sql: "INSERT INTO snoozes (account_id, user_id, kind, subject, until, level) VALUES (?, ?, 'waiting', 'x', ?, 1)",
      args: [grid.acme.id, userId, at + hour],
    }])
    const left = async () => (await rows(grid, 'SELECT 1 FROM snoozes WHERE account_id = ?', [grid.acme.id])).length

    grid.clock.now = at + hour - 1
    await sweep(grid.store)
    expect(await left()).toBe(1)
    grid.clock.now++
    await sweep(grid.store)
    expect(await left()).toBe(0)
  })

  test('an expired invitation is shown for 30 days, and then removed', async () => {
    const { userId, at } = await ann()
    const { store } = grid.acme
    const invitation = (id: string, ms: number) =>
      store.change.team.addInvitation(
        { id, email: 'x@acme.example', role: 'member', tokenHash: id, invitedBy: userId, expiresAt: at + ms },
        at,
      )
    await store.write([invitation('old', day), invitation('new', 2 * day)])
    const shown = async () => (await store.read.team.invitations()).map(({ id }) => id).sort()

    grid.clock.now += 31 * day - 1
    await sweep(grid.store)
    expect(await shown()).toEqual(['new', 'old'])
    grid.clock.now += 1
    await sweep(grid.store)
    expect(await shown()).toEqual(['new'])
  })

  test('attempts are removed after a day, in several units, by two sweeps at once', async () => {
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

async function ann() {
  return { userId: (await grid.store.global.users.byEmail('ann@acme.example'))!.id, at: grid.clock.now }
}

/** The ids in a table after a time and a sweep. */
async function idsAfter(ms: number, table: 'sessions' | 'links' | 'oauth_clients'): Promise<string[]> {
  grid.clock.now += ms
  await sweep(grid.store)
  return (await rows(grid, `SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => String(id))
}
