/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Paused conversations. See docs/conversations.md, "Conversations that run away". */
import type { Child } from 'hono/jsx'
import type { Condition } from '../../grid/attention/attention.ts'
import { openConversation, type OpenMessage, type Place } from '../../grid/conversations/open.ts'
import type { Thread } from '../../grid/conversations/threads.ts'
import { pauseOf } from '../../grid/messaging/turns.ts'
import { Name } from '../../html/bidi.tsx'
import { LocalTime, Time } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import type { Origin } from '../forms.tsx'
import { pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { oneLine } from '../../lib/one-line.ts'

const maxShown = 3
const maxText = 160
/** Maximum number of paused conversations whose last messages are shown. */
const maxRead = 10

/** Returns a notice above a paused conversation's messages: why it is paused, and how to resume it. */
export async function pausedIn(visit: Visit, place: Promise<Place>): Promise<Child> {
  const thread = place.then(({ thread }) => thread)
  const found = await pauseOf(visit.account, thread)
  return (
    <div id='paused' data-fresh='attention thread'>
      {found && <PausedBanner visit={visit} thread={await thread} {...found} />}
    </div>
  )
}

type Pause = NonNullable<Awaited<ReturnType<typeof pauseOf>>>

function PausedBanner({ visit, thread, pause, perHour }: { visit: Visit; thread: Thread } & Pause) {
  const { key, turns, since, pausedAt } = pause
  return (
    <div class='notice warning paused'>
      <Icon name='warning' />
      <div>
        <strong>
          Paused since <LocalTime at={pausedAt} />
        </strong>
        <div>
          The agents answered each other {turns.toLocaleString('en')} times in {durationInWords(pausedAt - since)}{' '}
          with no message from a person{perHour > 0 && `; the limit is ${perHour.toLocaleString('en')} an hour`}. More
          answers are refused. {!visit.may('manage') && 'An owner or admin of the account can resume it.'}
        </div>
      </div>
      <Resume visit={visit} conversation={key} thread={thread.id} />
    </div>
  )
}

/** The button that resumes a conversation, if the visitor may. Returns to `thread` or to the page `from`. */
export function Resume(
  { visit, conversation, thread, from }: { visit: Visit; conversation: string; thread?: number; from?: Origin },
) {
  if (!visit.may('manage')) return null
  return (
    <ButtonForm
      action={visit.path('conversations', conversation, 'resume')}
      fields={{ ...thread === undefined ? {} : { thread: String(thread) }, ...from && { from } }}
      kind='plain'
      isSmall
    >
      Resume
    </ButtonForm>
  )
}

/** Returns the last messages of paused conversations that the visitor may read, by thread. Logs that they were read. */
export async function lastMessages(
  { account, requestId }: Visit,
  conditions: readonly Condition[],
): Promise<Map<number, OpenMessage[]>> {
  const threads = conditions.flatMap((one) => one.kind === 'paused' ? one.of.threadId ?? [] : []).slice(0, maxRead)
  const newest = { newest: true, most: maxShown } as const
  const found = await Promise.all(threads.map(async (id): Promise<[number, OpenMessage[]]> => {
    return [id, (await openConversation(account, id, newest, { requestId, isGlance: true })).messages]
  }))
  return new Map(found)
}

/** Messages, one line each. */
export function Said({ messages, now }: { messages: OpenMessage[]; now: number }) {
  return (
    <ul class='said' aria-label={`The last ${pluralize(messages.length, 'message')}`}>
      {messages.map(({ fromAlias, via, body, createdAt }) => (
        <li>
          <b>
            <Name text={`@${fromAlias}`} />
          </b>{' '}
          <Via via={via} /> <Name text={oneLine(body.slice(0, maxText))} />{' '}
          <span class='soft'>
            <Time at={createdAt} now={now} />
          </span>
        </li>
      ))}
    </ul>
  )
}
