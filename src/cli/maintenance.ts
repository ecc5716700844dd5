import { followLog } from '../worker/threads.ts'
import { storeCommand } from './command.ts'
import { table } from './tables.ts'

/** See docs/architecture.md, "Projections". */
export const rebuildConversationsCommand = storeCommand({
  name: 'rebuild-conversations',
  summary: 'Make the conversations that people see again, from the stored messages.',
  options: {},
  async run(store) {
    await store.write([store.global.threadProjection.startAgain()])
    await followLog(store)
    return { rebuilt: true, messages: await store.global.threadProjection.placed() }
  },
  print: ({ messages }) => `The conversations are made again, from ${messages.toLocaleString('en')} messages.`,
})

/** Until then a clock that is far ahead of the stored time removes nothing. See docs/delivery.md, "Clocks". */
export const confirmClockCommand = storeCommand({
  name: 'confirm-clock',
  summary: 'Confirm that the clock is right, though it is far ahead of the time that was stored last.',
  options: {},
  async run(store) {
    const { clock } = store.global
    const before = await clock.storedAt()
    const at = store.deps.now()
    await store.write([clock.advance(at)])
    return { clock: iso(at), stored_before: before === undefined ? null : iso(before) }
  },
  print: ({ clock, stored_before }) =>
    table([['Clock', clock], ['Stored before', stored_before ?? 'nothing']]) +
    '\nWhat is older than its retention is removed within the hour.',
})

function iso(at: number): string {
  return new Date(at).toISOString()
}
