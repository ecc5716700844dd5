/** Held messages on pages without script. See docs/protocol/messages.md, "Held messages". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApprovalRule } from '../../../src/grid/approvals/rules.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { followLog } from '../../../src/worker/followers.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { password, type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let account: string
let ann: Person
let ben: Person
let annsBrowser: Browser
beforeEach(async () => {
  grid = await testGrid()
  account = `/accounts/${grid.acme.id}`
  ann = await person(grid, { role: 'owner', name: 'Ann' })
  ben = await person(grid, { role: 'member', name: 'Ben' })
  annsBrowser = await signedIn(grid, ann)
})
afterEach(() => grid.close())

const rule = (input: { isRisky?: boolean; deciders?: string[] } = {}) =>
  createApprovalRule(grid.acme.store, { name: 'Payments', from: '@alice', to: '@bob', deciders: [ann.id], ...input })
const send = (message: string) => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
const inbox = async () => {
  const { text } = await callTool(grid, grid.bob.key, 'read_messages')
  return text.map(({ message }: { message: string }) => message)
}
/** Returns the page of the oldest message that this person can decide on. */
const oldest = async (one: Browser) =>
  (await one.open(`${account}/held`)).html.match(/href="([^"]*\/held\/[0-9a-f-]{36})"/)![1]
const resultOf = async (one: Browser, action: 'approve' | 'edit' | 'refuse', fields = {}) => {
  const page = await oldest(one)
  return await one.submit(page, fields, `${page}/${action}`)
}

test('a held message appears on Home, in Attention and in the navigation, and one click approves it', async () => {
  await rule()
  await send('<b>Pay 100</b>')
  for (const page of ['home', 'attention', 'held']) {
    const { text, html } = await annsBrowser.open(`${account}/${page}`)
    expect(text, page).toContain('@alice to @bob')
    expect(html, page).toMatch(/data-count[^>]*>1</)
  }
  const { text } = await annsBrowser.open(await oldest(annsBrowser))
  expect(text).toContain('held by Payments')
  expect(text).toContain('<b>Pay 100</b>')
  expect(await inbox()).toEqual([])

  const done = await resultOf(annsBrowser, 'approve')

  expect(done.text).toContain('Approved. The message is delivered.')
  expect(done.text).toContain('Nothing waits for your decision')
  expect(await inbox()).toEqual(['<b>Pay 100</b>'])
})

test("a held message's page links to the message it answers and its conversation, if the decider may read them", async () => {
  await rule({ deciders: [ann.id, ben.id] })
  const { text: asked } = await callTool(grid, grid.bob.key, 'send_message', { to: '@alice', message: 'How much?' })
  await followLog(grid.store)
  const answer = { to: '@bob', message: 'Pay 100', reply_to_message_id: asked.message_id }
  await callTool(grid, grid.alice.key, 'send_message', answer)
  const links = (html: string) => [...html.matchAll(/href="[^"]*(\/conversations\/\d+)[^"]*"/g)].map(([, path]) => path)

  const page = await oldest(annsBrowser)
  const { html, text } = await annsBrowser.open(page)
  expect(text).toContain('Answers a message from @bob Open the conversation')
  const [answered, conversation] = links(html)
  expect(answered).toBe(conversation)
  expect((await annsBrowser.open(account + conversation)).text).toContain('How much?')
  const member = await (await signedIn(grid, ben)).open(page)
  expect(member.text).toContain('hidden for your role')
  expect(links(member.html)).toEqual([])
})

test('the list of held messages begins with the one that expires first, and marks it red in its last hour', async () => {
  await rule()
  for (let n = 0; n < 11; n++) await send(`Pay ${n}`)
  const rush = { name: 'Rush', from: '@bob', to: '@alice', deciders: [ann.id], expiresInHours: 2 }
  await createApprovalRule(grid.acme.store, rush)
  await callTool(grid, grid.bob.key, 'send_message', { to: '@alice', message: 'Stop the line' })
  const first = /class="sign (\w+)"(?:(?!<li>)[\s\S])*?Stop the line[\s\S]*?expires/
  for (const page of ['home', 'attention', 'held']) {
    const { html } = await annsBrowser.open(`${account}/${page}`)
    expect(html.match(first)?.[1], page).toBe('warning')
    expect(html.indexOf('Stop the line'), page).toBeLessThan(html.indexOf('Pay '))
    expect(html, page).not.toContain('count urgent')
  }

  grid.clock.now += hour + minute
  for (const page of ['home', 'attention', 'held', 'agents']) {
    const { html } = await annsBrowser.open(`${account}/${page}`)
    if (page !== 'agents') expect(html.match(first)?.[1], page).toBe('bad')
    expect(html, page).toMatch(/class="count urgent" data-count[^>]*>12</)
  }
})

test('a decider can edit a held message, or refuse it with a reason, and the log contains no text', async () => {
  await rule()
  await send('Pay 100')
  expect((await resultOf(annsBrowser, 'edit', { text: 'Pay 10' })).text).toContain('as you edited it')
  expect(await inbox()).toEqual(['Pay 10'])

  await send('Pay 999')
  expect((await resultOf(annsBrowser, 'refuse', { reason: ' ' })).text).toContain('Give a reason')
  expect((await resultOf(annsBrowser, 'refuse', { reason: 'Too much' })).text).toContain(
    'Refused. Its sender learns why',
  )
  const { text } = await callTool(grid, grid.alice.key, 'read_messages')
  expect(text[0].message).toContain('Too much')

  const log = await annsBrowser.open(`${account}/activity`)
  expect(log.text).toMatch(/Refused a message from @alice.*Edited and approved a message from @alice/)
  expect(log.html).not.toContain('Pay')
  const ledger = await annsBrowser.open(`${account}/held/decisions?state=refused`)
  expect(ledger.text).toContain('Too much')
  expect(ledger.text).not.toContain('approved, edited')
  const exported = await (await annsBrowser.request(`${account}/held/decisions/export`)).text()
  expect(exported.trim().split('\n').map((line) => JSON.parse(line))).toMatchObject([
    { from: '@alice', to: '@bob', rule: 'Payments', outcome: 'refused', reason: 'Too much', text: 'Pay 999' },
    { outcome: 'approved', edited: true, text: 'Pay 10' },
  ])
})

test("a held message's parts of all sizes can be read before the decision", async () => {
  await rule()
  const words = Array.from({ length: 12 }, (_, n) => `word-${n}`)
  const parts = words.map((word) => ({ data: { word, rest: 'x'.repeat(900) } }))
  const large = { data: { word: 'large', rest: 'x'.repeat(40_000) } }
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'with parts', parts: [...parts, large] })
  const { html } = await annsBrowser.open(await oldest(annsBrowser))

  const links = html.match(/[^"]*\/held\/[0-9a-f-]{36}\/parts\/[^"]+/g) ?? []
  const read = await Promise.all(links.map(async (link) => await (await annsBrowser.request(link)).text()))

  for (const word of [...words, 'large']) expect(html + read.join(''), word).toContain(word)
  expect(read.join('')).toContain('x'.repeat(40_000))
  expect(read.join('')).not.toContain('part_not_found')
})

test('a held file has a name, a size, and a download that no browser shows as a page', async () => {
  await rule()
  const files = [['offer.pdf', 'application/pdf', '%PDF-1.7 \u0001'], ['page.html', 'text/html', '<script>1</script>']]
  const parts = files.map(([filename, mediaType, content]) => ({ filename, mediaType, raw: btoa(content) }))
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'See the offer', parts })
  const { html, text } = await annsBrowser.open(await oldest(annsBrowser))

  expect(text).toMatch(/offer\.pdf application\/pdf, 10 B page\.html text\/html, 18 B <script>1/)
  expect(html).not.toContain(btoa(files[0][2]))
  for (const [filename, type, content] of files) {
    const href = html.match(new RegExp(`href="([^"]*/parts/[^"]*)">(?:<bdi>)?${filename}`))![1]
    const file = await annsBrowser.request(href)
    expect(await file.text()).toBe(content)
    expect(file.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${filename}`)
    expect(file.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(file.headers.get('content-type')).toBe(type)
    expect((await (await signedIn(grid, ben)).request(href)).status).toBe(404)
  }
})

test('held messages with equal content share a row, and each decision leads to the next of them', async () => {
  await rule()
  for (const text of ['Pay 100', 'Pay 7', 'Pay 100', 'Pay 100']) await send(text)
  const list = `${account}/held`
  const { html } = await annsBrowser.open(list)
  const [fold] = html.match(/<details>[\s\S]*?<\/details>/g)!
  expect(fold).toContain('3 like this')
  expect(fold.match(/\/held\/[0-9a-f-]{36}/g)).toHaveLength(3)
  expect(html).not.toContain('/approve')

  const done = await resultOf(annsBrowser, 'approve')
  expect(done.text).toContain('Approved. The message is delivered.')
  expect(await inbox()).toEqual(['Pay 100'])
  const [, next] = done.html.match(/href="([^"]*)"[^>]*>Next like it, 2 left</)!
  expect((await annsBrowser.open(next)).text).toContain('Pay 100')
  expect((await annsBrowser.submit(next, { reason: 'No' }, `${next}/refuse`)).text).toContain('Next like it, 1 left')
  expect((await resultOf(annsBrowser, 'approve')).text).not.toContain('Next like it')
})

test('if one of two people decides on a held message, the other sees who decided', async () => {
  await rule({ deciders: [ann.id, ben.id] })
  await send('Pay 100')
  const bens = await signedIn(grid, ben)
  const page = await oldest(bens)
  const open = await bens.open(page)
  await resultOf(annsBrowser, 'approve')

  const late = await bens.send(open, { reason: 'No' }, `${page}/refuse`)

  expect(late.status).toBe(409)
  expect(late.text).toMatch(/Approved\s+by\s+Ann/)
  expect(await inbox()).toEqual(['Pay 100'])
  expect((await bens.open(`${account}/held/decisions`)).text).toContain('@alice to @bob')
})

test('a decision form with the hash of another text has no effect', async () => {
  await rule()
  await send('Pay 100')
  await send('Pay 200')
  const [first, second] = (await annsBrowser.open(`${account}/held`)).html.match(/[^"]*\/held\/[0-9a-f-]{36}/g)!
  const hash = (await annsBrowser.open(second)).html.match(/name="hash" value="(\w+)"/)![1]

  const { status, text } = await annsBrowser.submit(first, { hash }, `${first}/approve`)

  expect(status).toBe(400)
  expect(text).toContain('The text has changed.')
  expect(await inbox()).toEqual([])
})

test('viewers, and members that the rule does not name, see no held text and cannot decide', async () => {
  await rule()
  await send('a secret word')
  const page = await oldest(annsBrowser)
  const open = await annsBrowser.open(page)
  for (const role of ['member', 'viewer', 'admin'] as const) {
    const one = await signedIn(grid, await person(grid, { role }))
    expect((await one.open(`${account}/held`)).text, role).toContain('Nothing waits for your decision')
    expect((await one.open(page)).status, role).toBe(404)
    const csrf = (await one.open(`${account}/settings/profile`)).html.match(/name="csrf" value="([^"]+)"/)![1]
    const hash = open.html.match(/name="hash" value="(\w+)"/)![1]
    const posted = await one.post(`${page}/approve`, { csrf, hash })
    expect(posted.status, role).toBe(role === 'viewer' ? 403 : 404)
    expect(posted.html + (await one.open(`${account}/held/decisions`)).html).not.toContain('secret')
  }
  expect(await inbox()).toEqual([])
})

test('a decision under a risky rule requires a confirmation, and then applies unless the message has changed', async () => {
  await rule({ isRisky: true })
  await send('Pay 100')
  const page = await oldest(annsBrowser)
  expect((await annsBrowser.open(page)).text).toContain('You are asked for a password or passkey')
  grid.clock.now += 11 * minute

  const asked = await annsBrowser.submit(page, {}, `${page}/approve`)

  expect(asked.at).toContain('/confirm')
  expect(asked.at).toContain(encodeURIComponent(page))
  expect(await inbox()).toEqual([])
  const done = await annsBrowser.send(asked, { password }, '/confirm')
  expect(done.text).toContain('Approved. The message is delivered.')
  expect(await inbox()).toEqual(['Pay 100'])

  await send('Pay 200')
  const next = await oldest(annsBrowser)
  const other = await signedIn(grid, ann)
  grid.clock.now += 11 * minute
  const late = await annsBrowser.submit(next, { reason: 'Too much' }, `${next}/refuse`)
  await other.send(await other.submit(next, {}, `${next}/approve`), { password }, '/confirm')
  const refused = await annsBrowser.send(late, { password }, '/confirm')
  expect(refused.status).toBe(409)
  expect(refused.text).toMatch(/Approved\s+by\s+Ann/)
})
