/**
 * Claiming agents that signed up, by their claim link or as offered after sign-in. See docs/security.md, "Signup and
 * claims".
 */
import { beforeEach, expect, test } from 'vitest'
import { setLimits } from '../../../src/grid/limits.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { setAgentSkills } from '../../../src/grid/agents/skills.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { waitFor } from '../../support/wait-for.ts'
import { arrivalOf, csrfTokenOf, membership, person, signedIn } from '../../support/people.ts'

const ann = 'ann@acme.example'
const zoe = 'zoe@new.example'
const password = 'correct horse battery'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000' } })
})

interface Signed {
  key: string
  alias: string
  path: string
}

async function signUp(alias: string, email: string, more: object = {}): Promise<Signed> {
  const response = await grid.post('/api/v1/agentic-signup', { owner_email: email, alias, ...more })
  const { api_key, trial } = await response.json()
  return { key: api_key, alias, path: new URL(trial.claim_url).pathname }
}

/** Returns a browser whose user has verified the address of the claim. */
async function verified(path: string): Promise<Browser> {
  const person = browser(grid)
  await person.submit(await emailLinkPath(path), { name: 'Zoe', password })
  return person
}

/** Returns the path in the newest email for this claim. */
async function emailLinkPath(path: string): Promise<string> {
  const newest = () => grid.emails.filter(({ link }) => link?.includes(path)).at(-1)
  return new URL((await waitFor('the claim email', newest)).link!).pathname
}

/** Submits the decisions that the page suggests, except for the given agents. */
async function claim(
  person: Browser,
  path: string,
  fields: Record<string, string> = {},
  choices: Record<string, string> = {},
) {
  const { html } = await person.open(path)
  const agents = html.split('<fieldset').slice(1).map((field): [string, string] => {
    const alias = field.match(/Decision about @([a-z0-9-]+)</)![1]
    return [field.match(/name="(agent-[^"]+)"/)![1], choices[alias] ?? field.match(/value="(\w+)" checked/)![1]]
  })
  const given = {
    into: html.match(/<option value="([^"]+)" selected/)?.[1],
    name: html.match(/name="name"[^>]* value="([^"]*)"/)?.[1],
    ...fields,
  }
  return await person.submit(path, [
    ...agents,
    ...Object.entries(given).filter((field): field is [string, string] => field[1] !== undefined),
  ])
}

async function provisionalId(email: string): Promise<string> {
  return (await grid.store.global.accounts.byJoinEmail(email))!.id
}

const offerPath = (html: string) => html.match(/href="(\/claims\/[^"]+)"/)?.[1]
const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status

test("a user with a verified address sees each agent's time and IP address, and claims the agents", async () => {
  const signed = await signUp('zoe-one', zoe, { description: 'counts beans' })
  const other = await signUp('zoe-two', zoe)

  const person = await verified(signed.path)
  const page = await person.open(signed.path)
  const done = await claim(person, signed.path, { name: 'Zoe & Co' })

  for (const words of ['@zoe-one', 'counts beans', '@zoe-two', '203.0.113.7', 'just now']) {
    expect(page.text).toContain(words)
  }
  const home = done.at.split('/')[2]
  expect(await rows(grid, 'SELECT name, state, join_email FROM accounts WHERE id = ?', [home]))
    .toMatchObject([{ name: 'Zoe & Co', state: 'claimed', join_email: null }])
  expect((await person.request(arrivalOf({ id: home }))).status).toBe(200)
  // The trial of both agents has ended, so they can send more than the ten messages that a trial allows.
  for (let n = 0; n < 12; n++) {
    const sent = await callTool(grid, other.key, 'send_message', { to: 'zoe-one', message: `${n}` })
    expect(sent.code).toBeUndefined()
  }
})

test("a discarded agent's key and claim link stop working, and a kept agent's key still works", async () => {
  const [good, bad] = [await signUp('zoe-one', zoe), await signUp('zoe-bad', zoe)]
  const person = await verified(good.path)

  await claim(person, good.path, { name: 'Zoe' }, { 'zoe-bad': 'discard' })

  expect(await status(good.key)).toBe(200)
  expect(await status(bad.key)).toBe(401)
  expect((await person.open(bad.path)).status).toBe(400)
  expect((await person.open(bad.path)).text).toContain('This claim link was used. Its agents were claimed together')
  expect((await person.open('/claim/unknown')).text).toContain('This claim link is unknown')
})

test("moving agents never exceeds the account's skill limit, and the error says what to do", async () => {
  await grid.setPassword(ann, password)
  const { id: agentId } = grid.alice
  const of = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ({ name: `skill ${from + n}` }))
  for (let n = 0; n < 1_000; n += 200) {
    await setAgentSkills(grid.acme.store, { agent: agentId, skills: of(n, Math.min(n + 200, 999)) })
  }
  const one = await signUp('bean-one', ann, { skills: ['beans', 'counting', 'skill 1'] })
  await signUp('bean-two', ann, { skills: ['beans', 'skill 2'] })
  const person = browser(grid)
  await person.submit(await emailLinkPath(one.path), {})
  const count = async () =>
    (await rows(grid, 'SELECT count(*) AS n FROM skills WHERE account_id = ?', [grid.acme.id]))[0].n

  const refused = await claim(person, one.path)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('Delete some of them first, or keep the agents in their own account.')
  expect(await count()).toBe(999)

  const done = await claim(person, one.path, {}, { 'bean-one': 'discard' })
  expect(done.at).toContain(`/accounts/${grid.acme.id}`)
  expect(await count()).toBe(1_000)
})

test("moving agents never exceeds the account's agent limit, even if agents are created concurrently", async () => {
  await grid.setPassword(ann, password)
  await setLimits(grid.acme.store, { agents: 3 })
  const one = await signUp('bean-one', ann)
  await signUp('bean-two', ann)
  const person = browser(grid)
  await person.submit(await emailLinkPath(one.path), {})

  const refused = await claim(person, one.path)
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('has 2 agents, and may have 3')])
  await Promise.all([
    claim(person, one.path, {}, { 'bean-one': 'discard' }),
    createAgent(grid.acme.store, { alias: 'carol' }).catch(() => undefined),
  ])
  expect(await grid.acme.store.read.agents.programs()).toBe(3)
})

test('a claim requires more than the claim link, because the agent also has the link', async () => {
  const signed = await signUp('zoe-one', zoe)
  await grid.setPassword('ed@evil.example', password)
  const [anonymous, ed] = [browser(grid), browser(grid)]
  await ed.signIn('ed@evil.example', password)

  expect((await anonymous.open(signed.path)).text).not.toContain('@zoe-one')
  const page = await ed.open(signed.path)
  expect(page.status).toBe(403)
  expect(page.text).not.toContain('@zoe-one')
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  expect((await ed.post(signed.path, { csrf, name: 'Mine' })).status).toBe(403)
})

test('a user who has not verified the address cannot claim, on the page or with a forged request', async () => {
  const signed = await signUp('bean-one', ann)
  await grid.setPassword(ann, password)
  const person = browser(grid)
  await person.signIn(ann, password)

  const page = await person.open(signed.path)
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]

  expect(page.status).toBe(403)
  expect((await person.post(signed.path, { csrf, name: 'Mine', into: grid.acme.id })).status).toBe(403)
  // The address matches, so the page offers to verify it.
  grid.clock.now += 5 * 60_000
  expect(page.text).toContain('verify that this email address is yours')
  expect((await person.submit(signed.path, {}, `${signed.path}/proof`)).text).toContain(
    `A link is on its way to ${ann}`,
  )
  const proof = await emailLinkPath(signed.path)
  expect((await person.submit(proof, {})).text).toContain('@bean-one')
})

test("a claim email's link can be opened five times and used once", async () => {
  const signed = await signUp('zoe-one', zoe)
  const path = await emailLinkPath(signed.path)
  for (let n = 0; n < 5; n++) expect((await browser(grid).open(path)).status).toBe(200)

  const zoes = browser(grid)
  expect((await zoes.submit(path, { name: 'Zoe' })).at).toBe(signed.path)
  expect((await browser(grid).open(path)).status).toBe(400)
  // The used link leads its user to the claim. After the claim, its page says that the link was used.
  expect((await zoes.open(path)).at).toBe(signed.path)
  await claim(zoes, signed.path, { name: 'Zoe' })
  for (const one of [zoes, browser(grid)]) expect((await one.open(path)).text).toContain('This claim link was used')
})

test('a claim does not include agents that signed up after its page was opened', async () => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const page = await person.open(signed.path)
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  const [agent] = page.html.match(/agent-[0-9a-f-]{36}/)!
  await signUp('zoe-late', zoe)

  const refused = await person.post(signed.path, { csrf, name: 'Zoe', [agent]: 'keep' })

  expect(refused.status).toBe(409)
  expect(refused.text).toContain('Agents were added or deleted')
  expect(refused.text).toContain('@zoe-late')
})

test.each(['admin', 'member', 'viewer'])("an account's %s cannot move agents into the account", async (role) => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const { id } = (await grid.store.global.users.byEmail(zoe))!
  await grid.store.write([membership(grid.store, grid.acme.id, id, role as 'admin', grid.clock.now)])

  expect((await person.open(signed.path)).html).not.toContain('value="move"')
  const refused = await claim(person, signed.path, { into: grid.acme.id, name: 'Zoe' }, { 'zoe-one': 'move' })

  expect(refused.status).toBe(403)
  expect(await status(signed.key)).toBe(200)
})

test("the claim page suggests keeping agents while the owner's accounts are empty, and moving them later", async () => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const { id } = (await grid.store.global.users.byEmail(zoe))!
  const made = (await person.submit('/new-account', { name: 'Empty' })).at.split('/')[2]
  const proposed = async () => (await person.open(signed.path)).html.match(/value="(\w+)" checked/)![1]
  expect(await proposed()).toBe('keep')

  await grid.store.write([membership(grid.store, grid.acme.id, id, 'owner', grid.clock.now)])
  expect(await proposed()).toBe('move')
  const { html } = await person.open(signed.path)
  expect(html.match(/<option value="([^"]*)" selected/)![1]).toBe(grid.acme.id)
  expect(html).toContain(made)
})

test("agents cannot be moved into another user's account or an unknown one", async () => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const choices = { 'zoe-one': 'move' }

  expect((await claim(person, signed.path, { name: 'Zoe', into: grid.acme.id }, choices)).status).toBe(404)
  expect((await claim(person, signed.path, { name: 'Zoe', into: 'nowhere' }, choices)).status).toBe(404)
  expect((await claim(person, signed.path, { name: 'Zoe' }, choices)).text).toContain('Choose the account')
  expect(await status(signed.key)).toBe(200)
})

test('an owner who moves agents sees what does not move, and both accounts have the right agents and log rows', async () => {
  await createAgent(grid.acme.store, { alias: 'carol', skills: [{ name: 'counting' }] })
  await grid.setPassword(ann, password)
  const one = await signUp('bean-one', ann, { skills: ['counting', 'beans'] })
  const two = await signUp('bean-two', ann)
  const bad = await signUp('bean-bad', ann)
  const left = await signUp('bean-left', ann)
  const send = async (from: Signed, to: string, message: string) =>
    (await callTool(grid, from.key, 'send_message', { to, message })).text.message_id
  await send(one, 'bean-two', 'to two')
  await send(one, 'bean-bad', 'to bad')
  await send(bad, 'bean-two', 'from bad')
  const owner = browser(grid)
  await owner.submit(await emailLinkPath(one.path), {})

  const page = await owner.open(one.path)
  const done = await claim(owner, one.path, { name: 'Beans' }, { 'bean-bad': 'discard', 'bean-left': 'keep' })

  expect(page.text).toContain('Its channels, access lists and guardrails do not move.')
  expect(page.text).toContain('Tasks that it gave to others are canceled.')
  expect(done.at).toContain(`/accounts/${grid.acme.id}`)
  expect(await Promise.all([one, two, left, bad].map(({ key }) => status(key)))).toEqual([200, 200, 200, 401])
  const { text: messages } = await callTool(grid, two.key, 'read_messages')
  expect(messages.map(({ message }: { message: string }) => message)).toEqual(['to two', 'from bad'])
  const listed = await callTool(grid, grid.alice.key, 'list_agents', { search: 'bean-' })
  expect(listed.text.map(({ alias, skills }: { alias: string; skills: { name: string }[] }) => [
    alias,
    skills.map(({ name }) => name).sort().join(', '),
  ])).toEqual([['@bean-one', 'beans, counting'], ['@bean-two', '']])
  const names = await rows(grid, 'SELECT name FROM skills WHERE account_id = ?', [grid.acme.id])
  expect(names.map(({ name }) => name).sort()).toEqual(['beans', 'counting'])
  // The moved agents belong to Acme and are no longer on trial, so they can send more than ten messages.
  for (let n = 0; n < 12; n++) await send(one, 'alice', `${n}`)
  // The owner can open both accounts. The old account contains the agent that was not moved.
  const old = (await owner.open('/')).html.match(/href="\/accounts\/([\w-]+)[^>]*>(?:(?!<\/a>)[\s\S])*Beans/)![1]
  expect((await owner.open(`/accounts/${old}/agents`)).text).toContain('@bean-left')
  expect(await rows(grid, 'SELECT tool, arguments FROM activity WHERE account_id = ?', [old])).toMatchObject([{
    tool: 'claim_account',
    arguments: JSON.stringify({
      name: 'Beans',
      kept: ['@bean-left'],
      moved: ['@bean-one', '@bean-two'],
      discarded: ['@bean-bad'],
    }),
  }])
  expect(await rows(grid, 'SELECT tool, arguments FROM activity WHERE account_id = ?', [grid.acme.id])).toMatchObject([{
    tool: 'move_agents',
    arguments: JSON.stringify({ agents: ['@bean-one', '@bean-two'] }),
  }])
})

test('Attention offers agents that signed up, and a click leads to the claim without the claim link', async () => {
  const owner = await person(grid, { role: 'owner', email: 'olga@acme.example' })
  const olga = await signedIn(grid, owner)
  const home = `/accounts/${grid.acme.id}/attention`
  expect(offerPath((await olga.open(home)).html)).toBeUndefined()
  const { key } = await signUp('weather', owner.email)

  const page = await olga.open(home)
  expect(page.text).toContain('1 agent signed up for you the trial ends in 1 d')
  const path = offerPath(page.html)!
  expect((await olga.open(path)).text).toContain('@weather')
  const done = await claim(olga, path)

  expect(done.text).toContain('The agents now belong to this account')
  expect(await grid.acme.store.read.agents.byAlias('weather')).toBeDefined()
  expect(await status(key)).toBe(200)
  expect(offerPath((await olga.open(home)).html)).toBeUndefined()
  const again = await olga.open(path)
  expect(again.status).toBe(404)
  expect(again.text).toContain('There are no agents to claim here')
  // No agents remain in the signup's account, so the user can leave it.
  const old = `/accounts/${path.split('/').at(-1)}/settings/team`
  expect((await olga.open(old)).text).toContain('After you leave, no one can open it.')
  await olga.submit(old, {}, `${old}/leave`)
  expect((await olga.open(old)).status).toBe(404)
})

test('the page for a new account offers a user agents that signed up for them', async () => {
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

test('agents that signed up in separate accounts are offered one account at a time', async () => {
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
    await claim(one, path)
  }

  expect(texts).toEqual(['@zoe-one, 2 more agents', '@zoe-two, 1 more agent', expect.stringContaining('@zoe-three')])
})

test('agents that signed up are not offered, and their page is hidden, until the address is verified', async () => {
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

test("opening another user's offer of agents gives the same response as opening an unknown offer", async () => {
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
      (id: string) => mallory.post(`/claims/${id}`, { csrf, name: 'Mine', into: grid.evil.id }),
    ]
  ) {
    const [foreign, unknown] = [await act(id), await act(random)]
    expect(foreign.status).toBe(404)
    expect(foreign.html).toBe(unknown.html)
  }
  expect((await mallory.open('/new-account')).text).not.toContain('signed up for you')
  expect(await rows(grid, 'SELECT * FROM accounts WHERE id = ?', [id])).toEqual(before)
  // Claimed accounts and the user's other accounts are not offered either.
  expect((await mallory.open(`/claims/${grid.evil.id}`)).status).toBe(404)
})

test('the page of an offer of agents asks a visitor without a session to sign in', async () => {
  const page = await browser(grid).open(`/claims/${grid.acme.id}`)

  expect(page.at).toBe(`/sign-in?next=${encodeURIComponent(`/claims/${grid.acme.id}`)}`)
})
