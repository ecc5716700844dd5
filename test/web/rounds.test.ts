/** How many sequential rounds of queries each page needs on a remote database. See docs/architecture.md, "Pages". */
import { beforeAll, expect, test } from 'vitest'
import { second } from '../../src/lib/time.ts'
import { browser } from '../support/browse.ts'
import { parametersOf } from '../support/crawl.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { countingConnect, roundsOf } from '../support/rounds.ts'
import { pagesOf, type SeededSite, seedSite, type SitePage } from '../support/site.ts'

/** The maximum number of rounds: one for the visitor, then three, each of which needs the previous one. */
const most = 4
/** The age at which the cached numbers of Attention are recounted. */
const laterMs = 11 * second

let grid: TestGrid
let site: SeededSite
let pages: SitePage[]
beforeAll(async () => {
  grid = await testGrid({ connect: countingConnect, env: { SIGNUP_PER_HOUR: '1000' } })
  site = await seedSite(grid)
  pages = await pagesOf(grid, site)
}, 120_000)

/** Returns the rounds of a second visit. The first visit records the reading and the seen messages. */
async function roundsOfPage({ path, as = 'owner' }: Pick<SitePage, 'path' | 'as'>) {
  const visitor = site.browsers[as] ?? browser(grid)
  const open = async () => await visitor.request(path(site))
  await open()
  grid.clock.now += laterMs
  const { rounds, result } = await roundsOf(open)
  grid.clock.now -= laterMs
  return { rounds, status: result.status }
}

test('every page of every visitor waits for the database at most four times', async () => {
  const tooMany: string[] = []
  for (const page of pages) {
    const { rounds, status } = await roundsOfPage(page)

    expect(status, page.name).toBe(page.status ?? 200)
    if (rounds.length > most) tooMany.push(`${page.name}: ${described(rounds)}`)
  }
  expect(tooMany).toEqual([])
})

test.each<[string, (site: SeededSite) => string]>([
  ['a conversation before a message', ({ talk }) => `/conversations/${talk.conversation}?before=${talk.message}`],
  ['a conversation after a message', ({ talk }) => `/conversations/${talk.conversation}?after=${+talk.message - 1}`],
  ['a conversation at a time', ({ talk }) => `/conversations/${talk.conversation}?at=2026-11-21T10:00`],
  [
    'what follows in a conversation',
    ({ talk }) => `/conversations/${talk.conversation}/messages?after=${talk.message}`,
  ],
  ['the channels', () => '/conversations?show=channels'],
  ['conversations of a name', () => '/conversations?search=review'],
  ['the names of the search box', () => '/jump?q=re'],
  ['the figures of a week', () => '/home?figures=week'],
  ['a search between two days', () => '/search?q=note&after=2026-11-21&before=2026-11-23'],
  ['conditions of one kind', () => '/attention?show=waiting'],
  ['the network of a day by skill', () => '/network?window=day&group=skill'],
  ['the agents by what is unread', () => '/agents?sort=unread'],
  ['the tasks that failed', () => '/tasks?show=failed'],
])('a part of a page waits for the database at most four times: %s', async (_, path) => {
  const { rounds, status } = await roundsOfPage({ path: (site) => `/accounts/${site.account}${path(site)}` })

  expect(status).toBe(200)
  expect(rounds.length, described(rounds)).toBeLessThanOrEqual(most)
})

test.each<[string, keyof SeededSite['browsers'] | undefined, number]>([
  ['is no member', 'beginner', 404],
  ['has no session', undefined, 303],
])('nothing except the session is read for a visitor who %s', async (_, as, expected) => {
  const visitor = (as && site.browsers[as]) ?? browser(grid)
  for (const below of ['/home', '/attention', `/conversations/${site.talk.mine}`, '/agents/review']) {
    const { rounds, result } = await roundsOf(() => visitor.request(`/accounts/${site.account}${below}`))

    expect(result.status).toBe(expected)
    expect(rounds.flat().filter((sql) => !/sessions\.token_hash = \?1/.test(sql))).toEqual([])
  }
})

test('every page is covered by this test', async () => {
  const known = Object.assign({}, ...pages.map(({ route, path }) => parametersOf(route, path(site).split('?')[0])))
  const routes = new Set(grid.app.routes.flatMap(({ method, path }) => method === 'GET' ? [path] : []))
  const leftOut: string[] = []
  for (const route of [...routes].filter((route) => route !== '/live' && !pages.some((page) => page.route === route))) {
    const path = route.replace(/:(\w+)/g, (_, name) => ({ ...known, account: site.account, part: '0' })[name] ?? 'x')
    const answer = await site.browsers.owner!.request(path)
    if (answer.status === 200 && (await answer.text()).startsWith('<!doctype html>')) leftOut.push(route)
  }
  expect(leftOut).toEqual([])
})

/** Returns the beginnings of each round's queries. */
function described(rounds: string[][]): string {
  return rounds.map((queries, n) => `\n${n + 1}: ${queries.map((sql) => sql.slice(0, 80)).join('\n   ')}`).join('')
}
