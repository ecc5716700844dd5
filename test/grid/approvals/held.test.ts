/** Messages that wait for a person's decision. docs/protocol/messages.md, "Held messages". */
import { beforeEach, expect, test } from 'vitest'
import type { AccountStore } from '../../../src/store/account.ts'
import { heldMessages } from '../../../src/grid/approvals/held.ts'
import { approve, refuse } from '../../../src/grid/approvals/decide.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { hour, second } from '../../../src/lib/time.ts'
import { expireHeldMessages } from '../../../src/worker/retention.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { approveOne, hold, refuseOne, waiting } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
let ann: AccountStore

const tool = async (agent: TestAgent, name: string, input: object = {}) =>
  (await callTool(grid, agent.key, name, { ...input })).text
const read = (agent: TestAgent) => tool(agent, 'read_messages')
const send = (message = 'pay 100', more: object = {}) =>
  tool(grid.alice, 'send_message', { to: '@bob', message, ...more })
const status = (message_id: string) => tool(grid.alice, 'message_status', { message_id })
const events = ({ timeline }: { timeline: { event: string }[] }) => timeline.map(({ event }) => event)

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
    ann = (await personWithAlias(grid, 'ann', { role: 'owner', name: 'Ann' })).account
    await hold(grid.acme.store)
  })

  test('a held message reaches nobody until it is approved, and its sender sees who decides', async () => {
    const until = new Date(grid.clock.now + 24 * hour).toISOString()
    const sent = await send()
    expect(sent).toMatchObject({ held: { by: expect.arrayContaining(['@ann']), until } })
    expect(await read(grid.bob)).toEqual([])
    expect(await status(sent.message_id)).toMatchObject({ delivery: 'held', timeline: [{ event: 'held' }] })

    grid.clock.now += hour
    expect(await approveOne(ann)).toEqual({ state: 'approved' })

    expect(await read(grid.bob)).toMatchObject([{ message: 'pay 100', message_id: sent.message_id }])
    expect(events(await status(sent.message_id))).toEqual(['held', 'approved', 'stored', 'leased'])
    expect(await heldMessages(ann)).toEqual([])
  })

  test('an approved message is delivered after messages that were sent while it was held', async () => {
    await send('first')
    await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    await send('second')
    await approveOne(ann)
    await send('third')

    expect((await read(grid.bob)).map(({ message }: { message: string }) => message)).toEqual([
      'second',
      'first',
      'third',
    ])
    const log = await rows(grid, 'SELECT body FROM messages WHERE account_id = ? ORDER BY seq', [grid.acme.id])
    expect(log.map(({ body }) => body)).toEqual(['second', 'first', 'third'])
  })

  test('a person edits and approves a text, and both sender and recipient see that it was edited', async () => {
    const { message_id } = await send()
    await approveOne(ann, 'pay 10')

    expect(await read(grid.bob)).toMatchObject([{ message: 'pay 10', edited: true }])
    expect(events(await status(message_id))).toEqual(['held', 'edited', 'approved', 'stored', 'leased'])
  })

  test('a refused message is not delivered, and its sender gets the reason', async () => {
    const { message_id } = await send()
    await refuseOne(ann, 'Too much.')

    expect(await read(grid.bob)).toEqual([])
    expect(await read(grid.alice)).toMatchObject([{
      type: 'system',
      reply_to_message_id: message_id,
      message: 'Your message to @bob was not delivered. @ann refused it: Too much.',
    }])
    expect(await status(message_id)).toMatchObject({ delivery: 'refused' })
  })

  test("an undecided message is refused when its rule's time limit passes, or at the message's expiry if that is earlier", async () => {
    const { message_id, held } = await send('soon', { expires_in_seconds: 60 })
    expect(held.until).toBe(new Date(grid.clock.now + 60 * second).toISOString())
    const { id, hash } = await waiting(ann)
    grid.clock.now += 60 * second

    await expect(approve(ann, { id, hash })).rejects.toMatchObject({ code: 'already_decided' })
    await expireHeldMessages(grid.store)
    expect(await status(message_id)).toMatchObject({ delivery: 'expired' })
    expect(await read(grid.alice)).toMatchObject([{ message: expect.stringContaining('in time') }])
  })

  test('the sender can retract a held message', async () => {
    const { message_id } = await send()
    const { id, hash } = await waiting(ann)
    await callRest(grid, grid.alice.key, 'DELETE /api/v1/messages/{id}', { id: message_id })

    expect(await heldMessages(ann)).toEqual([])
    await expect(approve(ann, { id, hash })).rejects.toMatchObject({ code: 'already_decided' })
    expect(await status(message_id)).toMatchObject({ delivery: 'retracted' })
  })

  test('if two people decide at the same time, one succeeds, and the other is told who decided', async () => {
    const { account: bea } = await member(grid, { role: 'owner', name: 'Bea' })
    await send()
    const { id, hash } = await waiting(ann)
    const results = await Promise.allSettled([
      approve(ann, { id, hash }),
      refuse(bea, { id, hash, reason: 'No' }),
    ])

    const lost = results.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(lost).toHaveLength(1)
    expect(lost[0].reason).toMatchObject({
      code: 'already_decided',
      message: expect.stringMatching(/^(@ann approved|Bea refused)/),
    })
    const delivered = (await read(grid.bob)).length
    const told = (await read(grid.alice)).length
    expect(delivered + told).toBe(1)
  })

  test('a decision with a stale or changed hash has no effect', async () => {
    await send()
    const { id } = await waiting(ann)

    await expect(approve(ann, { id, hash: 'f'.repeat(64) })).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await heldMessages(ann)).toHaveLength(1)
  })

  test('API keys, admin credentials, viewers, members that the rule does not name, and the author cannot decide', async () => {
    const { person: cleo, account: member1 } = await member(grid, { role: 'member', name: 'Cleo' })
    await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    await hold(grid.acme.store, { deciders: [cleo.id] })
    await hold(grid.acme.store, { fromKind: 'people' })
    await send()
    const { id, hash } = await waiting(member1)

    const admin = grid.store.account(grid.acme.id, {
      ...{ type: 'admin', credentialId: 'x', credentialKind: 'admin_key', userId: null },
    })
    const viewer = (await member(grid, { role: 'viewer' })).account
    const other = (await member(grid, { role: 'member' })).account
    for (const account of [storeOf(grid, grid.bob), admin, viewer, other, ann]) {
      await expect(approve(account, { id, hash })).rejects.toMatchObject({
        code: expect.stringMatching(/^(wrong_credential|message_not_found)$/),
      })
      expect(await heldMessages(account)).toEqual([])
    }
    await approve(member1, { id, hash })
  })

  test('if no decider named by a rule is still a member, the owners decide', async () => {
    await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    const { person: vic, account: viewer } = await member(grid, { role: 'viewer' })
    const { account: admin } = await member(grid, { role: 'admin' })
    await hold(grid.acme.store, { deciders: ['gone', vic.id] })
    await send()

    expect(await heldMessages(ann)).toHaveLength(1)
    for (const account of [viewer, admin]) expect(await heldMessages(account)).toEqual([])
    await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    const { person: bea, account: named } = await member(grid)
    await hold(grid.acme.store, { deciders: [bea.id, vic.id] })
    await send()
    expect(await heldMessages(named)).toHaveLength(1)
    expect(await heldMessages(viewer)).toEqual([])
  })

  test('nobody can decide on their own message, not even an owner or a named decider', async () => {
    await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    const { person, account: cleo, personAlias } = await personWithAlias(grid, 'cleo', { role: 'owner' })
    const { person: named, account: bea } = await member(grid, { name: 'Bea' })
    await rows(
      grid,
      "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'approvals', 'members', 1)",
      [grid.acme.id, personAlias.agentId],
    )
    for (const deciders of [[], [person.id], [person.id, named.id]]) {
      await hold(grid.acme.store, { fromKind: 'people', deciders })
      await sendMessage(cleo, personAlias, { to: '@bob', text: 'mine' })
      const decider = deciders.length === 2 ? bea : ann

      expect(await heldMessages(cleo)).toEqual([])
      const { id, hash } = await waiting(decider)
      await expect(approve(cleo, { id, hash })).rejects.toMatchObject({ code: 'message_not_found' })
      await approve(decider, { id, hash })
      await grid.acme.store.write([grid.acme.store.change.approvalRules.remove(await ruleId())])
    }
  })

  test('a held task stays submitted, its status says that it is held, and a refusal rejects it', async () => {
    const alice = storeOf(grid, grid.alice)
    const task = await askFor(alice, 'held task')
    expect(task.status).toMatchObject({
      state: 'submitted',
      message: { parts: [{ text: expect.stringContaining('approval') }] },
    })
    const guess = await callTool(grid, grid.bob.key, 'update_task', { task_id: task.id, state: 'working' })
    expect(guess.code).toBe('task_not_found')
    await refuseOne(ann, 'Not now')
    expect((await getTask(alice, task.id)).status).toMatchObject({ state: 'rejected' })

    const second = await askFor(alice, 'another task')
    await approveOne(ann)
    expect((await getTask(alice, second.id)).status.state).toBe('submitted')
    expect(await read(grid.bob)).toMatchObject([{ message: 'another task', task_id: second.id }])
  })

  test('the answer to a task can be held, and completes the task when approved', async () => {
    const alice = storeOf(grid, grid.alice)
    const task = await askFor(alice, 'a question')
    await approveOne(ann)
    await read(grid.bob)
    await tool(grid.bob, 'update_task', { task_id: task.id, text: 'the answer' })
    const held = await getTask(alice, task.id)
    expect(held.status.state).toBe('working')
    expect(JSON.stringify(held)).not.toContain('the answer')

    await approveOne(ann)
    const done = await getTask(alice, task.id)
    expect(done.status.state).toBe('completed')
    expect(JSON.stringify(done.artifacts)).toContain('the answer')
  })

  test("an artifact's chunks are held together, and people decide on them when the artifact ends", async () => {
    const alice = storeOf(grid, grid.alice)
    const task = await askFor(alice, 'write a page')
    await approveOne(ann)
    await read(grid.bob)
    const put = (text: string, more: object = {}) =>
      tool(grid.bob, 'update_task', { task_id: task.id, text, artifact: { id: 'page', append: true }, ...more })
    await put('one, ')
    await put('two, ')
    expect(await heldMessages(ann)).toEqual([])
    await put('three')
    await tool(grid.bob, 'update_task', { task_id: task.id, state: 'completed' })
    expect(JSON.stringify(await getTask(alice, task.id))).not.toContain('one')

    const { body } = await waiting(ann)
    expect(body).toBe('one, two, three')
    await approveOne(ann)
    expect(await getTask(alice, task.id)).toMatchObject({
      status: { state: 'completed' },
      artifacts: [{ artifactId: 'page', parts: [{ text: 'one, two, three' }] }],
    })
  })

  test("a held artifact ends with its sender's next message", async () => {
    const alice = storeOf(grid, grid.alice)
    const task = await askFor(alice, 'write a page')
    await approveOne(ann)
    await read(grid.bob)
    await tool(grid.bob, 'update_task', { task_id: task.id, text: 'a page', artifact: { id: 'page' } })
    await tool(grid.bob, 'update_task', { task_id: task.id, text: 'done', state: 'completed' })

    expect((await heldMessages(ann)).map(({ body }) => body)).toEqual(['a page', 'done'])
  })

  test('approving a message whose recipient was deleted refuses it, with the reason', async () => {
    const { message_id } = await send()
    await grid.acme.store.write(grid.acme.store.change.agents.softDelete(grid.bob.id, grid.clock.now))

    expect(await approveOne(ann)).toMatchObject({ state: 'refused', reason: expect.stringContaining('not found') })
    expect(await status(message_id)).toMatchObject({ delivery: 'refused' })
  })

  test('repeating a held send with its idempotency key returns the same receipt, even after the approval', async () => {
    const body = { to: '@bob', message: 'once' }
    const post = async () =>
      (await callRest(grid, grid.alice.key, 'POST /api/v1/messages', body, { 'Idempotency-Key': 'k' })).body
    const first = await post()
    grid.clock.now += hour
    await approveOne(ann)
    expect(await post()).toEqual(first)
    expect(await read(grid.bob)).toHaveLength(1)
  })
})

async function ruleId(): Promise<string> {
  return (await grid.acme.store.read.approvalRules.list())[0].id
}
