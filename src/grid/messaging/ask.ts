/** Sending a message and waiting for its answer, in one call. See docs/conversations.md, "Asking". */
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { asGridMessage, budgetOf, type GridMessage, rendered } from './inbox-message.ts'
import { messageStatus } from './message-status.ts'
import type { Sender, SendInput, SentMessage } from '../message/outgoing-message.ts'
import { labelOf } from '../send/resolve.ts'
import { claimMessages, type Lease, leaseOf, release } from './read-messages.ts'
import { sendMessage } from './send-message.ts'
import { type WaitOptions, waitUntil } from './wait-for-messages.ts'

export interface Answer {
  /** Only the answer; empty without an answer. */
  messages: GridMessage[]
  /** The number of other unread messages; 100 means 100 or more. */
  unread: number
  /** Without an answer: the state of the message, and how to continue. */
  note?: string
  lease?: Lease
}

export interface Asked {
  sent: SentMessage
  /** Absent if the caller does not wait. */
  answer?: Answer
}

/**
 * Sends a message and waits for its answer: the first reply, or the recipient's next message that replies to nothing.
 * The oldest matching wait gets the answer, which then does not appear in the inbox. The caller acks the answer's
 * lease, like the lease of a read. Fails like `sendMessage`. Errors after the message was stored are in the note.
 */
export async function ask(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  options: WaitOptions,
): Promise<Asked> {
  if (options.seconds <= 0) return { sent: await sendMessage(account, sender, input) }
  const { actor, instanceId, change: { leases } } = account
  const { agentId } = callingAgent(actor)
  let isNew = false
  const sent = await sendMessage(account, sender, {
    ...input,
    concern: {
      plan: ({ message: { id, at } }) => ({
        statements: [leases.awaitAnswer(agentId, id, instanceId, at)],
        stored: () => void (isNew = true),
      }),
    },
  })
  return { sent, answer: await answerTo(account, sent, isNew, options) }
}

async function answerTo(
  account: AccountStore,
  sent: SentMessage,
  isNew: boolean,
  options: WaitOptions,
): Promise<Answer> {
  const { agentId } = callingAgent(account.actor)
  const { inbox } = account.read
  const before = isNew ? undefined : await inbox.answerTo(agentId, sent.id)
  const [repeated] = before ? shown(before) : []
  if (repeated) return { messages: [{ ...repeated, replayed: true }], unread: await inbox.unread(agentId) }

  let note: string | undefined
  try {
    note = isNew ? await whyInVain(account, sent) : undefined
    const answer = note === undefined ? await waitForAnswer(account, sent.id, isNew, options) : undefined
    if (answer) account.trace.spans?.follow(answer)
    const messages = answer ? shown(answer) : []
    if (messages.length > 0) {
      return { messages, unread: await inbox.unread(agentId), lease: leaseOf(account, sent.id) }
    }
  } catch (error) {
    if (!(error instanceof GridError)) account.deps.log.warn('A wait for an answer failed', { error })
    note = `The wait for an answer ended: ${
      error instanceof GridError ? error.message : 'an internal error.'
    } ${howToGoOn}`
  }
  // An answer that has just arrived becomes unread, like later answers.
  await release(account, agentId, sent.id)
  if (options.caller?.signal.aborted) return { messages: [], unread: 0 }
  return { messages: [], unread: await inbox.unread(agentId), note: note ?? await becameOf(account, sent) }
}

/** Maximum number of answers from channel members. */
const maxAnswers = 200

/**
 * Posts to a channel and waits until this many members have answered, with a reply or a post that replies to nothing.
 * The note names the other members. The caller acks the lease on the answers. Fails as `ask` does, and with
 * `invalid_input` for a message to an agent.
 */
export async function askChannel(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  { answers, ...options }: WaitOptions & { answers: number },
): Promise<Asked> {
  if (!labelOf(input.to).startsWith('#')) {
    throw invalidInput('answers is only for a channel.', 'answers')
  }
  if (options.seconds <= 0) throw invalidInput('answers needs wait_seconds.', 'answers')
  const { agentId } = sender
  const { instanceId, read, waiting: { notifier } } = account
  const sent = await sendMessage(account, sender, input)
  if (sent.held) {
    return {
      sent,
      answer: { messages: [], unread: await read.inbox.unread(agentId), note: await becameOf(account, sent) },
    }
  }
  const channel = (await read.channels.byName(sent.recipient.slice(1), agentId))!
  const members = (await read.channels.members(channel.id, maxAnswers)).filter(({ id }) => id !== agentId)
  const found = await waitUntil(account, options, {
    follow: (signal) => notifier.watch(agentId, signal),
    look: () => read.messageStatus.answers(sent.id, agentId, maxAnswers),
    isEnough: (found) => new Set(found.map(({ alias }) => alias)).size >= Math.min(answers, members.length),
  })
  const unread = found.filter(({ isUnread }) => isUnread === 1).map(({ id }) => id)
  const claim = unread.length === 0 ? undefined : await claimMessages(account, budgetOf({}), {
    holder: instanceId,
    expiresAt: null,
    selection: { messages: unread },
  })
  const silent = members.filter(({ alias }) => !found.some((answer) => answer.alias === alias))
  return {
    sent,
    answer: {
      messages: claim?.messages ?? [],
      unread: await read.inbox.unread(agentId),
      ...(silent.length > 0 && {
        note: `Not answered: ${silent.slice(0, maxNamed).map(({ alias }) => `@${alias}`).join(', ')}${
          silent.length > maxNamed ? ` and ${silent.length - maxNamed} more` : ''
        }.`,
      }),
      ...(claim?.leaseId !== undefined && { lease: leaseOf(account, claim.leaseId) }),
    },
  }
}

const maxNamed = 20

const howToGoOn = 'The answer will come to your inbox: a read with wait_seconds waits for it.'

function shown(answer: InboxMessage): GridMessage[] {
  const { maxChars } = budgetOf({})
  // A damaged message becomes unread again, and the next read parks it.
  return rendered([answer], (message) => asGridMessage(message, { maxChars, introducesSender: true })).messages
}

/** Resolves to the answer; undefined after the timeout, or when no recipient can read the message any more. */
async function waitForAnswer(
  account: AccountStore,
  message: string,
  isNew: boolean,
  options: WaitOptions,
): Promise<InboxMessage | undefined> {
  const { agentId } = callingAgent(account.actor)
  const { change: { leases }, deps: { now }, instanceId, read, waiting: { notifier }, write } = account
  const { answer } = await waitUntil(account, options, {
    follow: (signal) => notifier.watch(agentId, signal),
    async look() {
      // Waits again, because an earlier call for this message may end only now and release its answer.
      if (!isNew) await write(leases.awaitAgain(agentId, message, instanceId, now()))
      const [answer] = await read.inbox.ofLease(agentId, message)
      return { answer, isLost: !answer && isLost(await read.messages.states(message)) }
    },
    isEnough: ({ answer, isLost }) => answer !== undefined || isLost,
  })
  return answer
}

/** Whether no recipient can read the message any more. A post may have no recipient yet. */
function isLost(states: readonly InboxMessage['state'][]): boolean {
  return states.length > 0 && !states.some((state) => state === 'unread' || state === 'read' || state === 'task')
}

/** Returns a sentence that says why no answer is expected soon. */
async function whyInVain(account: AccountStore, sent: SentMessage): Promise<string | undefined> {
  const { agentId } = callingAgent(account.actor)
  const { read: { agents, leases }, waiting: { presence } } = account
  // The state of another account's agent is private.
  if (sent.recipientUnread === undefined) return undefined
  const recipient = await agents.byAlias(sent.recipient.slice(1))
  if (!recipient) return undefined
  const isProgram = recipient.type !== 'human' && recipient.remoteUrl === null
  if (isProgram && sent.recipientSeenAt == null && !presence.at(recipient.id)) {
    return `${sent.recipient} has never connected, so this call did not wait. ${howToGoOn}`
  }
  if (sent.recipientPresence === 'remote, paused') {
    return `${sent.recipient} is paused, so this call did not wait. ${howToGoOn}`
  }
  if (await leases.waitsFor(recipient.id, agentId)) {
    return `${sent.recipient} is waiting for your answer, so this call did not wait. Answer first.`
  }
}

/** Returns sentences about the message's current state and how to continue. */
async function becameOf(account: AccountStore, { id, recipient, createdAt }: SentMessage): Promise<string> {
  const { delivery, readBy, timeline } = await messageStatus(account, id)
  if (delivery === 'failed') return `${recipient} cannot read it any more.`
  if (delivery === 'held') {
    const until = timeline.find(({ event }) => event === 'held')?.reason ?? ''
    return `It is waiting for the approval of a person. ${until}. ${howToGoOn}`
  }
  if (delivery === 'refused') return `A person refused it. The reason is in your inbox.`
  if (delivery === 'expired' || delivery === 'retracted') {
    return `${delivery === 'expired' ? 'It expired' : 'It was retracted'} before ${recipient} read it.`
  }
  if (recipient.startsWith('#')) return `No member has answered yet; ${readBy.length} have read it. ${howToGoOn}`
  const readAt = timeline.find(({ event }) => event === 'leased' || event === 'accepted')?.at
  if (readAt === undefined) return `${recipient} has not read it yet. ${howToGoOn}`
  const after = `${Math.round(Math.max(0, readAt - createdAt) / second)} s after it was sent`
  return delivery === 'leased'
    ? `${recipient} took it ${after} and works on it. ${howToGoOn}`
    : `${recipient} read it ${after} and has not answered yet. ${howToGoOn}`
}
