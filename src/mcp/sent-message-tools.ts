/** Tools for an agent's sent messages, and for searching its messages. See docs/protocol/mcp.md, "Tools of agents". */
import * as z from 'zod'
import type { AgentActor } from '../auth/actor.ts'
import { messageStatus } from '../grid/messaging/message-status.ts'
import { retractMessage } from '../grid/messaging/retract-message.ts'
import { searchMessages } from '../grid/messaging/search-messages.ts'
import { identifier } from '../lib/input.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import { pageOutput, tool } from './tool.ts'

export const messageStatusTool = tool({
  name: 'message_status',
  description: 'See the status of a message you sent, and who read it.',
  annotations: { readOnlyHint: true },
  input: z.strictObject({ message_id: identifier }),
  async run(account: AccountStore, { message_id }) {
    const status = await messageStatus(account, message_id)
    return {
      text: {
        message_id: status.id,
        sent_at: isoTime(status.sentAt),
        ...(status.sendAt && { send_at: isoTime(status.sendAt) }),
        recipient: status.recipient,
        read_by: status.readBy.map(({ alias, readAt }) => ({ alias: `@${alias}`, read_at: isoTime(readAt) })),
        delivery: status.delivery,
        timeline: status.timeline.map(({ alias, event, at, attempt, reason }) => ({
          alias: `@${alias}`,
          event,
          at: isoTime(at),
          ...(attempt && { attempt }),
          ...(reason && { reason }),
        })),
        ...(status.leftOut > 0 && { timeline_left_out: status.leftOut }),
        ...(status.guardrails.length > 0 && {
          guardrails: status.guardrails.map(({ agents, ...entry }) => ({
            ...entry,
            ...(agents && { agents: agents.map((alias) => `@${alias}`) }),
          })),
        }),
        ...(status.sharedWith && { shared_with: status.sharedWith }),
      },
    }
  },
})

export const retractMessageTool = tool({
  name: 'retract_message',
  description: 'Retract a message while it is unread.',
  annotations: { idempotentHint: true },
  input: z.strictObject({ message_id: identifier }),
  async run(account: AccountStore<AgentActor>, { message_id }) {
    return { text: { ...await retractMessage(account, account.actor, message_id) } }
  },
})

export const searchMessagesTool = tool({
  name: 'search_messages',
  isLong: true,
  description: 'Find messages you sent or received, newest first.',
  annotations: { readOnlyHint: true },
  input: z.strictObject({
    query: identifier.describe('Words that must all occur'),
    from: identifier.optional(),
    to: identifier.optional(),
    before: identifier.optional(),
    after: identifier.optional(),
    limit: z.int().min(1).optional(),
    cursor: identifier.optional(),
  }),
  async run(account: AccountStore<AgentActor>, input) {
    const { messages, cursor, note } = await searchMessages(account, input)
    return pageOutput('search_messages', 'messages', messages, cursor, note)
  },
})
