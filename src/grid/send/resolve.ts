/** Resolves a message's recipient. Each kind of recipient adds its own conditions and statements to the commit. */
import { GridError, invalidInput } from '../../errors.ts'
import { didYouMean } from '../../lib/did-you-mean.ts'
import { aliasPattern, namedAliases, normaliseAlias, normaliseChannelName } from '../../aliases.ts'
import { minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Recipient, Sender } from '../message/outgoing-message.ts'

/** Channel members seen within this time count as active. */
const activeMs = 10 * minute
/** Maximum number of aliases compared with an unknown one for suggestions. */
const maxCompared = 1_000

export async function resolve(account: AccountStore, sender: Sender, to: string): Promise<Recipient> {
  const label = labelOf(to)
  return label.startsWith('#')
    ? await channel(account, sender, label.slice(1))
    : await agent(account, sender, label.slice(1))
}

/** Returns the recipient as named in the receipt: `@alias` or `#channel`. */
export function labelOf(to: string): string {
  return to.trim().startsWith('#') ? `#${normaliseChannelName(to)}` : `@${normaliseAlias(to)}`
}

export function isSelf(sender: Sender, to: string): boolean {
  return !to.trim().startsWith('#') && normaliseAlias(to) === sender.alias
}

async function agent(account: AccountStore, sender: Sender, alias: string): Promise<Recipient> {
  const label = `@${alias}`
  if (!aliasPattern.test(alias)) throw await notFound(account, label)
  const found = await account.read.agents.recipient(alias, sender.agentId)
  if (found?.isHook) {
    throw invalidInput(`${label} is an incoming hook. It only sends, and nobody reads what is sent to it.`, 'to')
  }
  if (found) return inboxOf(account, label, found)

  const other = await account.read.directory.recipient(alias, sender)
  // Agents of other accounts that refuse the caller are indistinguishable from missing ones.
  if (!other) throw await notFound(account, label)
  return inboxOf(account, label, other)
}

/** Suggests only agents of the same account, because the caller can list all of them. */
async function notFound({ read }: AccountStore, label: string): Promise<GridError> {
  const hint = didYouMean(label, (await read.agents.aliases(maxCompared)).map((alias) => `@${alias}`))
  return new GridError('recipient_not_found', `Agent '${label}' not found${hint && `.${hint}`}`)
}

function inboxOf(
  { change: { messages, receipts } }: AccountStore,
  label: string,
  { id: agentId, home, guards, messageReplies, isRemote, isPerson, isWaiting, spendsToken }: {
    id: string
    home?: string
    guards: number
    messageReplies: boolean
    isRemote: boolean
    isWaiting: boolean
    isPerson?: boolean
    spendsToken?: boolean
  },
): Recipient {
  const inbox = { agentId, isRemote, ...(home !== undefined && { home }) }
  return {
    label,
    inbox,
    inboxes: 1,
    id: agentId,
    guards,
    messageReplies,
    spendsToken,
    isPerson,
    isWaiting,
    store: (message, quotas) => messages.addDirect(message, inbox, quotas),
    deliver: (message) => messages.deliver(message, inbox),
    requireOpen: (message, quotas) => messages.requireRecipient(message, inbox, quotas),
    receipt: (message, quotas) =>
      home !== undefined
        ? receipts.toOtherAccount(message, agentId, home)
        : isRemote
        ? receipts.toRemoteAgent(message, agentId, quotas)
        : receipts.toAgent(message, agentId, quotas),
  }
}

async function channel(account: AccountStore, sender: Sender, name: string): Promise<Recipient> {
  const { fanOut, messages, receipts } = account.change
  const found = await account.read.channels.byName(name, sender.program ?? sender.agentId)
  if (!found) throw new GridError('channel_not_found', `Channel '#${name}' not found`)
  if (!found.isMember) {
    throw new GridError('not_channel_member', `You are not a member of #${name}. An admin of the account can add you.`)
  }
  return {
    label: `#${name}`,
    id: found.id,
    guards: found.guards,
    inboxes: found.memberCount - 1,
    store: (message, quotas) => messages.addPost(message, found.id, quotas),
    deliver: (message) => fanOut.toMembers(message, found.id, found.memberCount, namedAliases(message.body)),
    requireOpen: (message) => messages.requireMember(message, found.id),
    receipt: (message) => receipts.toChannel(message, message.at - activeMs),
  }
}
