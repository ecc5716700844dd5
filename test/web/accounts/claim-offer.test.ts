/** Agents that signed up with a person's email address are offered to that person. See docs/security.md, "Claims". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { csrfTokenOf, person, signedIn } from '../../support/people.ts'

const zoe = 'zoe@new.example'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000' } })
})
afterEach(() => grid.close())

async function signUp(alias: string, email: string): Promise<string> {
  const { api_key } = await (await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })).json()
  return api_key
}

async function provisionalId(email: string): Promise<string> {
  return (await grid.store.global.accounts.byJoinEmail(email))!.id
}

const offerPath = (html: string) => html.match(/href="(\/claims\/[^"]+)"/)?.[1]
const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status

/** Claim everything that the page of an offer shows. */
async function claim(one: Browser, path: string, fields: Record<string, string>) {
  const page = await one.open(path)
  const kept = [...page.html.matchAll(/name="(agent-[^"]+)" value="keep"/g)].map(([, name]): [string, string] => [
    name,
    'keep',
  ])
  return await one.submit(path, [...kept, ...Object.entries(fields)])
}

test('the page of what needs a person offers the agents, and a click leads to the claim without the link of the signup', async () => {
  const owner = await person(grid, { role: 'owner', email: 'olga@acme.example' })
  const olga = await signedIn(grid, owner)
  const home = `/accounts/${grid.acme.id}/attention`
  expect(offerPath((await olga.open(home)).html)).toBeUndefined()
  const key = await signUp('weather', owner.email)

  const page = await olga.open(home)
  expect(page.text).toContain('1 agent signed up for you the trial ends in 1 d')
  const path = offerPath(page.html)!
  expect((await olga.open(path)).text).toContain('@weather')
  const done = await claim(olga, path, { into: grid.acme.id })

  expect(done.text).toContain('The agents now belong to this account')
  expect(await grid.acme.store.read.agents.byAlias('weather')).toBeDefined()
  expect(await status(key)).toBe(200)
  expect(offerPath((await olga.open(home)).html)).toBeUndefined()
  const again = await olga.open(path)
  expect(again.status).toBe(404)
  expect(again.text).toContain('There are no agents to claim here')
})

test('a user without an account is offered them where an account is made', async () => {
  await signUp('zoe-one', zoe)
  await signUp('zoe-two', zoe)
  const one = await signedIn(grid, await person(grid, { email: zoe }))

  const page = await one.open('/')

  expect(page.at).toBe('/new-account')
  expect(page.text).toContain('2 agents signed up for you: claim them')
  const done = await claim(one, offerPath(page.html)!, { name: 'Zoe & Co' })
  expect(done.text).toContain('@zoe-one')
  expect(done.text).toContain('@zoe-two')
})

test('agents in accounts of their own are offered one account after the other', async () => {
  await grid.close()
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000', SIGNUP_JOIN: 'never' } })
  for (const alias of ['zoe-one', 'zoe-two', 'zoe-three']) {
    await signUp(alias, zoe)
    grid.clock.now += 1_000
  }
  const owner = await person(grid, { role: 'owner', email: zoe })
  const one = await signedIn(grid, owner)
  const home = `/accounts/${grid.acme.id}/attention`
  const texts: string[] = []

  for (let path = offerPath((await one.open(home)).html); path; path = offerPath((await one.open(home)).html)) {
    texts.push((await one.open(path)).text.match(/@zoe-\w+|\d+ more agents?/g)!.slice(0, 2).reverse().join(', '))
    await claim(one, path, { into: grid.acme.id })
  }

  expect(texts).toEqual(['@zoe-one, 2 more agents', '@zoe-two, 1 more agent', expect.stringContaining('@zoe-three')])
})

test('while the address is not verified, nothing is offered and the page does not open', async () => {
  await signUp('zoe-one', zoe)
  const user = await person(grid, { role: 'owner', email: zoe, isVerified: false })
  const one = await signedIn(grid, user)
  const path = `/claims/${await provisionalId(zoe)}`

  const texts = [(await one.open(`/accounts/${grid.acme.id}/attention`)).text, (await one.open('/new-account')).text]
  const csrf = await csrfTokenOf(one, '/new-account')

  expect(texts.join(' ')).not.toContain('signed up for you')
  expect((await one.open(path)).status).toBe(404)
  expect((await one.post(path, { csrf, name: 'Mine' })).status).toBe(404)
  await grid.store.write([grid.store.global.users.verifyEmail(user.id, zoe, grid.clock.now)])
  expect((await one.open('/new-account')).text).toContain('1 agent signed up for you')
})

test('an offer to another user is answered like one that does not exist', async () => {
  await signUp('zoe-one', zoe)
  const id = await provisionalId(zoe)
  const mallory = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))
  const csrf = await csrfTokenOf(mallory, '/new-account')
  const random = '019aa000-0000-7000-8000-000000000000'
  const before = await rows(grid, 'SELECT * FROM accounts WHERE id = ?', [id])

  for (
    const act of [
      (id: string) => mallory.open(`/claims/${id}`),
      (id: string) => mallory.post(`/claims/${id}`, { csrf, name: 'Mine' }),
      (id: string) => mallory.post(`/claims/${id}`, { csrf, into: grid.evil.id }),
    ]
  ) {
    const [foreign, unknown] = [await act(id), await act(random)]
    expect(foreign.status).toBe(404)
    expect(foreign.html).toBe(unknown.html)
  }
  expect((await mallory.open('/new-account')).text).not.toContain('signed up for you')
  expect(await rows(grid, 'SELECT * FROM accounts WHERE id = ?', [id])).toEqual(before)
  // Claimed and other accounts of the user are no offers either.
  expect((await mallory.open(`/claims/${grid.evil.id}`)).status).toBe(404)
})

test('without a session, the page of an offer asks to sign in', async () => {
  const page = await browser(grid).open(`/claims/${grid.acme.id}`)

  expect(page.at).toBe(`/sign-in?next=${encodeURIComponent(`/claims/${grid.acme.id}`)}`)
})
