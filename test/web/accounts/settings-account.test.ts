/** The account settings: a row for each subject, and a page for each subject. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../../src/auth/actor.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { person, signedIn } from '../../support/people.ts'
import { postWithToken } from '../../support/roles.ts'

let grid: TestGrid
let settings: string
const users = {} as Record<Role, Browser>
beforeAll(async () => {
  grid = await testGrid()
  settings = `/accounts/${grid.acme.id}/settings/account`
  for (const role of ['owner', 'admin', 'member', 'viewer'] as const) {
    users[role] = await signedIn(grid, await person(grid, { role }))
  }
})

const all = [
  ...['name', 'usage', 'second-factor', 'sso', 'turns', 'reading', 'contents', 'keys', 'incoming', 'webhooks'],
  ...['programs', 'export', 'delete'],
]
const ofEveryRole = ['name', 'usage', 'second-factor', 'turns', 'reading', 'contents']
const ofManagers = [...ofEveryRole, 'keys', 'incoming', 'webhooks', 'programs']

/** Returns each row's subject, its state, and the visitor's action. */
async function rowsOf(one: Browser) {
  const { html } = await one.open(settings)
  const row = /<li id="([\w-]+)">.*?<a class="open" href="([^"]*)">.*?<bdi>(.*?)<\/bdi>.*?class="at">(.*?)<\/span>/gs
  return [...html.matchAll(row)].map(([, path, href, state, link]) => ({ path, href, state, link }))
}

test('an owner sees each account setting on one line, with its state and without a form', async () => {
  const rows = await rowsOf(users.owner)

  expect(rows.map(({ path }) => path)).toEqual(all)
  expect(rows.map(({ href }) => href)).toEqual(all.map((path) => `${settings}/${path}`))
  expect(Object.fromEntries(rows.map(({ path, state, link }) => [path, `${state} | ${link}`]))).toEqual({
    name: 'Acme | Change',
    usage: '0 of 200,000 messages, 0 of 1,000 MB | Open',
    'second-factor': 'Optional for owners and admins | Change',
    sso: 'Not set up | Set up',
    turns: 'A warning at 30 turns an hour, a pause at 200, 64 answers in a chain | Change',
    reading: 'Owners and admins read all messages | Change',
    contents: 'Not kept, and shown to nobody | Change',
    keys: '1 admin key | Open',
    incoming: 'None | Set up',
    webhooks: 'No webhooks | Set up',
    programs: 'No programs are connected | Open',
    export: 'The account as a file, for another grid | Open',
    delete: 'An owner can bring it back for 7 days | Open',
  })
  const { html } = await users.owner.open(settings)
  expect(html).not.toContain(`action="${settings}/`)
})

test.each<[Role, string[]]>([
  ['admin', ofManagers],
  ['member', ofEveryRole],
  ['viewer', ofEveryRole],
])('the role %s sees only account settings that it may change, and cannot open others', async (role, paths) => {
  const rows = await rowsOf(users[role])
  const opened = await Promise.all(all.map(async (path) => (await users[role].open(`${settings}/${path}`)).status))

  expect(rows.map(({ path }) => path).sort()).toEqual([...paths].sort())
  expect(opened).toEqual(all.map((path) => paths.includes(path) ? 200 : 403))
  expect(rows.filter(({ link }) => link === 'Change').map(({ path }) => path)).toEqual(
    role === 'admin' ? ['turns'] : [],
  )
})

describe('the page of an account setting', () => {
  test('the page of an account setting has a link back to the list, and its own title', async () => {
    const titles: string[] = []
    for (const path of all) {
      const { html } = await users.owner.open(`${settings}/${path}`)
      expect(html, path).toContain(`<a class="back row" href="${settings}">`)
      expect(html, path).toContain(`<a href="${settings}" aria-current="page">Account</a>`)
      titles.push(html.match(/<title>(.*?) ·/)![1])
    }
    expect(new Set(titles).size).toBe(all.length)
  })

  test.each([
    ['name', { name: 'a\u0007b' }, 'account-renamed', { name: 'Acme' }],
    ['turns', { warn: 'ten' }, 'saved', { warn: '20', perHour: '200', hops: '64' }],
  ])("posting the form %s, refused or not, leads back to the setting's page", async (path, wrong, notice, right) => {
    const at = `${settings}/${path}`
    const refused = await postWithToken(users.owner, at, wrong as Record<string, string>)
    expect([refused.status, refused.at]).toEqual([400, at])
    expect(refused.html).toContain(`action="${at}"`)
    expect(refused.html).toContain(`<a class="back row" href="${settings}">`)

    const { at: then } = await postWithToken(users.owner, at, right as Record<string, string>)
    expect(then).toBe(`${at}?done=${notice}`)
  })
})
