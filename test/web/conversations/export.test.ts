/** Exporting a conversation. docs/people.md, "People who read". */
import { expect, test } from 'vitest'
import { setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { storeOf, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInMember } from '../../support/people.ts'

test("a conversation's export contains all pages that the user may read", async () => {
  const grid = await testGrid()
  await setTurnLimits(grid.acme.store, { perHour: 0, hops: 0 })
  const [alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  const hostile = 'a\n````\n# heading\n~~~\n<b>'
  const { id, seq } = await say(grid, alice, '@bob', hostile)
  for (let n = 0; n < 60; n++) await say(grid, bob, '@alice', `answer ${n}`, { replyToMessageId: id })
  const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([seq])
  const path = `/accounts/${grid.acme.id}/conversations/${threadId}/export`
  const owner = await signedInMember(grid, grid.acme, 'owner')

  const json = await owner.request(`${path}?as=json`)
  const { messages } = JSON.parse(await json.text())
  const markdown = await (await owner.request(`${path}?as=md`)).text()
  const refused = await (await signedInMember(grid, grid.acme, 'viewer')).request(`${path}?as=md`)

  expect(json.headers.get('content-disposition')).toContain(`conversation-${threadId}-`)
  expect(messages).toHaveLength(61)
  expect(messages[0]).toMatchObject({ message_id: id, from: '@alice', to: '@bob', text: hostile })
  expect(messages[60]).toMatchObject({ text: 'answer 59', reply_to_message_id: id })
  expect(markdown).toContain(`\n\`\`\`\`\`text\n${hostile}\n\`\`\`\`\`\n`)
  expect(markdown.match(/^## /gm)).toHaveLength(61)
  expect(refused.status).toBe(403)
  expect(await grid.acme.store.read.activity.list({ tool: 'read_conversation' })).toHaveLength(1)
})

test.each([
  ['a path', '../../etc/passwd', 'passwd'],
  ['lines', 'a\n## b\r\n\u2028c.txt', undefined],
  ['quotes and a header', 'a"; filename="b.html\r\nX-Evil: 1', undefined],
  ['the end of a code span', '`](javascript:alert(1))`` <b>.txt', undefined],
  ['another direction', 'a\u202egpj.exe', undefined],
])('a file whose name contains %s is one line of an export, and can be downloaded', async (_, filename, downloaded) => {
  const grid = await testGrid()
  const parts = [{ raw: btoa('a,b'), filename, mediaType: 'text/csv' }]
  const sent = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'see', parts })
  await followLog(grid.store)
  const { threadMessages } = grid.acme.store.read
  const [{ threadId }] = await threadMessages.byIds([sent.text.message_id])
  const path = `/accounts/${grid.acme.id}/conversations/${threadId}/export`
  const owner = await signedInMember(grid, grid.acme, 'owner')
  const json = await owner.request(`${path}?as=json`)
  const body = await json.text()
  const markdown = await (await owner.request(`${path}?as=md`)).text()

  const [{ parts: [part] }] = JSON.parse(body).messages
  const file = await owner.request(new URL(part.url).pathname)
  expect(part).toMatchObject({ type: 'text/csv', size: '3 B' })
  expect(body).not.toMatch(/[\u202e\u2028]/)
  expect(json.headers.get('content-disposition')).toMatch(
    /^attachment; filename\*=UTF-8''conversation-\d+-alice-bob\.json$/,
  )
  const line = markdown.split('\n').filter((line) => line.includes(part.url))
  expect(line).toEqual([expect.stringMatching(/^\* (`+) .* \1 \(` text\/csv `, 3 B\): <https?:[^>]+>$/)])
  expect(markdown.match(/^#/gm)).toHaveLength(2)
  expect(await file.text()).toBe('a,b')
  expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename\*=UTF-8''[\w.%!~-]+$/)
  expect(file.headers.has('x-evil')).toBe(false)
  if (downloaded) expect(file.headers.get('content-disposition')).toContain(`''${downloaded}`)
})
