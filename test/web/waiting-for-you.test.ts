/** Messages that wait for a person's answer. docs/web.md, "Attention". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import type { Browser } from '../support/browse.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { signedInByEmail, signedInMember } from '../support/people.ts'
import { type WritingGrid, writingGrid } from '../support/writing.ts'

let world: WritingGrid<TestGrid>
let ann: Browser
beforeEach(async () => {
  world = await writingGrid(await testGrid())
  ann = world.browser
})
afterEach(() => world.close())

/** Returns the count in the navigation. */
const count = (html: string) => html.match(/class="side".*?Attention(?:<span class="count"[^>]*>(\d+\+?))?/s)?.[1]

test("a question stays in Attention and in the navigation's number until it is answered, without script", async () => {
  const { grid, tell, path } = world
  const { thread } = await tell(grid.alice, 'ann', 'deploy **now**?')
  const page = path('conversations', thread)
  await ann.submit(page, {}, `${page}/read`)
  const before = await ann.open(path('attention'))
  expect(before.text).toMatch(/Waiting for your answer .*@alice ?: deploy now\? Dismiss/)
  expect(count(before.html)).toBe('1')
  expect((await ann.open(page)).text).toContain('1 message waits for your answer')

  const after = await ann.submit(page, { text: 'yes' }, `${page}/messages`)
  expect(after.text).not.toContain('for your answer')
  expect(count(after.html)).toBeUndefined()
  expect((await ann.open(path('attention'))).text).toContain('All is well.')
})

test('dismissing a question applies to the whole conversation, and returns to the page', async () => {
  const { grid, tell, path } = world
  const first = await tell(grid.alice, 'ann', 'one')
  await tell(grid.alice, 'ann', 'two')
  await tell(grid.bob, 'ann', 'three')
  const page = path('conversations', first.thread)

  const after = await ann.submit(path('attention'), {}, `${page}/dismiss`)
  expect(after.at).toBe(`${path('attention')}?done=dismissed`)
  expect(after.text).toContain('Dismissed.')
  expect(after.text).not.toContain(': two')
  expect(count(after.html)).toBe('1')

  const { seq, thread } = await tell(grid.bob, 'ann', 'four')
  const there = await ann.submit(
    `${path('conversations', thread)}?show=you`,
    {},
    `${path('conversations', thread)}/dismiss`,
  )
  expect(there.at).toBe(`${path('conversations', thread)}?done=dismissed&show=you`)
  expect(seq).toBeGreaterThan(first.seq)
  expect(count(there.html)).toBeUndefined()
})

test('others see who has left a message unanswered for an hour, but not the message', async () => {
  const { grid, tell, path } = world
  await tell(grid.alice, 'ann', 'a secret question')
  grid.clock.now += hour - 1
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  const viewer = await signedInMember(grid, grid.acme, 'viewer')
  expect((await owner.open(path('attention'))).text).not.toContain('has not answered')

  grid.clock.now += hour
  for (const one of [owner, viewer]) {
    const { text, html } = await one.open(path('attention'))
    expect(text).toMatch(/@ann has not answered for 1 h 1 message in 1 conversation/)
    expect(html.includes(`/write?to=%40ann`)).toBe(one === owner)
    expect(text).not.toContain('secret')
    expect(count(html)).toBe('1')
  }
  // The person sees the message itself instead of this row.
  expect((await ann.open(path('attention'))).text).not.toContain('has not answered')
})
