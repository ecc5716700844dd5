/** A guardrail with a history, for tests of pages. */
import { setContentsVisible } from '../../src/grid/accounts/people-read.ts'
import { allowText, listCases } from '../../src/grid/guardrails/cases.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { hour } from '../../src/lib/time.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { TestGrid } from './grid.ts'
import { sendMessage } from './messaging.ts'

/**
 * Adds twelve days of history: a guardrail blocked, redacted and flagged messages, and the owner allowed a text.
 * Returns the guardrail's id.
 */
export async function seedCases({ store, acme, clock, alice }: TestGrid, owner: AccountStore): Promise<string> {
  const { id } = await createGuardrail(acme.store, {
    name: 'Code names',
    provider: 'phrases',
    config: { phrases: ['blue heron', 'كلمة السر'] },
  })
  await setContentsVisible(owner, { isVisible: true })
  const sender = store.account(acme.id, { type: 'agent', agentId: alice.id, alias: 'alice', credentialId: 'seed' })
  const texts = [
    'Blue Heron ships on Thursday.\nPlease tell nobody.',
    'هذه كلمة السر الجديدة، لا تعطها لأحد',
    'Does blue heron need a review?',
  ]
  for (let n = 0; n < 36; n++) {
    const action = (['block', 'flag', 'block', 'redact'] as const)[n % 4]
    await setAgentGuardrails(acme.store, { agent: 'alice', guardrails: [{ ref: id, direction: 'outbound', action }] })
    for (let m = 0; m <= n * 5 % 7; m++) {
      await sendMessage(sender, { to: 'translator', text: texts[(n + m) % 3] }).catch(() => {})
    }
    clock.now += 8 * hour
  }
  await setAgentGuardrails(acme.store, { agent: 'alice', guardrails: [{ ref: id, direction: 'outbound' }] })
  const [{ textHash }] = await listCases(owner, id)
  await allowText(owner, id, textHash)
  return id
}
