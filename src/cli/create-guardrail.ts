import { GridError } from '../errors.ts'
import { createGuardrail } from '../grid/guardrails/guardrails.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { table } from './table.ts'

/** The token is stored sealed and shown nowhere. Spec: "Guardrail". */
export const createGuardrailCommand = storeCommand({
  name: 'create-guardrail',
  summary: 'Configure a guardrail of an account.',
  options: {
    account: { takes: 'ID', doc: 'the account', required: true },
    name: { takes: 'NAME', doc: 'name of the guardrail, unique in the account', required: true },
    provider: { takes: 'PROVIDER', doc: 'what it runs; admin_list_guardrail_providers lists them', required: true },
    config: { takes: 'JSON', doc: 'configuration of the provider; default {}' },
    token: { takes: 'TOKEN', doc: 'token or signing secret of a remote provider', env: 'GUARDRAIL_TOKEN' },
    action: {
      takes: 'WORD',
      doc: 'what happens to a message it finds: block (default), redact or flag',
      oneOf: ['block', 'redact', 'flag'],
    },
    'on-failure': {
      takes: 'WORD',
      doc: 'when the provider fails: closed stops the message (default for block), open lets it pass',
      oneOf: ['closed', 'open'],
    },
  },
  async run(store, { account, name, provider, token, action, ...args }) {
    const input = {
      name,
      provider,
      config: readJson(args.config ?? '{}'),
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
  print: (guardrail) => table([['Guardrail', guardrail.name], ['Id', guardrail.guardrail_id]]),
})

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GridError('invalid_input', 'config: must be JSON', { field: 'config' })
  }
}
