import { enterAccount } from '../grid/accounts.ts'
import { createChannel } from '../grid/channels.ts'
import { storeCommand } from './command.ts'
import { table } from './table.ts'

export const createChannelCommand = storeCommand({
  name: 'create-channel',
  summary: 'Make a channel of an account, with members.',
  options: {
    account: { takes: 'ID', doc: 'the account', required: true },
    name: { takes: 'NAME', doc: 'name of the channel, written like an alias', required: true },
    members: { takes: 'ALIASES', doc: 'comma-separated aliases of the account' },
    description: { takes: 'TEXT', doc: 'what the channel is for' },
  },
  async run(store, args) {
    const account = await enterAccount(store, args.account, { type: 'system', job: 'create-channel' })
    const members = (args.members ?? '').split(',').filter((alias) => alias.trim() !== '')
    const channel = await createChannel(account, { name: args.name, description: args.description, members })
    return { channel_id: channel.id, name: channel.name, members: channel.members }
  },
  print: (channel) =>
    table([
      ['Channel', channel.name],
      ['Id', channel.channel_id],
      ['Members', channel.members.join(' ') || 'none yet'],
    ]),
})
