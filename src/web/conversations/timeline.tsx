/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { type OpenConversation, type OpenMessage, whoMayRead } from '../../grid/conversations/open.ts'
import { Name } from '../../html/bidi.tsx'
import { dateInWords, EmptyState, Facts, LocalTime } from '../../html/components.tsx'
import { MessageList } from '../../html/conversation/message.tsx'
import { Icon } from '../../html/icons.tsx'
import { day, nextDayAt } from '../../lib/time.ts'
import type { RefusedSend } from '../../store/account/verdicts.ts'
import { pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { namesOf, shownMessages, titleOf } from './shown.ts'

export interface TimelineProps {
  visit: Visit
  open: OpenConversation
  /** Returns the page's path and query at another position, such as `{ before: 42 }`. */
  link: (position: Record<string, number>) => string
  /** Returns the address at which the reader answers a message. Undefined if they cannot. */
  replyHref?: (message: OpenMessage) => string | undefined
}

/** A conversation next to a list. `title` is a heading. `composer` is shown below the messages. */
export function TimelinePane(
  { title, back, isFromTop, paused, composer, ...props }: TimelineProps & {
    title: Child
    /** The list's path, for narrow windows. Undefined if there is no list. */
    back?: string
    /** Whether the page starts at the conversation's first message instead of its last. */
    isFromTop: boolean
    /** The notice that explains why the conversation is paused. */
    paused: Child
    composer?: Child
  },
) {
  const { open, link } = props
  return (
    <section aria-label='Conversation'>
      <div class='pane-head'>
        {back && (
          <a class='back' href={back}>
            <Icon name='back' size={14} />
            Conversations
          </a>
        )}
        {title}
        {open.messages.length > 0 && <Ways {...props} />}
        {paused}
      </div>
      <div class={isFromTop ? 'scrolls' : 'scrolls from-end'} tabindex={0}>
        <div>
          <Timeline {...props} />
        </div>
      </div>
      <div class='pane-foot'>
        {open.newer !== undefined && <a class='button to-now' href={link({})}>Newest messages</a>}
        {composer}
      </div>
    </section>
  )
}

/** The days offered in the menu, as a number of days before today. */
const nearDays: [days: number, title: string][] = [[0, 'Today'], [1, 'Yesterday'], [7, 'A week ago']]

const exports = [['md', 'Markdown'], ['json', 'JSON']]

/** Links to the first unread message, to a day or time, and to the exports of the complete conversation. */
function Ways({ visit, open: { firstNew, messages, thread }, link }: TimelineProps) {
  const now = visit.account.deps.now()
  const isElsewhere = firstNew !== null && messages.length > 0 && messages[0].seq > firstNew
  const [action, query] = link({}).split('?')
  return (
    <>
      {isElsewhere && <a class='button small' href={`${link({ m: firstNew })}#new`}>First unread</a>}
      <details class='menu end' data-menu>
        <summary>
          Go to
          <Icon name='chevron' size={14} />
        </summary>
        <div class='list'>
          {nearDays.map(([days, title]) => (
            <a
              class='item'
              href={link({ at: nextDayAt(visit.timeZone, now - (days + 1) * day, 0) })}
              data-days-ago={days}
            >
              {title}
            </a>
          ))}
          <hr />
          <form class='jump' method='get' action={action}>
            {[...new URLSearchParams(query)].map(([name, value]) => <input type='hidden' name={name} value={value} />)}
            <label for='at'>
              A time <span class='soft' data-zone>in {visit.timeZone}</span>
            </label>
            <input class='input' id='at' type='datetime-local' name='at' required data-to-utc />
            <button class='button' type='submit'>Go</button>
          </form>
        </div>
      </details>
      <details class='menu end' data-menu>
        <summary>
          Export
          <Icon name='chevron' size={14} />
        </summary>
        <div class='list'>
          {exports.map(([extension, title]) => (
            <a
              class='item'
              href={`${visit.path('conversations', String(thread.id), 'export')}?as=${extension}`}
              download
            >
              {title}
            </a>
          ))}
        </div>
      </details>
    </>
  )
}

/** A page of messages with links to the previous and next pages, or the reason why there are none. */
function Timeline({ visit, open, link, replyHref }: TimelineProps) {
  const { reader, thread, since, messages, older, newer, hidden, firstNew } = open
  if (since === undefined || (messages.length === 0 && hidden === 0 && open.refused.length === 0)) {
    return <Unreadable {...open} />
  }
  const now = visit.account.deps.now()
  const isCut = newer !== undefined || messages.length + hidden < thread.messages
  const foreign = thread.agents.filter(({ isForeign }) => isForeign)
  return (
    <>
      {older !== undefined && <PageLink href={link({ before: older })} title='Older messages' />}
      {older === undefined && since > 0 && isCut && (
        <p class='pane-note'>
          Messages from before {dateInWords(since, visit.timeZone)} are not shown:{' '}
          {reader.role === 'member' ? 'you joined then' : 'reading was turned on then'}.
        </p>
      )}
      {foreign.map(({ alias }) => (
        <p class='pane-note'>
          <Name text={`@${alias}`} /> belongs to another account, whose people may read this.
        </p>
      ))}
      {hidden > 0 && (
        <p class='pane-note'>{pluralize(hidden, 'message')} of this page between others cannot be shown to you.</p>
      )}
      <MessageList
        thread={thread.id}
        messages={shownMessages(open, visit.path, now, replyHref)}
        notes={open.refused.map((refused) => ({
          at: refused.createdAt,
          text: <Refused {...refused} path={visit.path} />,
        }))}
        firstNew={firstNew ?? undefined}
        now={now}
      />
      {newer !== undefined && <PageLink href={link({ after: newer })} title='Newer messages' />}
    </>
  )
}

/** A refused send: its sender and recipient, the guardrail that refused it, and the reason. */
function Refused(
  { sender, recipient, action, kinds, guardrail, guardrailId, path }: RefusedSend & { path: Visit['path'] },
) {
  const found: string[] = JSON.parse(kinds)
  return (
    <>
      A message of <Name text={`@${sender}`} /> to <Name text={recipient} />{' '}
      {action === 'blocked' ? 'was blocked by' : 'was not delivered, because it could not be checked by'}{' '}
      <a href={`${path('guardrails', guardrailId)}#cases`}>
        <Name text={guardrail} />
      </a>
      {action === 'blocked' && (
        <>
          : <Name text={found.join(', ')} />
        </>
      )}
    </>
  )
}

function PageLink({ href, title }: { href: string; title: string }) {
  return (
    <p class='page-link'>
      <a class='button' href={href}>{title}</a>
    </p>
  )
}

/** Shows a conversation's numbers to visitors who may not read it, and says who may. */
function Unreadable({ reader, thread, since }: OpenConversation) {
  if (since !== undefined) {
    return (
      <EmptyState icon='conversations' title='Nothing here'>There are no messages that you can read here.</EmptyState>
    )
  }
  return (
    <EmptyState
      icon='conversations'
      title='You see numbers only'
      action={
        <Facts
          items={[
            ['Between', <Name text={titleOf(thread)} />],
            ['Messages', thread.messages.toLocaleString('en')],
            ['Newest', <LocalTime at={thread.lastAt} />],
          ]}
        />
      }
    >
      {whoMayRead(reader, thread.kind)}
    </EmptyState>
  )
}

/** Yields the names whose icons appear next to the messages. */
export function* timelineNames({ thread, messages }: OpenConversation): Generator<string> {
  yield* namesOf(thread)
  for (const { fromAlias } of messages) yield `@${fromAlias}`
}
