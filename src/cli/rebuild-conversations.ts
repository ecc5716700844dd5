import { followLog } from '../worker/threads.ts'
import { storeCommand } from './command.ts'

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
