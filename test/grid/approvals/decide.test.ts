/** Decisions on held messages, which check the current conditions. docs/protocol/messages.md, "Held messages". */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { approve } from '../../../src/grid/approvals/decide.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { decisions, heldMessage, heldMessages, heldPartOf } from '../../../src/grid/approvals/held.ts'
import { retractMessage } from '../../../src/grid/messaging/retract-message.ts'
import { cancelTask, getTask } from '../../../src/grid/tasks/tasks.ts'
import { callingUser } from '../../../src/auth/actor.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { expireHeldMessages } from '../../../src/worker/retention.ts'
import { endpointOf, postA2a, send03, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { approveOne, hold, refuseOne, waiting } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedIn } from '../../support/people.ts'
import { callRest } from '../../support/rest.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'
import { askFor } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
let ann: AccountStore

const tool = async (agent: TestAgent, name: string, input: object = {}) =>
  (await callTool(grid, agent.key, name, { ...input })).text
const read = (agent: TestAgent) => tool(agent, 'read_messages')
const send = (message = 'pay 100', more: object = {}) =>
  tool(grid.alice, 'send_message', { to: '@bob', message, ...more })
const first = { at: Number.MAX_SAFE_INTEGER, id: '~' }

beforeEach(async () => {
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
  ann = (await personWithAlias(grid, 'ann', { role: 'owner', name: 'Ann' })).account
  await hold(grid.acme.store)
})

test('a held text that a guardrail blocks cannot be approved, and the decider can edit it', async () => {
  await send()
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'block' })
  const { id, hash } = await waiting(ann)

  await expect(approve(ann, { id, hash, text: `the ${secret}` })).rejects.toMatchObject({ code: 'guardrail_blocked' })
  expect(await read(grid.bob)).toEqual([])
  await approve(ann, { id, hash, text: 'the word' })
  expect(await read(grid.bob)).toMatchObject([{ message: 'the word', edited: true }])
})

test('owners and admins decide on messages held by a guardrail, and the approved text passes the same guardrail', async () => {
  await rows(grid, 'DELETE FROM approval_rules WHERE account_id = ?', [grid.acme.id])
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'hold' })
  const { account: admin } = await member(grid, { role: 'admin' })
  const { account: other } = await member(grid, { role: 'member' })
  await send('harmless')
  const { held } = await send(`the ${secret}`)
  expect(Date.parse(held.until)).toBe(grid.clock.now + 24 * hour)

  expect(await heldMessages(other)).toEqual([])
  expect(await waiting(admin)).toMatchObject({ rule: { id: null }, findings: [{ guardrail: 'alice outbound' }] })
  await approveOne(admin)
  expect((await read(grid.bob)).map(({ message }: { message: string }) => message)).toEqual([
    'harmless',
    `the ${secret}`,
  ])
})

test('approving a message to a full inbox fails, and the message stays held', async () => {
  await grid.close()
  grid = await testGrid({ env: { UNREAD_PER_INBOX: '1' } })
  ann = (await personWithAlias(grid, 'ann', { role: 'owner' })).account
  await send('fills it')
  await grid.acme.store.write([grid.acme.store.change.agents.markSeen(grid.bob.id, grid.clock.now)])
  await read(grid.bob)
  await hold(grid.acme.store)
  await send('held')
  const { id, hash } = await waiting(ann)
  await rows(grid, 'UPDATE agent_numbers SET unread = 1 WHERE account_id = ? AND agent_id = ?', [
    grid.acme.id,
    grid.bob.id,
  ])

  await expect(approve(ann, { id, hash })).rejects.toMatchObject({ code: 'quota_exceeded' })
  expect(await heldMessages(ann)).toHaveLength(1)
})

test("a guardrail's findings in a held message are recorded only once", async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'flag' })
  await send(`the ${secret}`)
  await approveOne(ann)

  expect(await read(grid.bob)).toMatchObject([{ flagged: true }])
  expect(await rows(grid, 'SELECT action FROM verdicts WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
})

test('a remote agent is not notified when its held message is refused', async () => {
  await send()
  await rows(grid, 'UPDATE agents SET remote_url = ? WHERE account_id = ? AND id = ?', [
    ...['https://remote.example', grid.acme.id, grid.alice.id],
  ])
  await refuseOne(ann, 'No')

  expect(await rows(grid, "SELECT 1 FROM messages WHERE account_id = ? AND type = 'system'", [grid.acme.id])).toEqual(
    [],
  )
})

test('an artifact whose chunks are held is complete when its task asks for input', async () => {
  const task = await askFor(storeOf(grid, grid.alice), 'write a page')
  await approveOne(ann)
  await read(grid.bob)
  const artifact = { id: 'page', append: true }
  await tool(grid.bob, 'update_task', { task_id: task.id, text: 'half a page, ', artifact })
  expect(await heldMessages(ann)).toEqual([])
  await tool(grid.bob, 'update_task', { task_id: task.id, text: 'go on?', artifact, state: 'input-required' })

  expect((await heldMessages(ann)).map(({ body }) => body)).toEqual(['half a page, go on?'])
})

test('a held message acknowledges the message that it answers', async () => {
  await rows(grid, 'UPDATE approval_rules SET from_kind = ?, from_id = ? WHERE account_id = ?', [
    ...['agent', grid.alice.id, grid.acme.id],
  ])
  await tool(grid.bob, 'send_message', { to: '@alice', message: 'a question' })
  const { body: { lease_id } } = await callRest(grid, grid.alice.key, 'POST /api/v1/inbox/leases')
  const { body } = await callRest(grid, grid.alice.key, 'POST /api/v1/messages', {
    ...{ to: '@bob', message: 'an answer', acks: { lease_id } },
  })
  expect(body).toMatchObject({ held: {} })

  expect(await rows(grid, 'SELECT 1 FROM leases WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test('approving a message of a paused conversation refuses the message, and the reason names the pause', async () => {
  await send()
  await rows(grid, 'UPDATE conversation_turns SET paused_at = 1 WHERE account_id = ?', [grid.acme.id])

  expect(await approveOne(ann)).toMatchObject({ state: 'refused', reason: expect.stringContaining('is paused') })
  expect(await read(grid.alice)).toMatchObject([{ message: expect.stringContaining('is paused') }])
})

test.each([
  ['its sender is deleted', 'was deleted', async () => {
    await grid.acme.store.write(grid.acme.store.change.agents.softDelete(grid.alice.id, grid.clock.now))
  }],
  ['another agent has the alias of its recipient', 'is another agent now', async () => {
    await rows(grid, "UPDATE agents SET alias = 'robert' WHERE account_id = ? AND alias = 'bob'", [grid.acme.id])
    await grid.acme.agent('bob')
  }],
])('an approved message is refused if %s', async (_, reason, change) => {
  await send()
  await change()

  expect(await approveOne(ann)).toMatchObject({ state: 'refused', reason: expect.stringContaining(reason) })
  expect(await read(grid.bob)).toEqual([])
})

test("an approved message to a task that has ended is refused, and so is an approved update by the task's recipient", async () => {
  const alice = storeOf(grid, grid.alice)
  for (const says of [grid.alice, grid.bob]) {
    const task = await askFor(alice, `asked by ${says.alias}`)
    await approveOne(ann)
    await read(grid.bob)
    if (says === grid.bob) await tool(grid.bob, 'update_task', { task_id: task.id, text: 'late' })
    else {await postA2a(
        grid,
        grid.alice.key,
        send10({ taskId: task.id, contextId: task.contextId }),
        {},
        endpointOf(grid.bob),
      )}
    const end = "UPDATE tasks SET state = 'failed', expires_at = NULL WHERE account_id = ? AND id = ?"
    await rows(grid, end, [grid.acme.id, task.id])

    expect(await approveOne(ann)).toMatchObject({ state: 'refused', reason: expect.stringContaining('terminal') })
  }
  expect(await read(grid.bob)).toMatchObject([{ type: 'system' }])
})

test("a refusal's reason must have 1 to 1,000 characters", async () => {
  await send()
  for (const reason of [' \u200b', 'x'.repeat(1_001)]) {
    await expect(refuseOne(ann, reason)).rejects.toMatchObject({ code: 'invalid_input', details: { field: 'reason' } })
  }
  await refuseOne(ann, 'x'.repeat(1_000))
})

test('submitting a held text unchanged is not an edit', async () => {
  await send('pay 100')
  const { id, hash } = await waiting(ann)
  await approve(ann, { id, hash, text: 'pay 100' })

  const [message] = await read(grid.bob)
  expect(message).toMatchObject({ message: 'pay 100' })
  expect(message.edited).toBeUndefined()
})

test('an edited text is validated like any other text', async () => {
  await send()
  const { id, hash } = await waiting(ann)
  await expect(approve(ann, { id, hash, text: '' })).rejects.toMatchObject({ code: 'invalid_input' })
  await approve(ann, { id, hash, text: 'one\u200b two' })

  expect(await read(grid.bob)).toMatchObject([{ message: 'one two' }])
})

test("the decider can read a held message's file", async () => {
  const bytes = Buffer.alloc(70_000, 'a')
  const { body } = await callRest(grid, grid.alice.key, 'POST /api/v1/parts', { bytes: bytes.length })
  await grid.request(`/api/v1/parts/${body.upload_id}?offset=0`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${grid.alice.key}`, 'Content-Type': 'application/octet-stream' },
    body: bytes,
  })
  await send('see', { parts: [{ upload_id: body.upload_id }] })
  const { id, parts: [part] } = await waiting(ann)

  const file = await heldPartOf(ann, id, String(part.part_id))
  expect((await file.bytes(0, file.length)).equals(bytes)).toBe(true)
})

test("an approved post reaches the channel's members at the time of approval", async () => {
  const { channel } = await createChannel(grid.acme.store, { name: 'room', members: ['alice', 'bob'] })
  await tool(grid.alice, 'send_message', { to: '#room', message: 'to the room' })
  const cat = await grid.acme.agent('cat')
  const { channels } = grid.acme.store.change
  await grid.acme.store.write([
    channels.removeMembers(channel.id, [grid.bob.id]),
    channels.addMembers(channel.id, [cat.id], grid.clock.now),
  ])
  await approveOne(ann)

  expect(await read(grid.bob)).toEqual([])
  expect(await read(cat)).toMatchObject([{ message: 'to the room', channel: '#room' }])
})

test('a sender that waits for an answer also waits for the decision, and gets a refusal as its answer', async () => {
  await grid.acme.store.write([grid.acme.store.change.agents.markSeen(grid.bob.id, grid.clock.now)])
  const asking = callRest(grid, grid.alice.key, 'POST /api/v1/messages', {
    ...{ to: '@bob', message: 'may I?', wait_seconds: 20 },
  })
  await waitFor('the held message', async () => (await heldMessages(ann)).length === 1)
  await refuseOne(ann, 'You may not.')

  const { body } = await asking
  expect(body.answer.messages).toMatchObject([{ type: 'system', message: expect.stringContaining('You may not.') }])
  expect(await read(grid.alice)).toEqual([])
})

test('a waiting sender gets the answer to the approved message', async () => {
  await grid.acme.store.write([grid.acme.store.change.agents.markSeen(grid.bob.id, grid.clock.now)])
  const asking = callRest(grid, grid.alice.key, 'POST /api/v1/messages', {
    ...{ to: '@bob', message: 'may I?', wait_seconds: 20 },
  })
  await waitFor('the held message', async () => (await heldMessages(ann)).length === 1)
  await approveOne(ann)
  await rows(grid, 'DELETE FROM approval_rules WHERE account_id = ?', [grid.acme.id])
  await read(grid.bob)
  await tool(grid.bob, 'send_message', { to: '@alice', message: 'yes' })

  expect((await asking).body.answer.messages).toMatchObject([{ message: 'yes' }])
})

test('canceling a task removes its held message, and retracting a held message cancels its task', async () => {
  const alice = storeOf(grid, grid.alice)
  const canceled = await askFor(alice, 'one')
  await cancelTask(alice, canceled.id)
  const retracted = await askFor(alice, 'two')
  const [{ messageId }] = await heldMessages(ann)
  await retractMessage(alice, { agentId: grid.alice.id, alias: 'alice' }, messageId)

  expect(await heldMessages(ann)).toEqual([])
  expect((await getTask(alice, retracted.id)).status.state).toBe('canceled')
})

test('an edit of a message sent over A2A replaces its text, and keeps its files', async () => {
  const large = { raw: btoa('f'.repeat(20_000)), filename: 'a.bin' }
  const { id } = await sendMessage(storeOf(grid, grid.alice), {
    ...{ to: '@bob', text: 'one\ntwo', a2a: { messageId: 'x', parts: [{ text: 'one' }, { text: 'two' }, large] } },
  })
  const held = await waiting(ann)
  const part = held.parts.find(({ part_id }) => part_id !== undefined)
  expect((await (await heldPartOf(ann, held.id, String(part!.part_id))).bytes(0, 1)).toString()).toBe('f')
  await approveOne(ann, 'three')

  const [got] = await read(grid.bob)
  expect(got).toMatchObject({ message: 'three', message_id: id, edited: true, parts: [{ filename: 'a.bin' }] })
  expect(JSON.stringify(got)).not.toContain('two')
  expect((await tool(grid.bob, 'read_part', { part_id: got.parts[0].part_id })).bytes).toBe(20_000)
})

test('an approved long text is delivered completely, and an edit replaces all of it', async () => {
  const long = `${'x'.repeat(10_000)} and the end`
  const send = () => sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: long, parts: [{ data: { n: 1 } }] })
  await send()
  await approveOne(ann)
  await send()
  await approveOne(ann, 'short')

  const [whole, edited] = await read(grid.bob)
  expect(whole.parts).toMatchObject([{ kind: 'text', bytes: long.length }, { data: { n: 1 } }])
  expect(edited).toMatchObject({ message: 'short', edited: true, parts: [{ data: { n: 1 } }] })
  expect(edited.parts).toHaveLength(1)
})

test('an A2A receipt states that the message is held', async () => {
  const { body } = await postA2a(grid, grid.alice.key, send03())

  expect(JSON.stringify(body.result)).toMatch(/held until.*"held":\{"by":/)
})

test('a decision under a risky rule requires a recent confirmation of identity', async () => {
  await rows(grid, 'DELETE FROM approval_rules WHERE account_id = ?', [grid.acme.id])
  await hold(grid.acme.store, { isRisky: true })
  await send()
  grid.clock.now += hour

  await expect(approveOne(ann)).rejects.toMatchObject({ code: 'confirmation_required' })
})

test('decisions are listed newest first, with texts only for people who may read them', async () => {
  for (const text of ['one', 'two', 'three']) {
    await send(text)
    await (text === 'two' ? refuseOne(ann, 'No') : approveOne(ann))
    grid.clock.now += minute
  }
  const [newest] = await decisions(ann, { before: first, limit: 1 })
  const older = await decisions(ann, { before: { at: newest.decidedAt!, id: newest.id }, limit: 10 })
  expect([newest, ...older].map(({ body, state }) => [body, state])).toEqual([
    ...[['three', 'approved'], ['two', 'refused'], ['one', 'approved']],
  ])
  expect(await decisions(ann, { before: first, limit: 10, state: 'refused' })).toHaveLength(1)

  const { account: admin } = await member(grid, { role: 'admin' })
  const { account: other } = await member(grid, { role: 'member' })
  expect((await decisions(admin, { before: first, limit: 10 })).map(({ body }) => body)).toEqual([null, null, null])
  expect(await decisions(other, { before: first, limit: 10 })).toEqual([])
  await expect(heldMessage(admin, newest.id)).rejects.toMatchObject({ code: 'message_not_found' })
})

test("a list of one person's or one rule's decisions omits undecided messages and those held by a guardrail", async () => {
  await send('decided')
  await approveOne(ann)
  await send('expired')
  grid.clock.now += 30 * day
  await expireHeldMessages(grid.store)
  const { userId } = callingUser(ann.actor)
  const listed = async (filter: object) =>
    (await decisions(ann, { before: first, limit: 10, ...filter })).map(({ state }) => state)

  expect(await listed({})).toEqual(['expired', 'approved'])
  expect(await listed({ decidedBy: userId })).toEqual(['approved'])
  await rows(
    grid,
    "UPDATE held_messages SET rule = json_remove(rule, '$.id') WHERE account_id = ? AND state = 'expired'",
    [
      grid.acme.id,
    ],
  )
  const [{ id: rule }] = await rows(grid, 'SELECT id FROM approval_rules WHERE account_id = ?', [grid.acme.id])
  expect(await listed({ rule: String(rule) })).toEqual(['approved'])
})

test('a person who writes a message sees that it waits for approval', async () => {
  const pat = await personWithAlias(grid, 'pat')
  await rows(
    grid,
    "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'approvals', 'members', 1)",
    [grid.acme.id, pat.personAlias.agentId],
  )
  await hold(grid.acme.store, { fromKind: 'people' })
  const browser = await signedIn(grid, pat.person)
  const page = `/accounts/${grid.acme.id}/write`
  await browser.open(page)
  const { html } = await browser.submit(page, { to: '@bob', text: 'hello' })

  expect(html).toContain('waits for the approval')
})

test('shortening a long text to its beginning delivers only the beginning', async () => {
  await send(`${'x'.repeat(10_000)} and the end`)
  const { body } = await waiting(ann)
  await approveOne(ann, body)

  const [message] = await read(grid.bob)
  expect(message).toMatchObject({ message: body, edited: true })
  expect(message).not.toHaveProperty('parts')
  expect(await rows(grid, 'SELECT id FROM parts WHERE account_id = ?', [grid.acme.id])).toEqual([])
})
