/** Posts messages from the inbox of the integration's agent to Slack. See docs/slack.md, "Slack". */
import { isShortened } from '../../grid/message/long-text.ts'
import { notifyOfFailure } from '../../grid/remote-agents/answers.ts'
import type { Attempt } from '../../grid/outboxes/attempt.ts'
import { addressOf } from '../../grid/remote-agents/find-remote.ts'
import { withRetries } from '../../grid/outboxes/retry.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { callSlack, toSlackPost } from './api.ts'
import { type SlackChannel, type SlackMessage, slackTables } from './store.ts'

/** Names of Slack emoji that replace agents' icons, because Slack cannot display SVG. */
const pictures = ['owl', 'fox_face', 'whale', 'bee', 'octopus', 'turtle', 'penguin', 'koala', 'tiger', 'unicorn_face']

/** Posts a message to Slack. Resolves like `deliverNext`. Messages that were written in Slack are not posted again. */
export async function mirrorToSlack(attempt: Attempt, message: InboxMessage): Promise<boolean> {
  const { account, outbox, signal } = attempt
  const mirror = account.feature(slackTables)
  const slack = await mirror.read.ofAgent(account.actor.agentId)
  const { actor: { agentId }, read, write, change, deps } = account
  const done = () => [
    ...change.inbox.markRead(agentId, [message.id], deps.now()),
    ...change.remoteAgents.accepted(outbox, deps.now()),
  ]
  // The channel is no longer mirrored.
  if (!slack) {
    await write(done())
    return true
  }
  if (message.recipient !== `#${slack.name}`) {
    await notifyOfFailure(attempt, message, `It mirrors #${slack.name} with Slack, and reads nothing else.`)
    await write(done())
    return true
  }
  if (await mirror.read.byMessage(slack.id, message.id)) {
    await write(done())
    return true
  }
  const giveUp = async () => {
    const { park, accepted } = change.remoteAgents
    await write([park(agentId, message.id, deps.now()), ...accepted(outbox, deps.now())])
  }
  return await withRetries(attempt, giveUp, async () => {
    const row = await read.remoteAgents.byId(agentId)
    if (!row) throw new RemoteRefusal('It no longer has an address.')
    const first = await firstOfThread(account, slack, message)
    const body = JSON.stringify({
      channel: slack.slackChannel,
      text: toSlackPost(withoutInvisible(message.body), {
        link: `${deps.config.appUrl}/accounts/${account.owner}/messages/${message.id}`,
        isWhole: !isShortened(message.body),
      }),
      username: `@${message.fromAlias}`,
      icon_emoji: `:${pictureOf(message.fromAlias)}:`,
      ...(first && { thread_ts: first.threadTs }),
      // Slack must not resolve names in the text.
      parse: 'none',
      link_names: false,
    })
    const { ts } = await callSlack(
      deps.safeFetch,
      await addressOf(account, agentId, row),
      'chat.postMessage',
      { body },
      { signal, spans: account.trace.spans },
    )
    const place = { ts: String(ts), threadTs: first?.threadTs ?? String(ts), messageId: message.id }
    await write([mirror.change.addMessage(slack.id, place), ...done()])
  })
}

async function firstOfThread(
  account: AccountStore,
  { id }: SlackChannel,
  { replyToMessageId, conversationId }: InboxMessage,
): Promise<SlackMessage | undefined> {
  const { read } = account.feature(slackTables)
  const repliedTo = replyToMessageId === null ? undefined : await read.byMessage(id, replyToMessageId)
  return repliedTo ?? (conversationId === null ? undefined : await read.ofConversation(id, conversationId))
}

function pictureOf(alias: string): string {
  const sum = Array.from(alias).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7)
  return pictures[sum % pictures.length]
}
