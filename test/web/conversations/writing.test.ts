/** A person writes and answers, on pages without script. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../../src/grid/guardrails/guardrails.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let site: WritingGrid<TestGrid>
beforeEach(async () => {
  site = await writingGrid(await testGrid())
})
afterEach(() => site.close())

const stored = () =>
  rows(site.grid, "SELECT recipient, body FROM messages WHERE account_id = ? AND type = 'human' ORDER BY seq", [
    site.grid.acme.id,
  ])
const inbox = async (key: string) => (await callTool(site.grid, key, 'read_messages')).text

test("a person's first message chooses their alias, and leads to the conversation", async () => {
  const { grid, path } = site
  const mo = await signedIn(grid, await person(grid, { role: 'admin', name: 'Mo Reyes' }))
  const page = await mo.open(path('write?to=%40bob'))
  expect(page.html).toMatch(/name="alias"[^>]* value="mo-reyes"/)
  expect(page.html).toMatch(/name="to"[^>]* value="@bob"/)
  expect(page.html).toContain('<option value="@alice"></option>')

  const sent = await mo.send(page, { alias: 'mo-reyes', to: '@bob', text: 'Please stop.' }, path('write'))

  expect(sent).toMatchObject({ status: 200, text: expect.stringContaining('Please stop.') })
  expect(sent.at).toMatch(/\/conversations\/\d+#m\d+$/)
  expect(sent.html).toContain(`id="${sent.at.split('#')[1]}"`)
  expect(await inbox(grid.bob.key)).toMatchObject([{ user: '@mo-reyes', type: 'human', message: 'Please stop.' }])
  expect((await mo.open(path('write'))).html).not.toContain('name="alias"')
})

test('a person answers in the conversation, and quotes one of its messages', async () => {
  const { grid, browser, path, tell } = site
  const asked = await tell(grid.alice, '@ann', '# Which **branch** shall it be?')
  const thread = path('conversations', asked.thread)
  const page = await browser.open(thread)
  expect(page.text).toContain('To @alice')
  expect(page.html).toContain(`href="?reply=${asked.seq}#text"`)

  const plain = await browser.send(page, { text: 'One moment' }, `${thread}/messages`)
  const answering = await browser.open(`${thread}?reply=${asked.seq}`)
  expect(answering.text).toContain('Answer to @alice: Which branch shall it be?')
  const reply = await browser.send(answering, { text: 'main' }, `${thread}/messages`)

  for (const at of [plain.at, reply.at]) expect(at).toMatch(new RegExp(`^${thread}#m\\d+$`))
  expect(await inbox(grid.alice.key)).toMatchObject([
    { user: '@ann', type: 'human', message: 'One moment' },
    { user: '@ann', type: 'human', message: 'main', reply_to_message_id: asked.id },
  ])
})

test('on the list of conversations, the form and the answer links belong to the shown conversation', async () => {
  const { grid, browser, path, tell } = site
  const { thread, seq } = await tell(grid.alice, '@ann', 'Is it done?')
  const action = path('conversations', thread)
  const list = await browser.open(path('conversations'))

  const sent = await browser.send(list, { text: 'It is.' }, `${action}/messages`)

  expect(list.html).toContain(`href="${action}?reply=${seq}#text"`)
  expect(list.html).not.toContain('data-reads')
  expect(sent.at).toMatch(new RegExp(`^${action}#m`))
})

test('a conversation with a deleted agent has no form to write', async () => {
  const { grid, path, tell } = site
  const { thread } = await tell(grid.alice, '@bob', 'hello')
  const mo = await signedIn(grid, await person(grid, { role: 'owner' }))
  await personAliasOf(mo)
  await deleteAgent(grid.acme.store, 'bob')

  const one = await mo.open(path('conversations', thread))
  await deleteAgent(grid.acme.store, 'alice')
  const none = await mo.open(path('conversations', thread))

  expect(one.html).toContain('/write?to=%40alice')
  expect(one.html).not.toContain('/write?to=%40bob')
  expect(none.text).toContain('The agents of this conversation were deleted.')

  async function personAliasOf(browser: typeof mo) {
    await browser.submit(
      path('settings/profile'),
      { alias: 'mo-reyes', description: '' },
      path('settings/profile/alias'),
    )
  }
})

test('an answer in a conversation with an id keeps the id', async () => {
  const { grid, browser, path, tell } = site
  const asked = await tell(grid.alice, '@ann', 'Which?', { conversationId: 'release' })
  const thread = path('conversations', asked.thread)

  const sent = await browser.submit(thread, { text: 'This one' }, `${thread}/messages`)

  expect(sent.at).toMatch(new RegExp(`^${thread}#m`))
})

test('a person can post only to channels of which their alias is a member', async () => {
  const { grid, browser, path, tell } = site
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice'] })
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  const team = await tell(grid.alice, '#team', 'Morning')
  const ops = await tell(grid.alice, '#ops', 'Down')
  const pair = await tell(grid.alice, '@bob', 'Between us')

  const posted = await browser.submit(
    path('conversations', team.thread),
    { text: 'Hello' },
    path('conversations', team.thread, 'messages'),
  )
  expect(posted.text).toContain('Hello')
  expect(await stored()).toEqual([{ recipient: '#team', body: 'Hello' }])

  for (const thread of [ops.thread, pair.thread]) {
    expect((await browser.open(path('conversations', thread))).html).not.toContain('name="text"')
    const refused = await browser.post(path('conversations', thread, 'messages'), {
      csrf: (await browser.open(path('write'))).html.match(/name="csrf" value="([^"]+)"/)![1],
      text: 'Let me in',
    })
    expect(refused.status).toBe(403)
  }
  expect(await stored()).toHaveLength(1)
})

test('a form that is sent twice stores one message, and leads to it both times', async () => {
  const { grid, browser, path, tell } = site
  const { thread } = await tell(grid.alice, '@ann', 'Ready?')
  const page = await browser.open(path('conversations', thread))
  const action = path('conversations', thread, 'messages')

  const first = await browser.send(page, { text: 'Yes' }, action)
  const again = await browser.send(page, { text: 'Yes' }, action)
  expect(again.at).toBe(first.at)
  expect(await stored()).toHaveLength(1)

  // After the Back button, the form may contain a different text.
  const other = await browser.send(page, { text: 'No' }, action)
  expect(other.status).toBe(409)
  expect(other.html).toContain('>No</textarea>')
  await browser.send(other, { text: 'No' }, action)
  expect((await stored()).map(({ body }) => body)).toEqual(['Yes', 'No'])
})

test('submitting a quoted answer twice stores it once', async () => {
  const { grid, browser, path, tell } = site
  const { thread, seq } = await tell(grid.alice, '@ann', 'Ready?')
  const page = await browser.open(`${path('conversations', thread)}?reply=${seq}`)
  const action = path('conversations', thread, 'messages')

  const first = await browser.send(page, { text: 'Yes' }, action)
  const again = await browser.send(page, { text: 'Yes' }, action)

  expect(again.at).toBe(first.at)
  expect(await stored()).toHaveLength(1)
})

test('a message refused by a guardrail is shown again with its text, its quote and the reason', async () => {
  const { grid, browser, path, tell } = site
  const asked = await tell(grid.alice, '@ann', 'What is it?')
  await createGuardrail(grid.acme.store, {
    name: 'No birds',
    provider: 'phrases',
    config: { phrases: ['heron'] },
    action: 'block',
  })
  await setAgentGuardrails(grid.acme.store, { agent: 'alice', guardrails: [{ ref: 'No birds' }] })
  const thread = path('conversations', asked.thread)

  const page = await browser.open(`${thread}?reply=${asked.seq}`)
  const refused = await browser.send(page, { text: 'A blue <heron>' }, `${thread}/messages`)

  expect(refused.status).toBeGreaterThanOrEqual(400)
  expect(refused.html).toContain('>A blue &lt;heron&gt;</textarea>')
  expect(refused.text).toContain('No birds')
  expect(refused.text).toContain('Answer to @alice: What is it?')
  const sent = await browser.send(refused, { text: 'A bird' }, `${thread}/messages`)
  expect(sent).toMatchObject({ status: 200, text: expect.stringContaining('A bird') })
})

test('a text that is too long or empty, or sent to an unknown agent, is shown again with the reason', async () => {
  const { browser, path } = site
  const long = '𝔄'.repeat(10_000)
  const sent = await browser.submit(path('write'), { to: '@alice', text: long })
  expect(sent.at).toMatch(/#m\d+$/)

  const longer = await browser.submit(path('write'), { to: '@alice', text: `${long}a` })
  expect(longer.status).toBe(400)
  expect(longer.html).toContain(`>${long}a</textarea>`)
  const toNobody = await browser.submit(path('write'), { to: '@nobody-at-all', text: 'Hi' })
  expect(toNobody).toMatchObject({ status: 404, text: expect.stringContaining('nobody-at-all') })
  expect(toNobody.html).toContain('>Hi</textarea>')
  const selfSent = await browser.submit(path('write'), { to: '@ann', text: 'Hi' })
  expect(selfSent.text).toContain('This is your own alias.')
  expect((await browser.submit(path('write'), { to: '@alice', text: '' })).status).toBe(400)
})
