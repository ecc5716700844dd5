/** Where a message can go. Each kind of recipient brings its own conditions and statements to the commit. */
import { GridError } from '../../errors.ts'
import { aliasPattern, normaliseAlias, normaliseChannelName } from '../../lib/alias.ts'
import { minute } from '../../lib/time.ts'
import type { AccountStore, UnitRows } from '../../store/account.ts'
import type { InboxAddress, ReviewedMessage } from '../../store/account/new-message.ts'
import type { Quotas } from '../../store/account/usage.ts'
import type { Statement } from '../../store/sql.ts'
import type { Sender } from './outgoing-message.ts'
import type { SendPart } from './send-part.ts'

/** Members of a channel that were seen within this time count as active. */
const activeMs = 10 * minute

/** A place that a message can go to, as it was found by reading the store. */
export interface Recipient {
  /** As addressed: `@alias` or `#name`. */
  readonly label: string
  /** The inbox of a direct message; undefined for a channel. */
  readonly inbox?: InboxAddress
  /** The id of the agent or channel. */
  readonly id: string
  /** Whether guardrails check the message: the sum of `senderIsGuarded` and `recipientIsGuarded`, or 0. */
  readonly guards: number
  /** The newest task that the recipient waits for the sender with; undefined without one. */
  readonly openTask?: string
  /** Whether its plain reply over A2A is a message, and not a task. */
  readonly messageReplies?: boolean
  /** Stores a message, if every condition that was read still holds at the commit. */
  store(message: ReviewedMessage, quotas: Quotas): Statement
  /** Puts the stored message into the inboxes. */
  deliver(message: ReviewedMessage): Statement
  /** Returns the column `receipt`, the JSON of a `SendReceipt`; no row if the message is not stored. */
  receipt(message: ReviewedMessage): Statement
  /** About how many inboxes a message to it reaches. */
  readonly inboxes: number
  /** The ids of the agents that have the committed message in their inbox, by the rows of `deliver`. */
  reached(delivered: UnitRows[number]): string[]
}

/** Delivers the message, and wakes who waits for it. What is in a task alone waits in no inbox. */
export function recipientPart(
  { waiting: { notifier } }: AccountStore,
  recipient: Recipient,
  message: ReviewedMessage,
): SendPart {
  return {
    statements: [recipient.deliver(message)],
    stored([delivered]: UnitRows) {
      if (!message.isInTaskAlone) notifier.notify(recipient.reached(delivered))
    },
  }
}

/**
 * The recipient of an address: `@alias` with or without `@`, or `#channel`. An agent may be its own recipient;
 * callers that do not want that check `isSelf`.
 *
 * Fails with `recipient_not_found`, `channel_not_found` or `not_channel_member`.
 */
export async function resolve(account: AccountStore, sender: Sender, to: string): Promise<Recipient> {
  return to.trim().startsWith('#')
    ? await channel(account, sender, normaliseChannelName(to))
    : await agent(account, sender, normaliseAlias(to))
}

/** Whether an address names the sender. */
export function isSelf(sender: Sender, to: string): boolean {
  return !to.trim().startsWith('#') && normaliseAlias(to) === sender.alias
}

async function agent(account: AccountStore, sender: Sender, alias: string): Promise<Recipient> {
  const label = `@${alias}`
  if (!aliasPattern.test(alias)) throw new GridError('recipient_not_found', `Agent '${label}' not found`)
  const found = await account.read.agents.recipient(alias, sender.agentId)
  if (found) return inboxOfAccount(account, label, found)

  const other = await account.read.directory.recipient(alias, sender)
  // Agents of other accounts that do not accept the caller and those that do not exist look alike.
  if (!other) throw new GridError('recipient_not_found', `Agent '${label}' not found`)
  return inboxOfOtherAccount(account, label, other)
}

function inboxOfAccount(
  { change: { messages, receipts } }: AccountStore,
  label: string,
  { id: agentId, guards, openTask, messageReplies }: {
    id: string
    guards: number
    openTask: string | null
    messageReplies: boolean
  },
): Recipient {
  return {
    label,
    inbox: { agentId },
    inboxes: 1,
    id: agentId,
    guards,
    openTask: openTask ?? undefined,
    messageReplies,
    store: (message, quotas) => messages.addDirect(message, { agentId }, quotas),
    deliver: (message) => messages.deliver(message, { agentId }),
    receipt: (message) => receipts.toAgent(message, agentId),
    reached: () => [agentId],
  }
}

function inboxOfOtherAccount(
  { change: { messages, receipts } }: AccountStore,
  label: string,
  { id: agentId, home, guards, openTask, messageReplies }: {
    id: string
    home: string
    guards: number
    openTask: string | null
    messageReplies: boolean
  },
): Recipient {
  return {
    label,
    inbox: { agentId, home },
    inboxes: 1,
    id: agentId,
    guards,
    openTask: openTask ?? undefined,
    messageReplies,
    store: (message, quotas) => messages.addDirect(message, { agentId, home }, quotas),
    deliver: (message) => messages.deliver(message, { agentId, home }),
    receipt: (message) => receipts.toOtherAccount(message),
    reached: () => [agentId],
  }
}

async function channel(account: AccountStore, sender: Sender, name: string): Promise<Recipient> {
  const { fanOut, messages, receipts } = account.change
  const found = await account.read.channels.byName(name, sender.agentId)
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
    deliver: (message) => fanOut.toMembers(message, found.id, found.memberCount),
    receipt: (message) => receipts.toChannel(message, message.at - activeMs),
    reached: (delivered) => delivered.map((row) => String(row.agent_id)),
  }
}
