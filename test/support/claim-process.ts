/**
 * A process in which agents sign up, write to each other, and are claimed into another account, until it kills itself.
 * For `test/e2e/killed-claims.test.ts`; the database has the accounts of a test grid, and is in the environment.
 */
import process from 'node:process'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { claimAccount, openClaim } from '../../src/grid/accounts/claim.ts'
import { signUp } from '../../src/grid/accounts/signup.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { newId } from '../../src/lib/id.ts'
import { openStore } from '../../src/store/store.ts'
import { sendMessage } from './messaging.ts'
import { askFor } from './tasks.ts'

const [into, prefix] = process.argv.slice(2)
const killAfterMs = Number(process.argv[4])

async function main(): Promise<void> {
  const store = await openStore(processDeps(readConfig({ LOG_LEVEL: 'error', ...process.env })))
  const enter = createAuthenticator(store)
  let killing: ReturnType<typeof setTimeout> | undefined
  await Promise.all(Array.from({ length: 3 }, async (_, lane) => {
    for (let n = 0;; n++) {
      const ownerEmail = `${prefix}-${lane}-${n}@new.example`
      const [one, two] = [`${prefix}-${lane}-${n}-one`, `${prefix}-${lane}-${n}-two`]
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
        users.addMembership(into, id, 'owner', at),
      ])
      killing ??= setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs)
      const link = first.trial.claim_url.split('/').at(-1)!
      const { agents } = await openClaim(store, link)
      const target = store.account(into, { type: 'user', userId: id, role: 'owner', sessionId: 'test' })
      await claimAccount(
        store,
        link,
        { user: { id, email: ownerEmail, emailVerifiedAt: at }, sessionId: 'test' },
        { name: 'Old', keep: [], move: agents.map(({ id }) => id), discard: [], into: { id: into, account: target } },
        null,
      )
    }
  }))
}

void main()
