/** Agents' questions that a person answers with one click. docs/conversations.md, "Choices". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { choose } from '../../../src/grid/conversations/choose.ts'
import { questionsOf } from '../../../src/grid/conversations/questions.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { post } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'
import { signedIn, signedInByEmail } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let world: WritingGrid<TestGrid>
let grid: TestGrid
let ann: Browser
beforeEach(async () => {
  world = await writingGrid(await testGrid())
  grid = world.grid
  ann = world.browser
})
afterEach(() => world.close())

const choices = ['Yes', 'No, wait']
const asks = async (more: object = {}) => {
  const { thread, seq, id } = await world.tell(grid.alice, 'ann', 'May I deploy?', { choices, ...more })
  const page = world.path('conversations', thread)
  return { thread, seq, id, page, action: `${page}/choose` }
}
const answers = async () =>
  (await callTool(grid, grid.alice.key, 'read_messages')).text
    .map(({ message, parts }: { message: string; parts?: unknown[] }) => ({ message, parts }))

test('an agent asks with choices, and gets the clicked choice in the same call, as text and as data', async () => {
  const idle = followIdle(grid.store)
  const asking = post(grid, grid.alice.key, { to: '@ann', message: 'May I deploy?', choices, wait_seconds: 50 })
  await idle(1)
  const [{ threadId }] = await waitFor('the question', async () => {
    const found = await questionsOf(world.ann.account)
    return found.length > 0 && found
  })
  const page = world.path('conversations', threadId)
  const open = await ann.open(page)
  expect(open.text).toContain('@alice asks Yes No, wait')
  expect(open.text).not.toContain('A2A')

  const after = await ann.send(open, { choice: '1' }, `${page}/choose`)

  expect(after.at).toMatch(new RegExp(`^${page}#m\\d+$`))
  expect(after.text).toContain('@alice asked @ann Yes No, wait chosen')
  expect(after.text).not.toContain('application/json')
  expect(after.html).not.toContain('/choose')
  expect(after.text).not.toContain('for your answer')
  const { answer } = (await asking).body
  expect(answer.messages).toMatchObject([{
    ...{ message: 'No, wait', user: '@ann', type: 'human' },
    parts: [{ data: { choice: 'No, wait', index: 1 } }],
  }])
})

test('a repeated click leads to the first answer, and another choice is refused', async () => {
  const { page, action, thread, seq } = await asks()
  const open = await ann.open(page)
  const first = await ann.send(open, { choice: '0' }, action)

  expect((await ann.send(open, { choice: '0' }, action)).at).toBe(first.at)
  const other = await ann.send(open, { choice: '1' }, action)
  expect([other.status, other.text.includes('You have answered this already: Yes')]).toEqual([409, true])
  const both = [0, 1].map((index) => choose(world.ann.account, thread, { seq, index }))
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(await answers()).toEqual([{ message: 'Yes', parts: [{ data: { choice: 'Yes', index: 0 }, bytes: 26 }] }])
})

test('two simultaneous clicks count as one answer', async () => {
  const { thread, seq } = await asks()
  const both = [0, 1].map((index) => choose(world.ann.account, thread, { seq, index }))
  expect((await Promise.allSettled(both)).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await answers()).toHaveLength(1)
})

test('a written answer closes the question', async () => {
  const { page, action, seq } = await asks()
  const open = await ann.open(page)
  await ann.send(open, { text: 'Which branch?', reply: `${seq}` }, `${page}/messages`)

  expect((await ann.open(page)).html).not.toContain(action)
  const late = await ann.send(open, { choice: '0' }, action)
  expect([late.status, late.text.includes('no longer open')]).toEqual([409, true])
  expect(await answers()).toEqual([{ message: 'Which branch?', parts: undefined }])
})

test('a waiting question can be answered on Home and Attention, and the visitor stays there', async () => {
  for (const origin of ['home', 'attention']) {
    const { action } = await asks()
    const after = await ann.submit(world.path(origin), { choice: '0' }, action)
    expect(after.at).toBe(`${world.path(origin)}?done=answered`)
    expect(after.text).toContain('Your answer has been sent.')
    expect(after.html).not.toContain(action)
    // Answering also marks the question as read.
    expect(await world.ann.account.read.inbox.unread(world.ann.personAlias.agentId)).toBe(0)
  }
})

test('an open question stays on Home and Attention when other messages follow it', async () => {
  const { page, action } = await asks()
  await world.tell(grid.alice, 'ann', 'FYI: the branch is frozen')
  const written = await ann.submit(page, { text: 'Let me look' }, `${page}/messages`)
  expect(written.text).toContain('1 message waits for your answer')

  for (const place of ['home', 'attention']) {
    const { text, html } = await ann.open(world.path(place))
    expect(text, place).toMatch(/@alice ?: May I deploy\? .*Yes No, wait/)
    expect(html, place).toMatch(/data-count[^>]*>1</)
  }
  await ann.submit(world.path('attention'), {}, action.replace('choose', 'dismiss'))
  expect(await questionsOf(world.ann.account)).toEqual([])
})

test("other readers see a question's choices and the answer, and cannot choose", async () => {
  const { page, action, seq } = await asks()
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  const ben = await personWithAlias(grid, 'ben', { role: 'owner' })
  const readers = [owner, await signedIn(grid, ben.person)]
  for (const reader of readers) {
    const { text, html } = await reader.open(page)
    expect(text).toContain('@alice asked @ann Yes No, wait')
    expect(html).not.toContain(action)
  }
  const csrf = (await readers[1].open(page)).html.match(/name="csrf" value="([^"]+)"/)![1]
  const refused = await readers[1].post(action, { csrf, question: `${seq}`, choice: '0' })
  expect(refused.status).toBe(404)

  await ann.submit(page, { choice: '0' }, action)
  expect((await owner.open(page)).text).toContain('@alice asked @ann Yes chosen No, wait')
  expect((await owner.open(world.path('messages', seq))).text).toContain('Yes chosen')
})

test('a question that has expired (read or unread) or was retracted offers no choices', async () => {
  const expiring = await asks({ expiresInSeconds: 60 })
  const retracted = await asks()
  const read = await asks({ expiresInSeconds: 60 })
  const open = await ann.open(read.page)
  await callTool(grid, grid.alice.key, 'retract_message', { message_id: retracted.id })
  await ann.submit(read.page, {}, `${read.page}/read`)
  grid.clock.now += 60_000

  const { html } = await ann.open(read.page)
  expect(html).not.toContain(read.action)
  for (const { seq } of [expiring, read, retracted]) {
    const late = await ann.send(open, { question: `${seq}`, choice: '0' }, read.action)
    expect([late.status, late.text.includes('no longer open')]).toEqual([409, true])
  }
  expect(await answers()).toEqual([])
})

test('hostile choices are escaped, and their text direction is isolated', async () => {
  const hostile = ['<b>Yes</b>', '\u202eNo', 'לא', 'w'.repeat(60)]
  const { page } = await asks({ choices: hostile })

  const { html } = await ann.open(page)
  const labels = [...html.matchAll(/class="answer"[^>]*><bdi>(.*?)<\/bdi>/g)].map(([, label]) => label)
  expect(labels).toEqual(['&lt;b&gt;Yes&lt;/b&gt;', 'No', 'לא', 'w'.repeat(60)])
})

test('a question that arrives on an open page can be answered there', async () => {
  const { page, action, seq } = await asks()
  const { html } = await ann.open(`${page}/messages?after=${seq - 1}`)
  expect(html).toContain(action)
  expect(html).toMatch(/name="csrf" value="[^"]+"/)
})
