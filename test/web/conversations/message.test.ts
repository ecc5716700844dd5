/** The page of one message, its parts and its reply chain. */
import { beforeAll, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { second } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import type { Browser } from '../../support/browse.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { signedInMember } from '../../support/people.ts'

let grid: TestGrid
let alice: AccountStore
let bob: AccountStore
let base: string
let owner: Browser
beforeAll(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
  alice = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
  owner = await signedInMember(grid, grid.acme, 'owner')
  await grid.acme.agent('carol')
})

test("a long text is truncated in its conversation, and complete on the message's page", async () => {
  const { id, seq } = await say(grid, alice, '@bob', `${'long '.repeat(400)}end`)
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])

  const cut = await owner.open(`${base}/conversations/${threadId}`)
  expect(cut.text).toContain('Show all 2,003 characters')
  expect(cut.text).not.toContain('long end')
  for (const name of [seq, id]) expect((await owner.open(`${base}/messages/${name}`)).text).toContain('long end')
  for (const name of ['0', 'nonsense', '99999', grid.alice.id]) {
    expect((await owner.open(`${base}/messages/${name}`)).status).toBe(404)
  }
})

test("a message's page and its line in the conversation show its state: stored, being read, answered", async () => {
  const { id, seq } = await say(grid, alice, '@bob', 'how long?')
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])
  const line = async () => (await owner.open(`${base}/conversations/${threadId}?m=${seq}`)).text
  expect(await line()).toContain('how long? 09:00 not read yet')

  grid.clock.now += 4 * second
  const { lease } = await readMessages(bob, {})
  expect(await line()).toMatch(/how long\? 09:00 being read stored, (woken after \d+ m?s, )?taken after 4 s/)
  lease!.ack()
  grid.clock.now += 8 * second
  await say(grid, bob, '@alice', 'soon', { replyToMessageId: id })
  expect(await line()).toMatch(/how long\? 09:00 answered after 12 s/)
  const { text } = await owner.open(`${base}/messages/${seq}`)
  expect(text).toMatch(/@bob answered after 12 s stored 09:00:00 .*read 09:00:04 answered 09:00:12/)
})

test("a post shows how many members have read it, and the post's page shows which", async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  const { seq } = await say(grid, alice, '#team', 'hello team')
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])

  expect((await owner.open(`${base}/conversations/${threadId}`)).text).toContain('0 of 1 read')
  expect((await owner.open(`${base}/messages/${seq}`)).text).toMatch(/Delivery @bob not read yet stored/)
})

test("a message's parts are listed with their sizes and served as files, whether stored inline or separately", async () => {
  const raw = btoa('a,b\n'.repeat(10_000))
  await postA2a(
    grid,
    grid.alice.key,
    send10({
      parts: [{ text: 'see the figures' }, { raw, filename: 'figures.csv', mediaType: 'text/csv' }, {
        data: { rows: 1 },
      }],
      metadata: { to: '@bob' },
    }),
  )
  await followLog(grid.store)
  const [{ seq }] = await rows(grid, 'SELECT max(seq) AS seq FROM messages WHERE account_id = ?', [grid.acme.id])

  const { text, html } = await owner.open(`${base}/messages/${seq}`)
  expect(text).toContain('figures.csv text/csv, 40 kB')
  expect(text).toContain('data application/json, 10 B')
  const [file, data] = [...html.matchAll(/href="([^"]+\/parts\/[^"]+)"/g)].map(([, href]) => href)
  const csv = await owner.request(file)
  expect(Object.fromEntries(csv.headers)).toMatchObject({
    'content-type': 'text/csv',
    'content-disposition': "attachment; filename*=UTF-8''figures.csv",
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect(await csv.text()).toBe('a,b\n'.repeat(10_000))
  expect(await (await owner.request(data)).json()).toEqual({ rows: 1 })
  expect((await owner.request(`${base}/messages/${seq}/parts/9`)).status).toBe(404)
  const member = await signedInMember(grid, grid.acme, 'member')
  for (const path of [file, data]) expect((await member.request(path)).status).toBe(403)
})

test('a conversation marks messages from another account, and says that people of that account may read it', async () => {
  await grid.evil.agent('desk', { visibility: 'public' })
  const desk = (await grid.evil.store.read.agents.byAlias('desk'))!
  const asked = await say(grid, alice, '@desk', 'are you open?')
  await say(grid, storeOf(grid, desk, grid.evil), '@alice', 'always')

  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([asked.seq])
  const { text } = await owner.open(`${base}/conversations/${threadId}`)
  expect(text).toContain('@desk belongs to another account, whose people may read this.')
  expect(text).toMatch(/@desk other account always/)
  const eve = await signedInMember(grid, grid.evil, 'owner')
  const [theirs] = await grid.evil.store.read.threadMessages.bySeqs([asked.seq])
  expect((await eve.open(`/accounts/${grid.evil.id}/conversations/${theirs.threadId}`)).text)
    .toContain('@alice belongs to another account')
})

test('a reply chain shows each message before its answers, across all conversations', async () => {
  const first = await say(grid, alice, '@bob', 'first')
  const toCarol = await say(grid, bob, '@carol', 'second', { replyToMessageId: first.id })
  await say(grid, bob, '@alice', 'fourth', { replyToMessageId: first.id })
  const carol = (await grid.acme.store.read.agents.byAlias('carol'))!
  await say(grid, storeOf(grid, carol), '@bob', 'third', {
    replyToMessageId: toCarol.id,
  })

  const { text, html } = await owner.open(`${base}/messages/${toCarol.seq}/chain`)
  expect(text).toMatch(/4 messages: .* first .* second .* third .* fourth/)
  // The reader opened the chain from the second message.
  const items = [...html.matchAll(/<li(?: class="(d\d)")?( aria-current="true")?><div class="from">/g)]
  expect(items.map(([, depth, current]) => `${depth ?? 'root'}${current ?? ''}`))
    .toEqual(['root', 'd1 aria-current="true"', 'd2', 'd1'])
  expect((await owner.open(`${base}/messages/${toCarol.seq}/chain?page=7`)).status).toBe(200)
})
