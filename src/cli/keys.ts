import { rotateSigningKey } from '../grid/cards.ts'
import { rotateKeys } from '../store/rotate-keys.ts'
import { storeCommand } from './command.ts'
import { table } from './tables.ts'

/** In the server that holds a local file it uses the key ring that the server read at its start. */
export const rotateKeysCommand = storeCommand({
  name: 'rotate-keys',
  summary: 'Encrypt all stored tokens anew with the newest key, and say which keys are no longer needed.',
  options: {},
  async run(store) {
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
        ...Object.entries(rotated).map(([name, tokens]) => [titles[name] ?? name, `${tokens} encrypted anew`] as const),
      ]),
      '',
      ...keys.map((used) => sentenceOf(used, key)),
      ...(unreadable > 0
        ? [`${unreadable} tokens do not open, and were left as they are. The log names them; enter them again.`]
        : []),
      ...(finished ? [] : ['The time of this run is over. Run the command again, and it goes on.']),
    ].join('\n'),
})

const titles: Record<string, string> = {
  guardrails: 'Guardrails',
  agents: 'Remote agents',
  totps: 'Authenticator apps',
  push_keys: 'Key for push services',
  signing_keys: 'Keys for signatures',
}

function sentenceOf({ key_id, tokens, in_ring }: { key_id: string; tokens: number; in_ring: boolean }, newest: string) {
  const uses = `Key ${key_id}: ${tokens} ${tokens === 1 ? 'token' : 'tokens'}.`
  if (!in_ring) return `${uses} It is not in the ring, so they do not open.`
  if (key_id === newest) return `${uses} New tokens get it.`
  return tokens === 0
    ? `${uses} It can be removed from the ring, unless a process still starts its ring with it or a backup needs it.`
    : `${uses} It is still needed.`
}

/** See docs/security.md, "Signing keys". */
export const rotateSigningKeyCommand = storeCommand({
  name: 'rotate-signing-key',
  summary: 'Replace the key that signs agent cards.',
  options: {
    'remove-old': {
      placeholder: 'YES',
      description: 'remove all older keys at once: somebody else may have one',
      flag: true,
    },
  },
  async run(store, args) {
    const { id, signsFrom } = await rotateSigningKey(store, { removeOthers: args['remove-old'] !== undefined })
    return { key: id, signs_from: new Date(signsFrom).toISOString(), removed_old: args['remove-old'] !== undefined }
  },
  print: ({ key, signs_from, removed_old }) =>
    `Key ${key} signs agent cards from ${signs_from} on.\n` +
    (removed_old
      ? 'All older keys were removed: what they signed no longer verifies.'
      : 'What older keys signed still verifies.'),
})
