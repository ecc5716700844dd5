/** Claiming agents that signed up. See docs/security.md, "Claims". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { setAgentSkills } from '../../../src/grid/agents/skills.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { waitFor } from '../../support/wait-for.ts'
import { arrivalOf } from '../../support/people.ts'

const ann = 'ann@acme.example'
const zoe = 'zoe@new.example'
const password = 'correct horse battery'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000' } })
})
afterEach(() => grid.close())

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

/** A browser whose user has verified the address of a claim. */
async function verified(path: string): Promise<Browser> {
  const person = browser(grid)
  await person.submit(await emailLinkPath(path), { name: 'Zoe', password })
  return person
}

/** The path in the newest email for this claim. */
async function emailLinkPath(path: string): Promise<string> {
  const newest = () => grid.emails.filter(({ link }) => link?.includes(path)).at(-1)
  return new URL((await waitFor('the claim email', newest)).link!).pathname
}

/** Decide on the claim page: agents by alias; those not named are kept, as the page proposes. */
async function claim(person: Browser, path: string, fields: Record<string, string>, discard: string[] = []) {
  const page = await person.open(path)
  const decisions = [...page.html.matchAll(/name="(agent-[^"]+)" value="keep"/g)].map(([, name]): [string, string] => {
    const alias = page.html.slice(0, page.html.indexOf(name)).match(/Decision about @([a-z0-9-]+)<\/legend>/g)!.at(-1)!
    return [name, discard.some((unwanted) => alias.includes(`@${unwanted}<`)) ? 'discard' : 'keep']
  })
  return await person.submit(path, [...decisions, ...Object.entries(fields)])
}

const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status

test('after verifying the address, the user sees each agent with time and IP address, and claims them as an account', async () => {
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
  expect((await person.request(arrivalOf({ id: home }, 'owner'))).status).toBe(200)
  // The trial is over for both: more than its ten messages go through.
  for (let n = 0; n < 12; n++) {
    const sent = await callTool(grid, other.key, 'send_message', { to: 'zoe-one', message: `${n}` })
    expect(sent.code).toBeUndefined()
  }
})

test('a discarded agent loses its key at once, and its claim link is dead for the others too', async () => {
  const [good, bad] = [await signUp('zoe-one', zoe), await signUp('zoe-bad', zoe)]
  const person = await verified(good.path)

  await claim(person, good.path, { name: 'Zoe' }, ['zoe-bad'])

  expect(await status(good.key)).toBe(200)
  expect(await status(bad.key)).toBe(401)
  expect((await person.open(bad.path)).status).toBe(400)
  expect((await person.open(bad.path)).text).toContain('This claim link was used: its agents were claimed already')
  expect((await person.open('/claim/unknown')).text).toContain('This claim link is unknown')
})

test('a merge never makes the account exceed its skills, and says what to do', async () => {
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

  const refused = await claim(person, one.path, { into: grid.acme.id })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('Delete some of them first, or claim the agents as a new account.')
  expect(await count()).toBe(999)

  const done = await claim(person, one.path, { into: grid.acme.id }, ['bean-one'])
  expect(done.at).toContain(`/accounts/${grid.acme.id}`)
  expect(await count()).toBe(1_000)
})

test('a merge keeps keys, unread messages, sent messages and skills', async () => {
  await createAgent(grid.acme.store, { alias: 'carol', skills: [{ name: 'counting' }] })
  await grid.setPassword(ann, password)
  const one = await signUp('bean-one', ann, { skills: ['counting', 'beans'] })
  const two = await signUp('bean-two', ann)
  const bad = await signUp('bean-bad', ann)
  const send = async (from: Signed, to: string, message: string) =>
    (await callTool(grid, from.key, 'send_message', { to, message })).text.message_id
  const id = await send(one, 'bean-two', 'to two')
  await send(one, 'bean-bad', 'to bad')
  await send(bad, 'bean-two', 'from bad')
  const proof = browser(grid)
  await proof.submit(await emailLinkPath(one.path), {})

  const done = await claim(proof, one.path, { into: grid.acme.id }, ['bean-bad'])

  expect(done.at).toContain(`/accounts/${grid.acme.id}`)
  expect(await status(bad.key)).toBe(401)
  const messages = (await callTool(grid, two.key, 'read_messages')).text
  expect(messages.map(({ message }: { message: string }) => message)).toEqual(['to two', 'from bad'])
  const told = (await callTool(grid, one.key, 'message_status', { message_id: id })).text
  expect(told).toMatchObject({ delivery: 'read', read_by: [{ alias: '@bean-two' }] })
  const listed = await callTool(grid, grid.alice.key, 'list_agents', { search: 'bean-one' })
  const skills = listed.text[0].skills.map(({ name }: { name: string }) => name)
  expect(skills.sort()).toEqual(['beans', 'counting'])
  const names = await rows(grid, 'SELECT name FROM skills WHERE account_id = ?', [grid.acme.id])
  expect(names.map(({ name }) => name).sort()).toEqual(['beans', 'counting'])
  // They are agents of Acme now, and no trial counts.
  for (let n = 0; n < 12; n++) await send(one, 'alice', `${n}`)
  expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
  expect(await rows(grid, 'SELECT tool, arguments FROM activity WHERE account_id = ?', [grid.acme.id])).toMatchObject([
    {
      tool: 'merge_account',
      arguments: JSON.stringify({ kept: ['@bean-one', '@bean-two'], discarded: ['@bean-bad'] }),
    },
  ])
})

test('messages that are leased during a merge are redelivered, whatever happens to the lease', async () => {
  await grid.setPassword(ann, password)
  const [one, two] = [await signUp('bean-one', ann), await signUp('bean-two', ann)]
  const send = (message: string) => callTool(grid, one.key, 'send_message', { to: 'bean-two', message })
  await send('answered before')
  await callTool(grid, two.key, 'read_messages')
  await send('under way')
  const reader = await createAuthenticator(grid.store)(`Bearer ${two.key}`)
  const { lease } = await readMessages(reader, {})
  const proof = browser(grid)
  await proof.submit(await emailLinkPath(one.path), {})

  await claim(proof, one.path, { into: grid.acme.id })
  // The lease holder releases in the old account, which no longer has any deliveries.
  await leaseOf(reader, lease!.id).release()
  await send('sent after')

  const { text: messages } = await callTool(grid, two.key, 'read_messages')
  expect(messages).toMatchObject([{ message: 'under way', redelivered: true }, { message: 'sent after' }])
  expect(messages[1].redelivered).toBeUndefined()
  expect((await callTool(grid, two.key, 'read_messages')).text).toEqual([])
  expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
})

test('the claim link alone is not enough, because the agent has it too', async () => {
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

test('a user who has not verified this address is refused, on the page and with a forged request', async () => {
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

test('an email link can be opened five times and used once', async () => {
  const signed = await signUp('zoe-one', zoe)
  const path = await emailLinkPath(signed.path)
  for (let n = 0; n < 5; n++) expect((await browser(grid).open(path)).status).toBe(200)

  const zoes = browser(grid)
  expect((await zoes.submit(path, { name: 'Zoe' })).at).toBe(signed.path)
  expect((await browser(grid).open(path)).status).toBe(400)
  // Whoever used it comes to the claim, and after the claim reads that it was used.
  expect((await zoes.open(path)).at).toBe(signed.path)
  await claim(zoes, signed.path, { name: 'Zoe' })
  for (const one of [zoes, browser(grid)]) expect((await one.open(path)).text).toContain('This claim link was used')
})

test('agents that sign up between the page and the claim are not claimed unseen', async () => {
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

test('of fifty signups that race a claim, none joins the claimed account', async () => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const page = await person.open(signed.path)
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  const [agent] = page.html.match(/agent-[0-9a-f-]{36}/)!

  const race = Array.from({ length: 50 }, (_, n) => signUp(`racer-${n}`, zoe))
  const claimed = await person.post(signed.path, { csrf, name: 'Zoe', [agent]: 'keep' })
  await Promise.all(race)

  const inClaimed = await rows(
    grid,
    `SELECT alias FROM agents JOIN accounts ON accounts.id = account_id
      WHERE account_id = ? AND state = 'claimed'`,
    [claimed.at.split('/')[2] ?? ''],
  )
  expect(inClaimed.length).toBe(claimed.status === 409 ? 0 : 1)
})

test.each(['admin', 'member', 'viewer'])('a %s of an account cannot merge agents into it', async (role) => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)
  const { id } = (await grid.store.global.users.byEmail(zoe))!
  await grid.store.write([grid.store.global.users.addMembership(grid.acme.id, id, role as 'admin', grid.clock.now)])

  const refused = await claim(person, signed.path, { into: grid.acme.id })

  expect(refused.status).toBe(403)
  expect(await status(signed.key)).toBe(200)
})

test('agents cannot be merged into a foreign account', async () => {
  const signed = await signUp('zoe-one', zoe)
  const person = await verified(signed.path)

  expect((await claim(person, signed.path, { into: grid.acme.id })).status).toBe(404)
  expect((await claim(person, signed.path, { into: 'nowhere' })).status).toBe(404)
})

test('after a claim a signup with the address opens a provisional account of its own', async () => {
  const signed = await signUp('zoe-one', zoe)
  await claim(await verified(signed.path), signed.path, { name: 'Zoe' })

  const later = await signUp('zoe-later', zoe)

  expect((await callTool(grid, later.key, 'list_agents')).text).toEqual([])
  expect((await callTool(grid, signed.key, 'list_agents')).text).toEqual([])
})
