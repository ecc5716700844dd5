/**
 * The actions of each role on an account's pages. Every form on a page is posted with every role, as an outsider and
 * without its token. The routes declare the permissions. See docs/people.md, "Roles", and docs/security.md, "Pages".
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { permissions, type Role, roles } from '../../src/auth/actor.ts'
import { createSessions } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { madeFromField } from '../../src/html/made-from.ts'
import { newId } from '../../src/lib/id.ts'
import { AttentionCounts } from '../../src/web/attention/counts.ts'
import type { FormRoute } from '../../src/web/visit.ts'
import { createWebApp } from '../../src/web/web.ts'
import { webFeatures } from '../../src/features.ts'
import type { Browser } from '../support/browse.ts'
import { crawl, type Crawled, type FoundForm, parametersOf } from '../support/crawl.ts'
import { dump, rows } from '../support/database.ts'
import { findMessage } from '../../src/grid/conversations/messages.ts'
import { writeMessage } from '../../src/grid/conversations/write.ts'
import { followLog } from '../../src/worker/followers.ts'
import { restoreAccount } from '../../src/grid/accounts/deletion.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { following } from '../support/live.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import { csrfTokenOf, person, signedIn } from '../support/people.ts'
import { addTotp } from '../support/second-factor.ts'
import { type SlackServer, startSlack } from '../support/slack.ts'
import { type SeededSite, seedSite } from '../support/site.ts'

/** Actions that end something that other forms need. They are posted in this order, after all others. */
const endings = [
  /(revoke|end|retract|disallow|resume|refuse|(security\/.*|members\/|slack\/)remove)$/,
  /reset-second-factor$/,
  /((?<!sso\/)remove|withdraw|give-up|(?<!account\/)delete|held\/:held\/edit)$/,
  /(leave|account\/second-factor)$/,
  /sso\/(required|remove)$/,
  /account\/delete$/,
  /hand-over$/,
]

let grid: TestGrid
let unfollow: () => Promise<void>
let site: SeededSite
let slack: SlackServer
let routes: { pages: string[]; forms: string[] }
let declared: Map<string, readonly Role[]>
/** The page of a message that the owner can retract. Links lead to other messages first. */
let retractable: string
/** A user of each role, and the forms that this user found. */
const users = {} as Record<Role, { id: string }>
const found = {} as Record<Role, Crawled>
/** Starts a new session, because some forms end the other sessions. */
const as = (role: Role) => signedIn(grid, users[role])
const home = () => `/accounts/${site.account}/settings/profile`

beforeAll(async () => {
  slack = await startSlack()
  grid = await testGrid({ env: { DURABILITY: 'relaxed' }, safeFetch: slack.safeFetch })
  site = await seedSite(grid)
  const { store, acme } = grid
  // A form that writes redirects to its conversation, so conversations must be assigned.
  unfollow = following(store)
  const posts: FormRoute[] = []
  const sessions = createSessions(store, servedOrigins(store.deps.config))
  const app = createWebApp(
    { store, sessions, attention: new AttentionCounts(store.deps), features: webFeatures() },
    posts,
  )
  const below = app.routes.filter(({ path }) => path.startsWith('/accounts/:account'))
  routes = {
    pages: below.filter(({ method }) => method === 'GET').map(({ path }) => path),
    forms: posts.map(({ path }) => path),
  }
  declared = new Map(posts.map(({ path, may }) => [path, permissions[may]]))

  const olga = (await store.global.users.byEmail('olga@acme.example'))!
  await accessTokenFor(grid, olga.id, acme.id)
  const personAlias = (await acme.store.read.agents.byAlias('olga-marin'))!.id
  // Gives each agent a program and a parked message, and makes it unreachable, so that any agent's page has all forms.
  for (const { id } of await acme.store.read.agents.page('', 50)) {
    await accessTokenFor(grid, olga.id, acme.id, id)
    const parked = `UPDATE deliveries SET state = 'parked', read_at = 1 WHERE account_id = ? AND inbox IN (
      SELECT inbox FROM v_deliveries WHERE agent_id = ?)`
    if (id === personAlias) continue
    await rows(grid, parked, [acme.id, id])
    const remote = `UPDATE agents SET remote_url = 'https://robot.invalid/' WHERE account_id = ? AND id = ?`
    await rows(grid, remote, [acme.id, id])
    await rows(grid, 'INSERT OR IGNORE INTO remote_agents (account_id, agent_id) VALUES (?, ?)', [acme.id, id])
    const line = "INSERT INTO remote_outboxes (account_id, agent_id, sender_id, failing_since) VALUES (?, ?, '', ?)"
    await rows(grid, line, [acme.id, id, grid.clock.now])
  }
  const actor = {
    type: 'user',
    userId: olga.id,
    role: 'owner',
    sessionId: 'test',
    confirmedAt: grid.clock.now,
  } as const
  const asOlga = store.account(acme.id, actor)
  const { id } = await writeMessage(asOlga, { to: '@bob', text: 'To be retracted' })
  await followLog(store)
  retractable = `/accounts/${acme.id}/messages/${(await findMessage(asOlga, { id }))!.seq}`
  users.owner = olga
  users.member = (await store.global.users.byEmail('hal@acme.example'))!
  await addTotp(grid, await person(grid, { role: 'member' }))
  for (const role of ['admin', 'viewer'] as const) {
    users[role] = await person(grid, { role, isVerified: role === 'viewer' })
  }
  // Every role also opens the pages to which only owners have links.
  for (const role of roles) {
    found[role] = await crawl(await as(role), routes, retractable, [home(), ...found.owner?.pages.values() ?? []])
  }
})

afterAll(() => slack.close())
afterAll(() => unfollow?.())

/** Returns a route's form, as found by the weakest role that sees it. */
function exampleOf(route: string): { role: Role; form: FoundForm } | undefined {
  const role = [...declared.get(route)!].reverse().find((role) => found[role].forms.has(route))
  return role && { role, form: found[role].forms.get(route)! }
}

async function post(one: Browser, { action, fields }: Pick<FoundForm, 'action' | 'fields'>, csrf?: string) {
  // Add an agent, because a guardrail is attached only to agents that the user names.
  const chosen = fields.some(([, value]) => value === 'chosen') ? [['agents', 'alice']] : []
  // Omits the original values, because other roles have posted since. See `outdated-forms.test.ts`.
  const given = fields.filter(([name]) => name !== madeFromField)
  return await one.request(action, {
    method: 'POST',
    headers: { 'Origin': 'http://localhost:8787', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([...given, ...chosen, ...(csrf === undefined ? [] : [['csrf', csrf]])]).toString(),
  })
}

/** Posts every form with `answer`, and checks that nothing changed. Resolves to `POST route: status` lines. */
async function refusedEverywhere(answer: (form: FoundForm, route: string) => Promise<number | undefined>) {
  const before = await dump(grid, grid.acme, ['activity', 'thread_seen'])
  const answers: string[] = []
  for (const route of routes.forms) {
    const example = exampleOf(route)
    const status = example && await answer(example.form, route)
    if (status !== undefined) answers.push(`${route}: ${status}`)
  }
  expect(await dump(grid, grid.acme, ['activity', 'thread_seen'])).toBe(before)
  return answers
}

test.each(roles)('%s sees only forms that the role may post', (role) => {
  expect([...found[role].forms.keys()].filter((route) => !declared.get(route)!.includes(role))).toEqual([])
})

test.each(roles)('%s is refused every other form, and nothing changes', async (role) => {
  const one = await as(role)
  const csrf = await csrfTokenOf(one, home())
  const answers = await refusedEverywhere(async (form, route) =>
    declared.get(route)!.includes(role) ? undefined : (await post(one, form, csrf)).status
  )

  expect(answers.filter((answer) => !answer.endsWith(': 403'))).toEqual([])
})

test("another account's owner reaches nothing, by the path or through their own account", async () => {
  const evil = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))
  const csrf = await csrfTokenOf(evil, `/accounts/${grid.evil.id}/settings/profile`)
  const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
  const answers = await refusedEverywhere(async (form, route) => {
    const { status } = await post(evil, form, csrf)
    const { account: _, provider, ...named } = parametersOf(route, form.action)
    if (provider || Object.keys(named).length === 0) return status
    const action = form.action.replace(site.account, grid.evil.id)
    const random = Object.values(named).reduce((path, value) => {
      return path.replace(`/${value}`, `/${/^\d+$/.test(value) ? '987654' : value.length === 36 ? newId() : 'n-none'}`)
    }, action)
    const [one, other] = await Promise.all([action, random].map((action) => post(evil, { ...form, action }, csrf)))
    const [text, otherText] = await Promise.all([one, other].map((answer) => answer.text()))
    const anonymous = (text: string) => Object.values(named).reduce((text, name) => text.replaceAll(name, '…'), text)
    const isSame =
      anonymous(text).replace(uuid, '…') === anonymous(otherText).replace(/n-none|987654/g, '…').replace(uuid, '…')
    return isSame && one.status === 404 && other.status === 404 ? status : one.status * 1000 + other.status
  })

  expect(answers.filter((answer) => !answer.endsWith(': 404'))).toEqual([])

  const seen: string[] = []
  for (const [route, path] of found.owner.pages) {
    const { account: _, provider, ...named } = parametersOf(route, path.split('?')[0])
    const through = path.replace(site.account, grid.evil.id)
    const foreign = provider || Object.keys(named).length === 0 ? [path] : [path, through]
    for (const page of foreign) if ((await evil.request(page)).status !== 404) seen.push(page)
  }
  expect(seen).toEqual([])
})

test('no form works without a session, or without its token', async () => {
  const signedOutBrowser = await signedIn(grid, await person(grid))
  signedOutBrowser.cookies.clear()
  const owner = await as('owner')
  const csrf = await csrfTokenOf(owner, home())
  const signedOut = await refusedEverywhere(async (form) => (await post(signedOutBrowser, form, csrf)).status)
  // The status 307 forwards the form to the sign-in page.
  expect(signedOut.filter((answer) => !/: (401|307)$/.test(answer))).toEqual([])

  const withoutToken = await refusedEverywhere(async (form) => (await post(owner, form)).status)
  expect(withoutToken.filter((answer) => !answer.endsWith(': 403'))).toEqual([])
})

test('every form is found on a page, and can be posted by the weakest permitted role', async () => {
  const done = new Map<string, string>()
  const places: string[] = []
  /** Routes that refuse the weakest role they declare. Checked only if this role does not see the form. */
  const refused: string[] = []
  for (;;) {
    const due = routes.forms.filter((route) => !done.has(route) && exampleOf(route))
    const order = (route: string) => endings.findIndex((ending) => ending.test(route))
    const least = Math.min(...due.map(order))
    const now = due.filter((route) => order(route) === least)
    if (now.length === 0) break
    for (const route of now) {
      const { role, form } = exampleOf(route)!
      const weakest = declared.get(route)!.at(-1)!
      if (role !== weakest) {
        const one = await as(weakest)
        const { status } = await post(one, form, await csrfTokenOf(one, home()))
        // Except for conversations, which refuse members who do not take part.
        if (status === 403 && !route.endsWith('/:thread/messages')) refused.push(`${weakest}: ${route}`)
      }
      const one = await as(role)
      const answer = await post(one, form, await csrfTokenOf(one, home()))
      const allowed = form.needsDevice ? [200, 204, 303, 400] : [200, 204, 303]
      done.set(route, allowed.includes(answer.status) ? 'done' : `${role}: ${answer.status} ${JSON.stringify(form)}`)
      places.push(answer.headers.get('location') ?? '')
      if (route.endsWith('/account/delete')) await restoreAccount(grid.acme.store)
    }
    // Crawl again, to find later forms on the pages of everything that remains.
    if ([-1, 0, 2].includes(least)) {
      for (const role of roles) found[role] = await crawl(await as(role), routes, retractable, [home(), ...places])
    }
  }

  expect(refused).toEqual([])
  expect([...done].filter(([, result]) => result !== 'done')).toEqual([])
  expect(routes.forms.filter((route) => !done.has(route))).toEqual([])
}, 300_000)
