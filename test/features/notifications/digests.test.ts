/** Mail digests: when they are sent, their content, and how they are turned off. */
import { beforeEach, expect, test } from 'vitest'
import { createApprovalRule } from '../../../src/grid/approvals/rules.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { markRead } from '../../../src/grid/conversations/marks.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { findDigest, setDigest } from '../../../src/features/notifications/digests.ts'
import { takeDigestAttempt } from '../../../src/features/notifications/limits.ts'
import { type DigestPeriod, notificationTables } from '../../../src/features/notifications/store.ts'
import { giveUpAlias } from '../../../src/grid/people/person-aliases.ts'
import { day, hour } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { sendDigests } from '../../../src/features/notifications/due-digests.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { sendMessage } from '../../support/messaging.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

onEachDatabase((open) => {
  let grid: TestGrid
  let ann: PersonWithAlias
  let alice: AccountStore
  beforeEach(async () => {
    grid = await open({ limits: { emailsPerHour: 20 } })
    ann = await personWithAlias(grid, 'ann-lee')
    alice = storeOf(grid, grid.alice)
  })

  const choose = (period: DigestPeriod | undefined) => setDigest(ann.account, ann.person, period)
  /** Advances the clock and runs the worker. Resolves to the emails that it sent. */
  async function after(ms: number) {
    grid.clock.now += ms
    await sendDigests(grid.store)
    return grid.emails.splice(0)
  }

  test('a digest says how many messages wait and from whom, without their texts', async () => {
    await say(grid, alice, 'ann-lee', 'a secret text')
    await say(grid, alice, 'ann-lee', 'another one')
    await say(grid, storeOf(grid, grid.bob), 'ann-lee', 'a third one')
    await choose('hourly')
    expect(await after(hour - 1)).toEqual([])

    const [{ token }] = await rows(grid, 'SELECT token FROM mail_digests WHERE account_id = ?', [grid.acme.id])
    const { appUrl } = grid.deps.config
    const [email, ...more] = await after(1)
    expect(more).toEqual([])
    expect(email).toMatchObject({
      to: ann.person.email,
      kind: 'digest',
      subject: 'Messages wait for you',
      link: `${appUrl}/accounts/${grid.acme.id}/home`,
      unsubscribe: `${appUrl}/unsubscribe/${token}`,
    })
    expect(email.text).toContain('3 messages wait for you in the account "Acme"')
    expect(email.text).toContain('from @bob, @alice.')
    expect(email.text).not.toMatch(/secret|another one|third/)
  })

  test('a digest says once how many messages wait for a decision and from whom', async () => {
    await createApprovalRule(grid.acme.store, { name: 'all', from: 'any', to: '@bob', deciders: [ann.person.id] })
    await choose('hourly')
    await sendMessage(alice, { to: 'bob', text: 'a secret text' })

    const [{ text }] = await after(hour)
    expect(text).toContain('1 message waits for your decision in the account "Acme"')
    expect(text).toContain(
      `from @alice. It expires on ${new Date(grid.clock.now + 23 * hour).toISOString().slice(0, 10)}`,
    )
    expect(text).not.toContain('secret')
    expect(await after(hour)).toEqual([])
  })

  test('a digest lists messages in order of expiry, and mentions each again before it expires', async () => {
    const rule = { to: '@ann-lee', deciders: [ann.person.id] }
    await createApprovalRule(grid.acme.store, { ...rule, name: 'slow', from: '@alice' })
    await createApprovalRule(grid.acme.store, { ...rule, name: 'fast', from: '@bob', expiresInHours: 3 })
    await choose('hourly')
    await sendMessage(alice, { to: 'ann-lee', text: 'one' })
    await sendMessage(storeOf(grid, grid.bob), { to: 'ann-lee', text: 'two' })
    const end = new Date(grid.clock.now + 3 * hour).toISOString().slice(0, 16).replace('T', ' ')

    const [{ text }] = await after(hour)
    expect(text).toContain(`from @bob, @alice. The first one expires on ${end} UTC.`)
    expect((await after(hour)).length).toBe(1)
  })

  test('a digest is sent only if something new waits', async () => {
    await choose('hourly')
    expect(await after(hour)).toEqual([])
    await say(grid, alice, 'ann-lee', 'answered at once')
    await writeMessage(ann.account, { to: 'alice', text: 'yes' })
    await followLog(grid.store)
    expect(await after(hour)).toEqual([])
    const { id } = await say(grid, alice, 'ann-lee', 'read, and not answered')
    await markRead(ann.account, [id])
    expect((await after(hour)).length).toBe(1)
    expect(await after(hour)).toEqual([])

    await say(grid, alice, 'ann-lee', 'waits, too')
    expect((await after(hour)).map(({ text }) => text)).toEqual([expect.stringContaining('2 messages wait')])
  })

  test('several processes together send one digest per period, and one for all missed periods', async () => {
    await choose('daily')
    await say(grid, alice, 'ann-lee', 'hello')
    grid.clock.now += 3 * day + hour
    await Promise.all([1, 2, 3].map(() => sendDigests(grid.store)))
    expect(grid.emails.splice(0).length).toBe(1)

    await say(grid, alice, 'ann-lee', 'hello again')
    expect(await after(23 * hour - 1)).toEqual([])
    expect((await after(1)).length).toBe(1)
  })

  test('the digest of a killed process is skipped, and the next one covers its messages', async () => {
    await choose('hourly')
    await say(grid, alice, 'ann-lee', 'hello')
    const { nextAt } = (await findDigest(ann.account))!
    const { change: notifications } = grid.acme.store.feature(notificationTables)
    await grid.acme.store.write([notifications.claimDigest(ann.person.id, nextAt, nextAt + hour)])

    expect(await after(2 * hour - 1)).toEqual([])
    expect((await after(1)).length).toBe(1)
  })

  test('digests end when the user unsubscribes or gives up the alias', async () => {
    await say(grid, alice, 'ann-lee', 'hello')
    await choose('hourly')
    await choose(undefined)
    expect(await after(day)).toEqual([])
    await choose('hourly')
    await giveUpAlias(ann.account)

    expect(await after(day)).toEqual([])
    expect(await rows(grid, 'SELECT 1 FROM mail_digests WHERE account_id = ?', [grid.acme.id])).toEqual([])
  })

  test('channel posts do not count as waiting', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'ann-lee'] })
    await choose('hourly')
    await say(grid, alice, '#general', 'a post')

    expect(await after(hour)).toEqual([])
  })

  test('no digest is sent to an address that is no longer verified', async () => {
    await choose('hourly')
    await say(grid, alice, 'ann-lee', 'hello')
    const unproved = { sql: 'UPDATE users SET email_verified_at = NULL WHERE id = ?', args: [ann.person.id] }
    await grid.store.write([unproved])

    expect(await after(hour)).toEqual([])
  })

  test('turning on digests requires a verified address and an email server', async () => {
    await expect(setDigest(ann.account, { emailVerifiedAt: null }, 'hourly')).rejects.toMatchObject({
      code: 'invalid_input',
    })
    Object.assign(grid.deps.email, { isConfigured: false })
    await expect(choose('hourly')).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

test('a recipient gets at most 12 digests an hour', async () => {
  const { store } = await testGrid({ env: { MAILS_PER_HOUR: '150' } })
  for (let n = 0; n < 12; n++) expect(await takeDigestAttempt(store, 'ann@acme.example')).toBe(true)

  expect(await takeDigestAttempt(store, 'ann@acme.example')).toBe(false)
  expect(await takeDigestAttempt(store, 'other@x.example')).toBe(true)
})
