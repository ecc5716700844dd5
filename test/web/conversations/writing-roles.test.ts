/** Who can write in a conversation: people whose alias takes part, with a form of their own session. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { roles } from '../../../src/auth/actor.ts'
import { chooseAlias } from '../../../src/grid/people/person-aliases.ts'
import type { Browser } from '../../support/browse.ts'
import { dump } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { csrfTokenOf, person, signedIn } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let site: WritingGrid<TestGrid>
let mine: { thread: number; seq: number }
let others: { thread: number; seq: number }
beforeAll(async () => {
  site = await writingGrid(await testGrid())
  mine = await site.tell(site.grid.alice, '@ann', 'To Ann')
  others = await site.tell(site.grid.alice, '@bob', 'To Bob')
})
afterAll(() => site.close())

async function post(one: Browser, path: string, fields: Record<string, string>): Promise<number> {
  const [, , account] = path.split('/')
  const csrf = await csrfTokenOf(one, `/accounts/${account}/settings/sessions`)
  return (await one.post(path, { csrf, ...fields })).status
}
/** The tables that change when the page of a refused form is viewed. */
const seen = ['activity', 'thread_seen', 'agents']
const unchanged = async (act: () => Promise<unknown>) => {
  const before = await dump(site.grid, site.grid.acme, seen)
  await act()
  expect(await dump(site.grid, site.grid.acme, seen)).toBe(before)
}

test.each(roles)('the role %s can write to agents only with an alias, and never between others', async (role) => {
  const { grid, path, tell } = site
  const one = await person(grid, { role })
  const browser = await signedIn(grid, one)
  await unchanged(async () => {
    for (const thread of [mine.thread, others.thread]) {
      const status = await post(browser, path('conversations', thread, 'messages'), { text: 'Hi' })
      expect(status).toBe(role === 'viewer' ? 403 : 400)
    }
  })
  if (role === 'viewer') return

  await chooseAlias(grid.store.account(grid.acme.id, one.actor(role)), { alias: `the-${role}` })
  const { thread, seq } = await tell(grid.alice, `@the-${role}`, 'Hello')
  await unchanged(async () => {
    const answers: Record<string, string>[] = [{ text: 'Hi' }, { text: 'Hi', reply: `${others.seq}` }]
    for (const fields of answers) {
      for (const there of [mine.thread, others.thread]) {
        expect([403, 404]).toContain(await post(browser, path('conversations', there, 'messages'), fields))
      }
    }
    // A message from another conversation cannot be answered here.
    expect(await post(browser, path('conversations', thread, 'messages'), { text: 'Hi', reply: `${mine.seq}` })).toBe(
      404,
    )
  })
  expect(await post(browser, path('conversations', thread, 'messages'), { text: 'Hi', reply: `${seq}` })).toBe(200)
})

test('people of other accounts, and forms of other sites, cannot write in a conversation', async () => {
  const { grid, browser, path } = site
  const emma = await personWithAlias(grid, 'emma', { account: grid.evil, role: 'owner' })
  const evil = await signedIn(grid, emma.person)
  const messages = path('conversations', mine.thread, 'messages')
  const fields = { text: 'Hi', reply: `${mine.seq}` }
  await unchanged(async () => {
    const foreign = `/accounts/${grid.evil.id}/conversations/${mine.thread}`
    expect(await post(evil, `${foreign}/messages`, fields)).toBe(404)
    expect(await post(evil, `${foreign}/read`, { upTo: `${mine.seq}` })).toBe(404)
    const csrf = await csrfTokenOf(evil, `/accounts/${grid.evil.id}/settings/sessions`)
    expect((await evil.post(messages, { csrf, ...fields })).status).toBe(404)
    expect((await browser.post(messages, fields)).status).toBe(403)
    expect((await browser.post(messages, { csrf, ...fields }, { Origin: 'https://evil.example' })).status).toBe(403)
  })
})
