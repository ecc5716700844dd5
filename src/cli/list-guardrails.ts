import { openAccount } from '../grid/accounts/accounts.ts'
import { shown } from '../grid/guardrails/list-guardrails.ts'
import { isoTime } from '../lib/time.ts'
import type { Guardrail } from '../store/account/guardrails.ts'
import { storeCommand } from './command.ts'
import { cursorOption, listPage, printList } from './list-page.ts'
import { accountOption } from './options.ts'

/** By name, never with a token. */
export const listGuardrailsCommand = storeCommand({
  name: 'list-guardrails',
  summary: 'List the guardrails of an account.',
  options: {
    account: accountOption,
    cursor: cursorOption,
  },
  async run(store, { account: id, cursor }) {
    const { read } = await openAccount(store, id, { type: 'system', job: 'list-guardrails' })
    const source = { read: read.guardrails.page, keyOf: ({ name }: Guardrail) => name, entryOf: asRow }
    const { entries, more } = await listPage(source, cursor)
    return { guardrails: entries, ...more }
  },
  print: ({ guardrails, next_cursor }) =>
    printList(
      ['Guardrail', 'ID', 'Provider', 'Action', 'On failure', 'State', 'Agents'],
      guardrails.map(({ guardrail_id, name, provider, action, on_failure, enabled, agents }) => [
        name,
        guardrail_id,
        provider,
        action,
        on_failure,
        enabled ? 'on' : 'off',
        agents,
      ]),
      { empty: 'The account has no guardrails.', next_cursor },
    ),
})

function asRow(guardrail: Guardrail & { agentCount: number }) {
  const { id, name, provider, config, action, onFailure, enabled, agentCount } = shown(guardrail, guardrail.agentCount)
  return {
    guardrail_id: id,
    name,
    provider,
    config,
    action,
    on_failure: onFailure,
    enabled,
    agents: agentCount,
    created_at: isoTime(guardrail.createdAt),
  }
}
