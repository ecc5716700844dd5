import process from 'node:process'
import { keyIdsOf } from '../lib/key-ring.ts'
import { localPath, readStoredKeyRing } from '../store/driver/local-file.ts'
import { rotateKeys } from '../store/rotate-keys.ts'
import { CommandError, type ProcessCommand, storeCommand } from './command.ts'
import { runStoreCommand } from './store-command.ts'
import { table } from './tables.ts'
import { print } from './output.ts'
import { readConfig } from './settings.ts'

/** Rotates stored tokens. A server that holds the local file uses the key ring that it read at its start. */
export const rotateStoredTokens = storeCommand({
  name: 'rotate-keys',
  summary: 'Encrypt all stored tokens again.',
  options: { newest: { placeholder: 'ID', description: 'the newest key of the settings' } },
  async run(store, { newest }) {
    const [inUse = 'none'] = store.keyRing.ids
    if (newest !== undefined && newest !== inUse) {
      throw new CommandError(
        'key_not_in_use',
        `The newest key of the key ring is ${newest}, and the running server encrypts with ${inUse}. Restart it first.`,
      )
    }
    const { key, rotated, isFinished, unreadable, keys } = await rotateKeys(store)
    return {
      key,
      rotated,
      finished: isFinished,
      unreadable,
      keys: keys.map(({ key, tokens, isInRing }) => ({ key_id: key, tokens, in_ring: isInRing })),
    }
  },
  print: ({ key, rotated, finished, unreadable, keys }) =>
    [
      table([
        ['Newest key', key],
        ...Object.entries(rotated).map(([name, tokens]) => [titles[name] ?? name, `${tokens} re-encrypted`] as const),
      ]),
      '',
      ...keys.map((used) => sentenceOf(used, key)),
      ...(unreadable > 0
        ? [`${unreadable} tokens cannot be decrypted and were left as they are. The log lists them. Enter them again.`]
        : []),
      ...(finished ? [] : ['This run has reached its time limit. Run the command again to continue.']),
    ].join('\n'),
})

export const rotateKeysCommand: ProcessCommand = {
  name: 'rotate-keys',
  summary: 'Re-encrypt all stored tokens with the newest key, and list the keys that are no longer needed.',
  options: {},
  async start(json) {
    const { gridKeys, databaseUrl } = readConfig(process.env)
    const path = localPath(databaseUrl)
    const [newest] = keyIdsOf(gridKeys ?? (path && readStoredKeyRing(path)))
    const result = await runStoreCommand(rotateStoredTokens, newest === undefined ? {} : { newest })
    print(json ? JSON.stringify(result) : rotateStoredTokens.print(result))
    return 0
  },
}

/** The names that operators see for tables with sealed tokens. */
export const titles: Record<string, string> = {
  guardrails: 'Guardrails',
  agents: 'Remote agents',
  totps: 'Authenticator apps',
  push_keys: 'Key for push services',
  signing_keys: 'Keys for signatures',
  slack_channels: 'Bots of Slack channels',
  sso_providers: 'Single sign-on',
  task_push_configs: 'Push notifications of tasks',
  webhooks: 'Webhooks',
  incoming_hooks: 'Incoming hooks',
}

function sentenceOf({ key_id, tokens, in_ring }: { key_id: string; tokens: number; in_ring: boolean }, newest: string) {
  const uses = `Key ${key_id}: ${tokens} ${tokens === 1 ? 'token' : 'tokens'}.`
  if (!in_ring) return `${uses} It is not in the key ring, so they cannot be decrypted.`
  if (key_id === newest) return `${uses} New tokens get it.`
  return tokens === 0
    ? `${uses} It can be removed from the ring, unless a process still starts its ring with it or a backup needs it.`
    : `${uses} It is still in use.`
}
