/**
 * A process that does one kind of work on the database in `DATABASE_URL`, and kills itself some milliseconds after the
 * work has begun. For `test/e2e/killed-processes.test.ts`. Arguments: the work, the agents as JSON, the milliseconds.
 */
import process from 'node:process'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { claimAccount, openClaim } from '../../src/grid/accounts/claim.ts'
import { signUp } from '../../src/grid/accounts/signup.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { cancelTask } from '../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { newId } from '../../src/lib/id.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { follow } from './conversations.ts'
import { decideOldest } from './held.ts'
import { sendMessage } from './messaging.ts'
import { askFor } from './tasks.ts'
import { membership } from './people.ts'

/** Two agents of one account, and one agent of another account. */
type WorkingAgents = { account: string; id: string; alias: string }[]

const [name, given, killAfterMs] = process.argv.slice(2)
const agents = JSON.parse(given) as WorkingAgents
let killing: ReturnType<typeof setTimeout> | undefined

/** Reports that the work has begun. */
function begun(): void {
  killing ??= setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(killAfterMs))
}

/** Agents send each other every kind of message. The messages are placed in conversations. */
async function conversations([alice, bob, desk]: AccountStore[], store: Store): Promise<void> {
  follow(store)
  await inLanes(3, async (lane) => {
    const conversationId = lane === 0 ? undefined : `talk-${lane}`
    const first = await sendMessage(alice, { to: 'bob', text: 'one', conversationId })
    const second = await sendMessage(bob, { to: 'alice', text: 'two', replyToMessageId: first.id })
    await sendMessage(alice, { to: '#general', text: 'three' })
    const out = await sendMessage(alice, { to: 'desk', text: 'out', replyToMessageId: second.id })
    await sendMessage(desk, { to: 'alice', text: 'back', replyToMessageId: out.id })
    begun()
  })
}

/** An agent asks a question. Another agent answers in many steps. */
async function tasks([alice, bob]: AccountStore[]): Promise<void> {
  await inLanes(5, async (_, n) => {
    const { id: taskId } = await askFor(alice, `question ${n}`)
    const { lease } = await readMessages(bob, {})
    lease?.ack()
    await updateTask(bob, { taskId, text: 'begin', artifact: { id: 'a' } })
    await Promise.all(
      [1, 2, 3].map((chunk) => updateTask(bob, { taskId, text: ` ${chunk}`, artifact: { id: 'a', append: true } })),
    )
    await updateTask(bob, { taskId, state: 'working', text: 'nearly there' })
    if (n % 3 === 0) await cancelTask(alice, taskId)
    else await updateTask(bob, { taskId, text: 'an answer' })
    begun()
  })
}

/** Agents sign up, message each other, and are claimed into the first account. */
async function claims(_: AccountStore[], store: Store): Promise<void> {
  const enter = createAuthenticator(store)
  const into = agents[0].account
  await inLanes(3, async (lane, n) => {
    const prefix = `run-${process.pid}-${lane}-${n}`
    const ownerEmail = `${prefix}@new.example`
    const [one, two] = [`${prefix}-one`, `${prefix}-two`]
    const first = await signUp(store, { ownerEmail, alias: one }, '203.0.113.7')
    const second = await signUp(store, { ownerEmail, alias: two }, '203.0.113.7')
    const [a, b] = [await enter(`Bearer ${first.api_key}`), await enter(`Bearer ${second.api_key}`)]
    for (const text of ['leased', 'unread']) await sendMessage(a, { to: two, text, idempotencyKey: text })
    await readMessages(b, { limit: 1 })
    await askFor(a, 'a question', { to: `@${two}` })
    await askFor(b, 'another question', { to: `@${one}` })
    const [id, at] = [newId(), store.deps.now()]
    const { users } = store.global
    await store.write([
      users.add({ id, email: ownerEmail, name: '', passwordHash: null, verifiedAt: at }, at),
      membership(store, into, id, 'owner', at),
    ])
    begun()
    const link = first.trial.claim_url.split('/').at(-1)!
    const moved = (await openClaim(store, link)).agents.map(({ id }) => id)
    const account = store.account(into, { type: 'user', userId: id, role: 'owner', sessionId: 'test' })
    const claimant = { user: { id, email: ownerEmail, emailVerifiedAt: at }, sessionId: 'test' }
    const decision = { name: 'Old', keep: [], move: moved, discard: [], into: { id: into, account } }
    await claimAccount(store, link, claimant, decision, null)
  })
}

/** Agents message each other. Each message is held, and two people decide on the oldest message concurrently. */
async function approvals([alice, bob]: AccountStore[], store: Store): Promise<void> {
  const members = await alice.read.team.members()
  const people = members.slice(0, 2).map(({ userId }) =>
    store.account(agents[0].account, { type: 'user', userId, role: 'owner', sessionId: 'test' })
  )
  await inLanes(4, async (lane, n) => {
    const [from, to] = lane % 2 === 0 ? [alice, 'bob'] : [bob, 'alice']
    await sendMessage(from, { to, text: `${lane} ${n}` })
    await Promise.all(people.map((person) => decideOldest(person, n)))
    begun()
  })
}

/** Repeats work in several concurrent lanes until the process is killed. */
async function inLanes(count: number, work: (lane: number, n: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, async (_, lane) => {
    for (let n = 0;; n++) await work(lane, n)
  }))
}

async function main(): Promise<void> {
  const store = await openStore(processDeps(readConfig({ LOG_LEVEL: 'error', ...process.env })), {
    lockWaitSeconds: 20,
  })
  const accounts = agents.map(({ account, id, alias }) =>
    store.account(account, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  )
  await { conversations, tasks, claims, approvals }[name]!(accounts, store)
}

void main()
