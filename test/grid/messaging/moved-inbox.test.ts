/** A claim moves an inbox into another account while its agent uses it: nothing is lost, repeated or reordered. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SignedInUser } from '../../../src/auth/actor.ts'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { mergeClaim, openClaim } from '../../../src/grid/accounts/claim.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person } from '../../support/people.ts'

const email = 'zoe@new.example'

let grid: TestGrid
/** Keys of two agents that signed up for one email address, and their claim link. */
let zoe: string
let mate: string
let link: string

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open(testProviders())
    const signUp = async (alias: string) => {
      const response = await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })
      return await response.json()
    }
    const { api_key, trial } = await signUp('zoe')
    zoe = api_key
    link = trial.claim_url.split('/').at(-1)
    mate = (await signUp('mate')).api_key
  })
  afterEach(() => grid.close())

  test('an answer under way comes again, flagged and once, whether or not it reached its client', async () => {
    await send('one')
    await send('two')
    const before = await enter(zoe)
    const { lease } = await readMessages(before, { limit: 1 })
    await merge()
    // The lease belongs to the old account, so neither call has an effect.
    await leaseOf(before, lease!.id).release()
    leaseOf(before, lease!.id).ack()
    await send('three')

    const { messages } = await readMessages(await enter(zoe), {})
    expect(messages.map(({ message, redelivered }) => [message, redelivered])).toEqual([
      ['one', true],
      ['two', undefined],
      ['three', undefined],
    ])
    expect((await readMessages(await enter(zoe), {})).messages).toEqual([])
  })

  test('a read that began before the move leases nothing in the old account, and the next one gets the messages', async () => {
    await send('one')
    const before = await enter(zoe)
    await merge()

    expect((await readMessages(before, {})).messages).toEqual([])
    expect((await readMessages(await enter(zoe), {})).messages).toMatchObject([{ message: 'one' }])
  })

  test('what guardrails did moves with the messages, and a blocked send stays blocked', async () => {
    const { provisionalId } = await openClaim(grid.store, link)
    const store = grid.store.account(provisionalId, { type: 'system', job: 'test' })
    const words = { direction: 'outbound' as const, config: { phrases: ['stop'] } }
    await guard({ ...grid.evil, store }, 'mate', { name: 'masks', direction: 'outbound', action: 'redact' })
    await guard({ ...grid.evil, store }, 'mate', { name: 'blocks', ...words })
    const { id } = await send(secret)
    const blocked = await send('stop', 'k').catch((error) => error)
    await merge()

    expect((await messageStatus(await enter(mate), id)).guardrails).toEqual([
      { action: 'redacted', kinds: [kind], name: 'masks', agents: ['mate'] },
    ])
    expect(blocked.code).toBe('guardrail_blocked')
    await expect(send('stop', 'k')).rejects.toThrow(blocked.message)
  })
})

function enter(key: string) {
  return createAuthenticator(grid.store)(`Bearer ${key}`)
}

async function send(text: string, idempotencyKey?: string) {
  return await sendMessage(await enter(mate), { to: 'zoe', text, idempotencyKey })
}

async function merge(): Promise<void> {
  const { id, actor } = await person(grid, { email, role: 'owner', account: grid.evil, hasPassword: false })
  const claimant: SignedInUser = { user: { id, email, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
  const into = { id: grid.evil.id, account: grid.store.account(grid.evil.id, actor('owner')) }
  const keep = (await openClaim(grid.store, link)).agents.map((agent) => agent.id)
  await mergeClaim(grid.store, link, claimant, into, { keep, discard: [] }, null)
}
