import { GridError } from '../errors.ts'
import { tryGuardrail } from '../grid/guardrails/try-guardrail.ts'
import { escapeControls } from '../lib/redact.ts'
import { accountCommand } from './store-command.ts'
import { usageError } from './command.ts'
import { table } from './tables.ts'

/** Sends no message. Stores only a row in the activity log. See docs/protocol/guardrails.md, "Trying one". */
export const tryGuardrailCommand = accountCommand({
  name: 'try-guardrail',
  summary: 'Run a guardrail on a text, and print its verdict.',
  options: {
    guardrail: { placeholder: 'GUARDRAIL', description: 'name or ID of a guardrail of the account' },
    provider: { placeholder: 'PROVIDER', description: 'instead of --guardrail: a provider, with --config and --token' },
    config: { placeholder: 'JSON', description: 'configuration of the provider (default {})' },
    token: { placeholder: 'TOKEN', description: 'token or signing secret for the provider', env: 'GUARDRAIL_TOKEN' },
    text: { placeholder: 'TEXT', description: 'the text to check', required: true, file: 'file' },
  },
  /** The log gets neither the text nor the token. */
  input: triedGuardrail,
  change: (account, tried, { token, text }) =>
    tryGuardrail(account, 'guardrail' in tried ? tried : { ...tried, token }, text),
  result: ({ provider, milliseconds, verdict, failure, raw }) => ({
    provider,
    verdict: verdict === undefined ? 'failed' : verdict.kinds.length > 0 ? 'objection' : 'no objection',
    kinds: verdict?.kinds ?? [],
    spans: verdict?.spans ?? null,
    replacement: verdict?.replacement ?? null,
    failure: failure ?? null,
    milliseconds,
    raw: raw ?? null,
  }),
  print: (trial) =>
    [
      table([
        ['Verdict', trial.verdict],
        ...(trial.kinds.length > 0 ? [['Kinds', trial.kinds.join(', ')]] as const : []),
        ...(trial.spans ? [['Where', trial.spans.map(({ start, end }) => `${start}-${end}`).join(' ')]] as const : []),
        ...(trial.replacement === null
          ? []
          : [['Redacted', escapeControls(JSON.stringify(trial.replacement))]] as const),
        ...(trial.failure ? [['Failure', `${trial.failure.reason}: ${trial.failure.message}`]] as const : []),
        ['Time', `${trial.milliseconds} ms`],
      ]),
      ...(trial.raw === null ? [] : ['', escapeControls(JSON.stringify(trial.raw, undefined, 2))]),
    ].join('\n'),
})

function triedGuardrail(
  { guardrail, provider, config }: { guardrail?: string; provider?: string; config?: string },
): { guardrail: string } | { provider: string; config: unknown } {
  if ((guardrail === undefined) === (provider === undefined)) {
    throw usageError('Give either --guardrail or --provider, not both.')
  }
  if (guardrail !== undefined && config !== undefined) {
    throw usageError('Use --config only with --provider. A guardrail has its own configuration.')
  }
  return guardrail === undefined ? { provider: provider!, config: readConfigOption(config) } : { guardrail }
}

/** A provider's configuration, from the option `--config`. Fails with `invalid_input` unless it is JSON. */
function readConfigOption(text = '{}'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new GridError('invalid_input', 'config: must be JSON', { field: 'config' })
  }
}
