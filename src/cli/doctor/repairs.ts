/** The repairs of `agent-grid doctor --repair NAME`, run in this process or in the server that holds the local file. */
import { replaceSigningKeys } from '../../grid/cards.ts'
import { isoTime } from '../../lib/time.ts'
import { rebuiltFollowers } from '../../store/global/pulse.ts'
import { followLog } from '../../worker/followers.ts'
import { type StoreCommand, storeCommand } from '../command.ts'
import { table } from '../tables.ts'

/** While the clock is far ahead, nothing is removed until this command confirms it. See docs/delivery.md, "Clocks". */
export const confirmClock = storeCommand({
  name: 'confirm-clock',
  summary: 'Confirm that the clock is right although it is far ahead of the last stored time.',
  options: {},
  async run(store) {
    const { clock } = store.global
    const before = await clock.storedAt()
    const at = store.deps.now()
    await store.write([clock.advance(at)])
    return { clock: isoTime(at), stored_before: before === undefined ? null : isoTime(before) }
  },
  print: ({ clock, stored_before }) =>
    table([['Clock', clock], ['Stored before', stored_before ?? 'nothing']]) +
    '\nData past its retention is removed within the hour.',
})

/** See docs/architecture.md, "Conversations". */
export const rebuildConversations = storeCommand({
  name: 'rebuild-conversations',
  summary: 'Rebuild the conversations that people see and the search index, from the stored messages.',
  options: {},
  async run(store) {
    const { conversations, pulses, searchIndex, traffic } = store.global
    await store.write([
      conversations.startAgain(),
      traffic.startAgain(),
      ...searchIndex.startAgain(),
      pulses.forgetSkipped(rebuiltFollowers),
    ])
    await followLog(store)
    return { rebuilt: true, messages: await conversations.placed() }
  },
  print: ({ messages }) => `The conversations are rebuilt from ${messages.toLocaleString('en')} messages.`,
})

/** Replaces a key that may have leaked. The worker replaces old keys. See docs/security.md, "What is encrypted". */
export const rotateSigningKey = storeCommand({
  name: 'rotate-signing-key',
  summary:
    'Replace the key that signs agent cards, because it may have leaked. Cards that the old key signed no longer verify.',
  options: {},
  async run(store) {
    return { key: await replaceSigningKeys(store) }
  },
  print: ({ key }) =>
    `Key ${key} signs agent cards now. All older keys were removed, so cards that they signed no longer verify.`,
})

export const repairs: readonly StoreCommand[] = [confirmClock, rebuildConversations, rotateSigningKey]
