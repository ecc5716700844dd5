import { rotateSigningKey } from '../grid/cards.ts'
import { storeCommand } from './command.ts'

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
