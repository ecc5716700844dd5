/** Guardrails for tests of the guardrail pages. */
import { createGuardrail, type NewGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import type { TestAccount } from './grid.ts'

export const token = 'sk-very-secret-token'

/** The form fields of a guardrail that needs a token, without the token. */
export const judge = {
  'config.baseUrl': 'https://llm.example/v1',
  'config.model': 'small',
  'config.policy': 'No insults.\r\nNo threats.',
  'action': 'flag',
  'onFailure': 'open',
  'enabled': 'on',
}

/** Creates a guardrail and returns its id. */
export async function make({ store }: TestAccount, input: Partial<NewGuardrail> & { name: string }): Promise<string> {
  return (await createGuardrail(store, { provider: 'pii', ...input })).id
}

/** Creates a guardrail with a token and returns its id. */
export function makeJudge(account: TestAccount): Promise<string> {
  return make(account, {
    name: 'judge',
    provider: 'llm-judge',
    token,
    config: { baseUrl: 'https://l.example', model: 'm', policy: 'p' },
  })
}

export async function stored({ store }: TestAccount, id: string) {
  return (await store.read.guardrails.byId(id))!
}
