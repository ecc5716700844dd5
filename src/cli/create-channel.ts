import { createChannel } from '../grid/channels/channels.ts'
import { changeAccount } from './change-account.ts'
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
    const members = (args.members ?? '').split(',').filter((alias) => alias.trim() !== '')
    const input = { name: args.name, description: args.description, members }
    const { channel, members: aliases } = await changeAccount(
      store,
      'create-channel',
      { account: args.account, ...input },
      (account) => createChannel(account, input),
    )
    return { channel_id: channel.id, name: `#${channel.name}`, members: aliases }
  },
  print: (channel) =>
    table([
      ['Channel', channel.name],
      ['Id', channel.channel_id],
      ['Members', channel.members.join(' ') || 'none yet'],
    ]),
})
