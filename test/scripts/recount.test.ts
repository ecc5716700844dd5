/** The recount of derived tables agrees with a populated grid, and reports each planted difference. */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { counts } from '../../scripts/recount/counts.ts'
import { recount } from '../../scripts/recount/recount.ts'
import { setPushConfig } from '../../src/grid/tasks/push-configs.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { createWebhook } from '../../src/features/webhooks/webhooks.ts'
import { followLog } from '../../src/worker/followers.ts'
import { guard, secret } from '../support/guarded.ts'
import { hold } from '../support/held.ts'
import { storeOf, type TestGrid } from '../support/grid.ts'
import { isolatedAccounts } from '../support/isolated-accounts.ts'
import { sendMessage } from '../support/messaging.ts'
import { signUpAs } from '../support/signup.ts'
import { askFor } from '../support/tasks.ts'

let grid: TestGrid
let url: string
beforeEach(async () => {
  ;({ grid } = await isolatedAccounts())
  const alice = storeOf(grid, grid.alice)
  const asked = await sendMessage(alice, { to: '@bob', text: 'one' })
  await grid.acme.agent('far-robot', { type: 'a2a', remoteUrl: 'https://robot.example/' })
  await sendMessage(alice, { to: '@far-robot', text: 'to a server' })
  const answer = await sendMessage(storeOf(grid, grid.bob), { to: '@alice', text: 'two', replyToMessageId: asked.id })
  await sendMessage(alice, { to: '@bob', text: 'three', replyToMessageId: answer.id })
  await signUpAs(grid, 'tom@trial.example', 'on-trial')
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await sendMessage(alice, { to: '#acme-channel', text: `The ${secret}, once` })
  await withDueOutboxs()
  await hold(grid.acme.store)
  await sendMessage(alice, { to: '@bob', text: 'held' })
  await followLog(grid.store)
  await grid.store.drained()
  url = `file:${join(grid.folder, 'grid.db')}`
})

/** Creates pending work for each kind of external server. */
async function withDueOutboxs(): Promise<void> {
  const { acme, clock } = grid
  const [alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  const robot = await acme.agent('robot', { type: 'a2a', remoteUrl: 'https://robot.example' })
  await sendMessage(alice, { to: '@robot', text: 'to a remote agent' })
  const { id } = await sendMessage(alice, { to: '@bob', text: 'as if a remote agent worked on it' })
  await acme.store.write(acme.store.change.remoteAgents.putRemoteTask(robot.id, {
    ...{ id, conversation: '@alice', contextId: null, taskId: 'theirs', state: 'working', sends: 1, error: null },
    ...{ sentAt: clock.now, dueAt: clock.now },
  }, clock.now))
  const { id: userId } = (await grid.store.global.users.byEmail('ann@acme.example'))!
  const owner = grid.store.account(acme.id, {
    ...{ type: 'user', userId, role: 'owner', sessionId: 'test', confirmedAt: clock.now },
  })
  await createWebhook(owner, { url: 'https://hooks.example/acme', events: ['held'] })
  const task = await askFor(alice, 'a task with a webhook')
  await setPushConfig(alice, task.id, {
    configId: 'one',
    url: 'https://client.example/hook',
    version: '1.0',
    urlField: 'url',
  })
  await updateTask(bob, { taskId: task.id, text: 'a result', artifact: { id: 'result' } })
}

test('the stored counts equal those computed from the raw tables', async () => {
  expect(await recount({ url })).toEqual([])
})

const faults: Record<string, string> = {
  'unread messages of inboxes': 'UPDATE agent_numbers SET unread = unread + 1 WHERE n = 1',
  'numbers of agents':
    'PRAGMA foreign_keys = OFF; DELETE FROM agent_numbers WHERE n = (SELECT max(n) FROM agent_numbers)',
  'outboxes of remote agents': 'DELETE FROM remote_outboxes',
  'threads': 'UPDATE threads SET messages = messages + 1 WHERE id = 1',
  'messages of threads':
    'UPDATE thread_messages SET thread_id = (SELECT max(thread_id) FROM thread_messages AS t WHERE t.account_id = thread_messages.account_id) WHERE seq = 1',
  'roots of chains': 'UPDATE thread_messages SET root_seq = seq WHERE root_seq <> seq',
  'agents of threads': 'UPDATE thread_agents SET delivery_seq = 0',
  'traffic': 'UPDATE traffic SET messages = messages + 1',
  'states and numbers of events of tasks': 'UPDATE tasks SET generation = generation + 1',
  'order of events of tasks': 'UPDATE task_events SET n = n + 5',
  'bytes of tasks': 'UPDATE tasks SET bytes = bytes + 1',
  'bytes of uploads that have come': 'UPDATE uploads SET received = received + 1',
  'messages that are held':
    "UPDATE held_messages SET state = 'approved' WHERE state = 'held'; UPDATE messages SET seq = 1000000 WHERE seq < 0; UPDATE held_messages SET state = 'held' WHERE state = 'approved'",
  'messages of trials': 'UPDATE trials SET used = used + 1',
  'usage of days': 'UPDATE usage SET messages = messages + 1',
  'bytes of days': 'UPDATE usage SET bytes = bytes + 1',
  'search terms of senders and recipients': 'UPDATE messages SET from_alias = from_alias || 1 WHERE seq = 1',
  'search terms of texts': 'DELETE FROM message_search WHERE rowid = 1',
  'search terms of texts that were changed for a recipient':
    "UPDATE deliveries SET body = body || ' more' WHERE body IS NOT NULL",
  'due outboxes of messages to remote agents': 'DELETE FROM remote_outboxes',
  'due outboxes of answers of remote agents': 'UPDATE remote_tasks SET due_at = NULL',
  'due outboxes of webhooks': 'UPDATE webhooks SET due_at = NULL',
  'due outboxes of push notifications of tasks': 'UPDATE task_push_configs SET due_at = NULL',
}

test('every count of the recount has a planted fault', () =>
  expect(Object.keys(faults)).toEqual(counts.map(({ name }) => name)))

test.for(Object.entries(faults))('the recount reports a wrong value in %s', async ([name, sql]) => {
  const client = createClient({ url })
  await client.executeMultiple(sql)
  client.close()

  expect((await recount({ url })).map((line) => line.split(':')[0])).toContain(name)
})
