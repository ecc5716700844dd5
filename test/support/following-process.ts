/**
 * A process that sends messages of all kinds and places them in conversations, until it kills itself. For
 * `test/e2e/killed-follower.test.ts`; the database has the agents of a test grid, and is in the environment.
 */
import process from 'node:process'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/store.ts'
import { LogFollower } from '../../src/worker/threads.ts'
import { sendMessage } from './messaging.ts'

interface Sender {
  account: string
  id: string
  alias: string
}

/** Agents that write to each other: two of one account and one of another. */
const senders = JSON.parse(process.argv[2]) as Sender[]
const killAfterMs = Number(process.argv[3])

async function main(): Promise<void> {
  const store = await openStore(processDeps(readConfig({ LOG_LEVEL: 'error', ...process.env })))
  const follower = new LogFollower(store)
  await follower.run()
  const [alice, bob, desk] = senders.map(({ account, id, alias }) =>
    store.account(account, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  )
  let killing: ReturnType<typeof setTimeout> | undefined
  await Promise.all([0, 1, 2].map(async (n) => {
    for (;;) {
      const talk = n === 0 ? undefined : `talk-${n}`
      const first = await sendMessage(alice, { to: 'bob', text: 'one', conversationId: talk })
      const second = await sendMessage(bob, { to: 'alice', text: 'two', replyToMessageId: first.id })
      await sendMessage(alice, { to: '#general', text: 'three' })
      const out = await sendMessage(alice, { to: 'desk', text: 'out', replyToMessageId: second.id })
      await sendMessage(desk, { to: 'alice', text: 'back', replyToMessageId: out.id })
      // Messages have begun to flow.
      killing ??= setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs)
    }
  }))
}

void main()
