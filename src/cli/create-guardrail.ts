import { createGuardrail } from '../grid/guardrails/guardrails.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, readConfigOption } from './options.ts'
import { table } from './table.ts'

/** The token is stored encrypted and never shown. See docs/protocol.md, "Guardrail". */
export const createGuardrailCommand = storeCommand({
  name: 'create-guardrail',
  summary: 'Create a guardrail.',
  options: {
    account: accountOption,
    name: { placeholder: 'NAME', description: 'name of the guardrail, unique in the account', required: true },
    provider: {
      placeholder: 'PROVIDER',
      description: 'the provider; the tool admin_list_guardrail_providers lists them',
      required: true,
    },
    config: { placeholder: 'JSON', description: 'configuration of the provider (default {})' },
    token: {
      placeholder: 'TOKEN',
      description: 'token or signing secret of a remote provider',
      env: 'GUARDRAIL_TOKEN',
    },
    action: {
      placeholder: 'ACTION',
      description: 'what happens to a matching message: block (default), redact or flag',
      oneOf: ['block', 'redact', 'flag'],
    },
    'on-failure': {
      placeholder: 'MODE',
      description: 'if the provider fails: closed stops the message (default for block), open lets it pass',
      oneOf: ['closed', 'open'],
    },
  },
  async run(store, { account, name, provider, token, action, ...args }) {
    const input = {
      name,
      provider,
      config: readConfigOption(args.config),
      token,
      action,
      onFailure: args['on-failure'],
    }
    const guardrail = await changeAccount(
      store,
      'create-guardrail',
      { account, ...input },
      (account) => createGuardrail(account, input),
    )
    return { guardrail_id: guardrail.id, name: guardrail.name }
  },
  print: (guardrail) => table([['Guardrail', guardrail.name], ['ID', guardrail.guardrail_id]]),
})
