/** Conversations of every kind, for tests of pages. */
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { changeChannelMembers } from '../../src/grid/channels/channels.ts'
import { writeMessage } from '../../src/grid/conversations/write.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { minute } from '../../src/lib/time.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { followLog } from '../../src/worker/followers.ts'
import { postA2a, send10 } from './a2a.ts'
import type { TestGrid } from './grid.ts'
import { sendMessage } from './messaging.ts'

const system = { type: 'system', job: 'seed' } as const

const report = [
  '## Result',
  '',
  '| suite | passed | failed |',
  '| --- | ---: | ---: |',
  '| checkout | 211 | **3** |',
  '',
  '1. `tax/rates.test.ts`: expected 19, was 7',
  '2. `tax/rounding.test.ts`, only with *JPY*',
  '',
  '```ts',
  'expect(round(1.005, 2)).toBe(1.01)',
  '```',
].join('\n')

/**
 * Adds conversations between an agent, another account's agent, a channel, and a person. `owner` has an alias. Resolves
 * to the names that pages show.
 */
export async function seedTalk(grid: TestGrid, owner: AccountStore, channel: string) {
  const { acme, store, clock } = grid
  const agent = async (alias: string): Promise<AccountStore> => {
    const { id } = (await acme.store.read.agents.byAlias(alias))!
    return store.account(acme.id, { type: 'agent', agentId: id, alias, credentialId: 'seed' })
  }
  const [manager, review, watch] = await Promise.all(['release-manager', 'review', 'night-watch'].map(agent))
  const say = async (from: AccountStore, to: string, text: string, replyToMessageId?: string, choices?: string[]) => {
    clock.now += 2 * minute
    return await sendMessage(from, { to, text, replyToMessageId, choices })
  }

  const asked = await say(manager, '@review', 'Please run the whole suite on `main` and tell me what fails.')
  await say(manager, '@review', 'The branch is `release/2.14`, not `main`. Sorry.')
  await say(review, '@release-manager', 'It takes 8 min. Starting now.', asked.id)
  const handed = await say(review, '@night-watch', 'Was checkout slow in the last hour?', asked.id)
  await say(watch, '@review', 'No. p95 was 84 ms.', handed.id)
  await readMessages(review, {})
  clock.now += 40 * minute
  const answer = await say(review, '@release-manager', report, asked.id)
  await say(review, '@release-manager', `The whole log:\n\n${'checkout > taxes > rounding: ok\n'.repeat(60)}`)
  await say(manager, '@review', 'Thank you. I wait for the rates.', answer.id)

  await postA2a(
    grid,
    grid.alice.key,
    send10({
      parts: [
        { text: 'Here are the figures.' },
        { raw: btoa('a,b\n1,2\n'.repeat(4_000)), filename: 'figures.csv', mediaType: 'text/csv' },
        { data: { rows: 4_000 } },
      ],
      metadata: { to: '@bob' },
    }),
  )
  const { id: partner } = await createAccount(store, { name: 'Partner', ownerEmail: 'pia@partner.example' }, system)
  const { agent: dispatcher } = await createAgent(store.account(partner, system), {
    alias: 'dispatcher',
    visibility: 'public',
  })
  await say(await agent('bob'), '@dispatcher', 'Where is order 4711?')
  const actor = { type: 'agent', agentId: dispatcher.id, alias: 'dispatcher', credentialId: 'seed' } as const
  await say(store.account(partner, actor), '@bob', 'שלום, the shipment is ready <b>not bold</b>')

  await changeChannelMembers(acme.store, { channel, add: ['olga-marin'] })
  await say(watch, '#release-train', 'The database is down. Failing over to the replica.')
  await say(manager, '#release-train', 'Then Thursday waits.')
  clock.now += minute
  await writeMessage(owner, { to: '#release-train', text: 'Stop all deployments until I say so.' })
  const toOwner = await say(manager, '@olga-marin', 'May I move the release to Friday?', undefined, ['Yes', 'No'])
  await followLog(store)
  await readMessages(watch, {})

  const placed = await acme.store.read.threadMessages.byIds([answer.id, handed.id, toOwner.id])
  const of = (id: string) => placed.find((message) => message.id === id)!
  return {
    conversation: String(of(answer.id).threadId),
    mine: String(of(toOwner.id).threadId),
    message: String(of(answer.id).seq),
    chained: String(of(handed.id).seq),
    /** The number of a message to the owner. */
    toMe: String(of(toOwner.id).seq),
  }
}
