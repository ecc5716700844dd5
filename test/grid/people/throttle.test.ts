/** Limits of sign-ins and mails (security A1, A5). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { requireMailAttempt, takeMailAttempt, takeSignInAttempt } from '../../../src/grid/people/throttle.ts'
import { day, hour, minute, second } from '../../../src/lib/time.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const ann = 'ann@acme.example'
const here = '203.0.113.7'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { MAILS_PER_HOUR: '100' } })
})
afterEach(() => grid.close())

describe('sign-ins', () => {
  test('of 1,000 attempts at once at most 10 go on to the password, and the owner from elsewhere gets in', async () => {
    const attempts = await Promise.all(Array.from({ length: 1_000 }, () => tries()))

    expect(attempts.filter((code) => code === 'ok')).toHaveLength(4)
    expect(await tries(ann, '198.51.100.1')).toBe('ok')
    expect(await tries('bob@acme.example')).toBe('ok')
  })

  test('of 1,000 attempts over an hour at most 10 go on', async () => {
    let allowed = 0
    for (let n = 0; n < 1_000; n++) {
      if (await tries() === 'ok') allowed++
      grid.clock.now += 3.6 * second
    }

    expect(allowed).toBe(10)
  })

  test('each wait is about twice the one before, and the error says how long it is', async () => {
    const waits: number[] = []
    for (let n = 0; n < 10; n++) {
      const error = await takeSignInAttempt(grid.store, ann, here).then(() => undefined, (error) => error)
      if (!error) continue
      const wait = error.details.retryAfterSeconds
      waits.push(wait)
      grid.clock.now += wait * second - 1
      expect(await tries()).toBe('rate_limit_exceeded')
      grid.clock.now += 1
      expect(await tries()).toBe('ok')
    }

    expect(waits).toEqual([30, 30, 60, 120, 240, 480])
  })

  test('the right password ends the waiting', async () => {
    for (let n = 0; n < 3; n++) await takeSignInAttempt(grid.store, ann, here)
    const attempt = await takeSignInAttempt(grid.store, ann, here)
    expect(await tries()).toBe('rate_limit_exceeded')

    await attempt.succeeded()

    expect(await tries()).toBe('ok')
  })

  test('a crowd of addresses is slowed down, and a new address still gets one attempt', async () => {
    for (let n = 0; n < 100; n++) expect(await tries(ann, `198.51.100.${n}`)).toBe('ok')

    expect(await tries(ann, '203.0.113.9')).toBe('ok')
    expect(await tries(ann, '203.0.113.9')).toBe('rate_limit_exceeded')
    grid.clock.now += 15 * minute
    expect(await tries(ann, '203.0.113.9')).toBe('ok')
  })

  test('one address tries 30 people a minute and 300 an hour, and those who get in do not count', async () => {
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

  test('neither address is kept in clear, and what is old goes', async () => {
    await tries()
    expect(JSON.stringify(await kept())).not.toMatch(/ann|acme|203/)

    grid.clock.now += day + 1
    await tries('bob@acme.example')

    expect(await kept()).toHaveLength(3)
  })

  function tries(email = ann, address = here): Promise<string> {
    return takeSignInAttempt(grid.store, email, address).then(() => 'ok', (error) => error.code)
  }
})

describe('mails', () => {
  test('one person gets 1 within 5 minutes and 3 within a day, whoever asks', async () => {
    const sent: number[] = []
    for (let n = 0; n < 1_000; n++) {
      if (await takeMailAttempt(grid.store, ann, `198.51.${n >> 8}.${n & 255}`)) sent.push(grid.clock.now)
      grid.clock.now += minute
    }

    expect(sent).toHaveLength(3)
    expect([sent[1] - sent[0], sent[2] - sent[1]]).toEqual([5 * minute, 5 * minute])
  })

  test('1,000 at once for one person are one', async () => {
    const results = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => takeMailAttempt(grid.store, ann, `198.51.${n >> 8}.${n & 255}`)),
    )

    expect(results.filter(Boolean)).toHaveLength(1)
  })

  test.each([
    ['one address', 5, () => here],
    ['one /64', 5, () => '2001:db8:1:1::/64'],
    ['one /48', 50, (n: number) => `2001:db8:1:${n.toString(16)}::/64`],
    ['the whole grid', 100, (n: number) => `198.51.${n >> 8}.${n & 255}`],
  ])('%s causes %i within an hour', async (_, max, address) => {
    const take = (n: number) => takeMailAttempt(grid.store, `p${n}@x.example`, address(n))
    const results = await Promise.all(Array.from({ length: max + 10 }, (_, n) => take(n)))

    expect(results.filter(Boolean)).toHaveLength(max)
    grid.clock.now += hour
    expect(await take(500)).toBe(true)
  })

  test('what is refused counts for nobody', async () => {
    await takeMailAttempt(grid.store, ann, here)
    for (let n = 0; n < 20; n++) await takeMailAttempt(grid.store, ann, here)

    for (let n = 0; n < 4; n++) expect(await takeMailAttempt(grid.store, `p${n}@x.example`, here)).toBe(true)
    expect(await takeMailAttempt(grid.store, 'p5@x.example', here)).toBe(false)
  })

  test('a reached limit of the whole grid is an alarm', async () => {
    for (let n = 0; n < 101; n++) await takeMailAttempt(grid.store, `p${n}@x.example`, `198.51.100.${n}`)

    expect(grid.logs.join('\n')).toMatch(/"level":"error","message":"The grid sends no more mail this hour"/)
  })

  test.each([
    [1, 0, 5 * minute, 'Too many mails were sent. Try again in 5 minutes.'],
    [3, 5 * minute, day - 15 * minute, 'Too many mails were sent. Try again in 24 hours.'],
  ])('whoever may know is told when the next one is due: after %i', async (count, apartMs, waitMs, message) => {
    for (let n = 0; n < count; n++) {
      await requireMailAttempt(grid.store, ann, here)
      grid.clock.now += apartMs
    }

    await expect(requireMailAttempt(grid.store, ann, here)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message,
      details: { retryAfterSeconds: waitMs / 1_000 },
    })
    grid.clock.now += waitMs
    await requireMailAttempt(grid.store, ann, here)
  })
})

function kept() {
  return rows(grid, 'SELECT * FROM attempts')
}
