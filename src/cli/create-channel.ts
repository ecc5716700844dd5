import { createChannel } from '../grid/channels/channels.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'
import { table } from './table.ts'

export const createChannelCommand = storeCommand({
  name: 'create-channel',
  summary: 'Create a channel with members.',
  options: {
    account: accountOption,
    name: { placeholder: 'NAME', description: 'name of the channel, in the form of an alias', required: true },
    members: { placeholder: 'ALIASES', description: 'aliases of agents of the account, comma-separated' },
    description: { placeholder: 'TEXT', description: 'what the channel is for' },
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
      ['ID', channel.channel_id],
      ['Members', channel.members.join(' ') || 'none yet'],
    ]),
})
