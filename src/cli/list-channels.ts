import { openAccount } from '../grid/accounts/accounts.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { cursorOption, listPage, printList } from './list-page.ts'
import { accountOption } from './options.ts'

interface Channel {
  id: string
  name: string
  description: string
  memberCount: number
  createdAt: number
}

/** Live channels by name. */
export const listChannelsCommand = storeCommand({
  name: 'list-channels',
  summary: 'List the channels of an account.',
  options: {
    account: accountOption,
    cursor: cursorOption,
  },
  async run(store, { account: id, cursor }) {
    const { read } = await openAccount(store, id, { type: 'system', job: 'list-channels' })
    const source = { read: read.channels.page, keyOf: ({ name }: Channel) => name, entryOf: asRow }
    const { entries, more } = await listPage(source, cursor)
    return { channels: entries, ...more }
  },
  print: ({ channels, next_cursor }) =>
    printList(
      ['Channel', 'ID', 'Members', 'Description'],
      channels.map((channel) => [channel.name, channel.channel_id, channel.members, channel.description]),
      { empty: 'The account has no channels.', next_cursor },
    ),
})

function asRow({ id, name, description, memberCount, createdAt }: Channel) {
  return { channel_id: id, name: `#${name}`, description, members: memberCount, created_at: isoTime(createdAt) }
}
