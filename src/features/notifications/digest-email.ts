/** Renders a digest email as text. It contains an unsubscribe link and a link to the grid. */
import {
  type AppUrl,
  type EmailContent,
  emailContent,
  hostOf,
  maxNamedAgents,
  named,
  plainName,
} from '../../grid/people/email-templates.ts'
import { isoTime } from '../../lib/time.ts'

export function digestEmail(
  config: AppUrl,
  link: string,
  digest: {
    accountName: string
    waiting?: string
    senders: string[]
    /** Messages that wait for the person's decision, sorted by expiry time. */
    held: { count: number; senders: string[]; firstEndsAt: number | undefined }
    news: string[]
    unsubscribe: string
  },
): EmailContent {
  const { accountName, waiting, senders, held, news, unsubscribe } = digest
  const decide = held.count === 1 ? '1 message waits' : `${held.count} messages wait`
  const end = held.firstEndsAt === undefined ? '' : isoTime(held.firstEndsAt).slice(0, 16).replace('T', ' ')
  const expires = held.count === 1 ? `It expires on ${end} UTC.` : `The first one expires on ${end} UTC.`
  const account = `the account "${plainName(accountName)}" on ${hostOf(config)}`
  const others = news.length > maxNamedAgents ? [`and ${news.length - maxNamedAgents} more`] : []
  const content = emailContent(config, 'digest', link, [
    ...(waiting === undefined ? [] : [`${waiting} for you in ${account}, from ${named(senders)}.`]),
    ...(held.count === 0 ? [] : [`${decide} for your decision in ${account}, from ${named(held.senders)}. ${expires}`]),
    ...(news.length === 0 ? [] : [`News in ${account}: ${[...news.slice(0, maxNamedAgents), ...others].join('; ')}.`]),
    'To read and answer, open this link and sign in:',
    link,
    'You asked for these emails under Settings, Notifications. To unsubscribe, open this link:',
    unsubscribe,
  ])
  return { ...content, ...(waiting === undefined && { subject: 'News for you' }), unsubscribe }
}
