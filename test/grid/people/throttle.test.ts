/** Rate limits of sign-ins and emails. See docs/people.md, "Signing in". */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type EmailAttempt,
  requireEmailAttempt,
  takeEmailAttempt,
  takeSignInAttempt,
} from '../../../src/grid/people/throttle.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import { repeatAttempts, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const ann = 'ann@acme.example'
const here = '203.0.113.7'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ limits: { emailsPerHour: 150 } })
})

describe('sign-ins', () => {
  test('of 1,000 concurrent attempts at most 10 reach the password check, and the user can sign in from elsewhere', async () => {
    const attempts = await Promise.all(Array.from({ length: 1_000 }, () => tries()))

    expect(attempts.filter((code) => code === 'ok')).toHaveLength(4)
    expect(await tries(ann, '198.51.100.1')).toBe('ok')
    expect(await tries('bob@acme.example')).toBe('ok')
  })

  test('a sign-in with the correct password ends the pause after wrong passwords', async () => {
    for (let n = 0; n < 3; n++) await takeSignInAttempt(grid.store, ann, here)
    const attempt = await takeSignInAttempt(grid.store, ann, here)
    expect(await tries()).toBe('rate_limit_exceeded')

    await attempt.succeeded()

    expect(await tries()).toBe('ok')
  })

  test('attempts from many client addresses are slowed down, and a new address still gets one attempt', async () => {
    for (let n = 0; n < 100; n++) expect(await tries(ann, `198.51.100.${n}`)).toBe('ok')

    expect(await tries(ann, '203.0.113.9')).toBe('ok')
    expect(await tries(ann, '203.0.113.9')).toBe('rate_limit_exceeded')
    grid.clock.now += 15 * minute
    expect(await tries(ann, '203.0.113.9')).toBe('ok')
  })

  test('one client address can try 30 users a minute and 300 an hour, not counting successful sign-ins', async () => {
    const allowed = async () => {
      const people = Array.from({ length: 40 }, (_, n) => `p${n}-${grid.clock.now}@acme.example`)
      const codes = await Promise.all(people.map((email) => tries(email)))
      return codes.filter((code) => code === 'ok').length
    }
    for (let n = 0; n < 40; n++) {
      await (await takeSignInAttempt(grid.store, `in${n}@acme.example`, here)).succeeded()
    }

    const byMinute: number[] = []
    for (let minutes = 0; minutes < 11; minutes++) {
      byMinute.push(await allowed())
      grid.clock.now += minute
    }

    expect(byMinute).toEqual([...Array.from({ length: 10 }, () => 30), 0])
    expect(await tries(ann, '198.51.100.1')).toBe('ok')
  })

  test.each([
    ['one user', 40, (_: number) => ann],
    ['any user', 300, (n: number) => `p${n}@acme.example`],
  ])('an IPv6 /48 can make ten times as many attempts as a /64: %s', async (_, max, email) => {
    const codes = await Promise.all(
      Array.from({ length: max + 100 }, (_, n) => tries(email(n), `2001:db8:1:${(n >> 2).toString(16)}::/64`)),
    )

    expect(codes.filter((code) => code === 'ok')).toHaveLength(max)
    expect(await tries(ann, '2001:db8:2:1::/64')).toBe('ok')
  })

  test("beyond the grid's limit of failed sign-ins, each client address has one attempt, and reaching the limit is logged", async () => {
    expect(await tries('bob@acme.example', '198.51.100.1')).toBe('ok')
    await repeatAttempts(grid, 'sign_in_all', 5_999)

    expect(await tries(ann, here)).toBe('ok')
    expect(grid.logs.join('\n')).toContain('"level":"error","message":"The hourly limit of failed sign-ins')
    expect(await tries(ann, here)).toBe('rate_limit_exceeded')
    expect(await tries(ann, '198.51.100.200')).toBe('ok')
    grid.clock.now += hour
    expect(await tries(ann, here)).toBe('ok')
  })

  test('email addresses and client addresses are not stored in plain text', async () => {
    await tries()
    expect(JSON.stringify(await rows(grid, 'SELECT * FROM attempts'))).not.toMatch(/ann|acme|203\.0/)
  })

  function tries(email = ann, address = here): Promise<string> {
    return takeSignInAttempt(grid.store, email, address).then(() => 'ok', (error) => error.code)
  }
})

describe('emails', () => {
  const take = (email: string, address: string, purpose: EmailAttempt['purpose'] = 'claim') =>
    takeEmailAttempt(grid.store, { purpose, email, address })

  test('one recipient gets 1 email within 5 minutes and 3 within a day, from any client', async () => {
    const sent: number[] = []
    for (let n = 0; n < 1_000; n++) {
      if (await take(ann, `198.51.${n >> 8}.${n & 255}`)) sent.push(grid.clock.now)
      grid.clock.now += minute
    }

    expect(sent).toHaveLength(3)
    expect([sent[1] - sent[0], sent[2] - sent[1]]).toEqual([5 * minute, 5 * minute])
  })

  test.each(
    [
      ['one address', 5, () => here, 'claim'],
      ['one /64', 5, () => '2001:db8:1:1::/64', 'claim'],
      ['one /48', 50, (n: number) => `2001:db8:1:${n.toString(16)}::/64`, 'claim'],
      ['the claims of the whole grid', 60, (n: number) => `198.51.${n >> 8}.${n & 255}`, 'claim'],
      ['the whole grid', 150, (n: number) => `198.51.${n >> 8}.${n & 255}`, 'reset'],
    ] as const,
  )('%s can cause at most %i emails an hour', async (who, max, address, purpose) => {
    const takeNth = (n: number) => take(`p${n}@x.example`, address(n), purpose)
    const results = await Promise.all(Array.from({ length: max + 10 }, (_, n) => takeNth(n)))

    expect(results.filter(Boolean)).toHaveLength(max)
    const isLogged = grid.logs.join('\n').includes(
      '"level":"error","message":"The hourly email limit of the grid is reached"',
    )
    expect(isLogged).toBe(who === 'the whole grid')
    grid.clock.now += hour
    expect(await takeNth(500)).toBe(true)
  })

  test.each([
    [1, 0, 5 * minute, 'Too many emails were sent. Try again in 5 minutes.'],
    [3, 5 * minute, day - 15 * minute, 'Too many emails were sent. Try again in 24 hours.'],
  ])('a refusal says when to try again, after this many emails: %i', async (count, apartMs, waitMs, message) => {
    for (let n = 0; n < count; n++) {
      await requireEmailAttempt(grid.store, { purpose: 'verify', email: ann, address: here })
      grid.clock.now += apartMs
    }

    await expect(requireEmailAttempt(grid.store, { purpose: 'verify', email: ann, address: here })).rejects
      .toMatchObject({
        code: 'rate_limit_exceeded',
        message,
        details: { retryAfterSeconds: waitMs / 1_000 },
      })
    grid.clock.now += waitMs
    await requireEmailAttempt(grid.store, { purpose: 'verify', email: ann, address: here })
  })
})
