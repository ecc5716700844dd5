import { deleteGuardrail } from '../grid/guardrails/guardrails.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, guardrailOption } from './options.ts'

/** Its token is deleted too, and it is detached everywhere. See docs/protocol.md, "Guardrail". */
export const deleteGuardrailCommand = storeCommand({
  name: 'delete-guardrail',
  summary: 'Delete a guardrail with its token, and detach it from every agent. This cannot be undone.',
  options: {
    account: accountOption,
    guardrail: guardrailOption,
  },
  async run(store, { account, guardrail }) {
    const { id } = await changeAccount(
      store,
      'delete-guardrail',
      { account, guardrail },
      (account) => deleteGuardrail(account, guardrail),
    )
    return { deleted: true, guardrail_id: id }
  },
  print: ({ guardrail_id }) => `The guardrail ${guardrail_id} is deleted.`,
})
