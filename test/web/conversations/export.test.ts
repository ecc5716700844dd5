/** A conversation as a file. docs/security.md, "People who read". */
import { expect, test } from 'vitest'
import { setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { say } from '../../support/conversations.ts'
import { storeOf, testGrid } from '../../support/grid.ts'
import { signedInMember } from '../../support/people.ts'

test('the whole conversation is exported, past the first page, by the rules of reading', async () => {
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
