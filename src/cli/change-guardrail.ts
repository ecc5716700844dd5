import { updateGuardrail } from '../grid/guardrails/guardrails.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand, usageError } from './command.ts'
import { accountOption, guardrailOption, readConfigOption } from './options.ts'
import { table } from './table.ts'

/** What is not given stays. The provider cannot be changed. See docs/protocol.md, "Guardrail". */
export const changeGuardrailCommand = storeCommand({
  name: 'change-guardrail',
  summary: 'Change a guardrail, for every agent it is attached to. What is not given stays.',
  options: {
    account: accountOption,
    guardrail: guardrailOption,
    name: { placeholder: 'NAME', description: 'new name, unique in the account' },
    config: { placeholder: 'JSON', description: 'the whole new configuration; a new server address needs --token' },
    token: {
      placeholder: 'TOKEN',
      description: 'new token or signing secret of a remote provider',
      env: 'GUARDRAIL_TOKEN',
    },
    'remove-token': {
      placeholder: 'yes',
      description: 'remove the stored token; a provider that needs one must be off',
      oneOf: ['yes'],
    },
    action: {
      placeholder: 'ACTION',
      description: 'what happens to a matching message: block, redact or flag',
      oneOf: ['block', 'redact', 'flag'],
    },
    'on-failure': {
      placeholder: 'MODE',
      description: 'if the provider fails: closed stops the message, open lets it pass',
      oneOf: ['closed', 'open'],
    },
    state: { placeholder: 'STATE', description: 'on or off', oneOf: ['on', 'off'] },
  },
  async run(store, { account, guardrail, name, config, token, action, state, ...args }) {
    if (token && args['remove-token']) throw usageError('Give --token or --remove-token, not both.')
    const changes = {
      name,
      config: config === undefined ? undefined : readConfigOption(config),
      token: args['remove-token'] ? null : token || undefined,
      action,
      onFailure: args['on-failure'],
      enabled: state && state === 'on',
    }
    if (Object.values(changes).every((value) => value === undefined)) {
      throw usageError('change-guardrail needs something to change.')
    }
    const changed = await changeAccount(
      store,
      'change-guardrail',
      { account, guardrail, ...changes },
      (account) => updateGuardrail(account, guardrail, changes),
    )
    return {
      guardrail_id: changed.id,
      name: changed.name,
      provider: changed.provider,
      config: changed.config,
      action: changed.action,
      on_failure: changed.onFailure,
      enabled: changed.enabled,
    }
  },
  print: ({ guardrail_id, name, provider, config, action, on_failure, enabled }) =>
    table([
      ['Guardrail', name],
      ['ID', guardrail_id],
      ['Provider', provider],
      ['Configuration', JSON.stringify(config)],
      ['Action', action],
      ['On failure', on_failure],
      ['State', enabled ? 'on' : 'off'],
    ]),
})
