/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The list of conversations, and each of them next to it. See docs/security.md, "People who read". */
import { GridError } from '../../errors.ts'
import { type ConversationList, listConversations } from '../../grid/conversations/list.ts'
import type { ThreadPosition } from '../../grid/conversations/messages.ts'
import { type OpenConversation, openConversation, whoMayRead } from '../../grid/conversations/open.ts'
import { Name } from '../../html/bidi.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { MessageItems } from '../../html/conversation/message.tsx'
import { htmlFragment } from '../../html/html-response.tsx'
import { appPage } from '../../html/layout.tsx'
import { instantOf } from '../../lib/time.ts'
import type { AccountPages, Visit } from '../visit.ts'
import { answerHref, composerOf } from './composer.tsx'
import { firstAgentPage } from '../home/first-agent.tsx'
import { exportConversation } from './export.ts'
import { ListPane, type ListPlace, listPlace, listQuery, seqIn, threadIn } from './list-pane.tsx'
import { pausedIn } from './paused.tsx'
import { labelOf, namesOf, shownMessages, titleOf } from './shown.ts'
import { timelineNames, TimelinePane } from './timeline.tsx'
import { writingPages } from './write.tsx'

/** How many pages without a message for the reader are skipped at a time. */
const maxSkipped = 20

/** Registers the list, its conversations, and what follows in one of them. */
export function conversationPages(pages: AccountPages): void {
  const { get } = pages
  get('/conversations', showList)
  get('/conversations/:thread', showThread)
  get('/conversations/:thread/messages', showFollowing)
  get('/conversations/:thread/export', exportConversation)
  writingPages(pages.may('use'), showThread)
}

/** The list; wide windows show its newest conversation next to it. */
async function showList(visit: Visit) {
  const { account, requestId, query } = visit
  const place = listPlace(query)
  const list = await listConversations(account, { ...place, requestId })
  const [newest] = list.threads
  if (!newest && !await account.read.agents.hasPrograms()) return await firstAgentPage(visit)
  const position = { newest: true } as const
  const open = newest && await openConversation(account, newest.id, position, { requestId, isGlance: true })
  return await bothPanes(visit, place, list, { open, position, isList: true })
}

async function showThread(visit: Visit) {
  const { account, requestId, query } = visit
  const place = listPlace(query)
  const position = positionIn(visit)
  const open = await openConversation(account, threadIn(visit), position, { requestId })
  const list = await listConversations(account, { ...place, requestId })
  return await bothPanes(visit, place, list, { open, position, isList: false })
}

async function bothPanes(
  visit: Visit,
  place: ListPlace,
  list: ConversationList,
  { open, position, isList }: { open: OpenConversation | undefined; position: ThreadPosition; isList: boolean },
) {
  const names = [...list.threads.flatMap(namesOf), ...(open ? timelineNames(open) : [])]
  const thread = open && visit.path('conversations', String(open.thread.id))
  return await appPage(
    visit.frame('conversations'),
    { title: isList || !open ? 'Conversations' : titleOf(open.thread), isWhole: true },
    <div class={isList ? 'conversations list-first' : 'conversations'} data-glance={isList}>
      <FaceSymbols names={names.map((name) => name.replace('@', ''))} fresh='thread count' />
      <ListPane
        visit={visit}
        list={list}
        place={place}
        current={open?.thread.id}
        title={isList ? <h1>Conversations</h1> : <h2>Conversations</h2>}
      />
      {open && (
        <TimelinePane
          visit={visit}
          open={open}
          link={(more) => `${thread}${listQuery(place, more)}`}
          back={`${visit.path('conversations')}${listQuery(place)}`}
          paused={await pausedIn(visit, open)}
          isFromTop={!('newest' in position || 'before' in position)}
          title={isList ? <h2>{titleWith(open)}</h2> : <h1>{titleWith(open)}</h1>}
          composer={await composerOf(visit, open, isList)}
          replyHref={answerHref(open, place, isList ? thread : '')}
        />
      )}
    </div>,
  )
}

/** The names, each by itself, with the id of the conversation. */
function titleWith({ thread }: OpenConversation) {
  const label = labelOf(thread)
  return (
    <>
      {namesOf(thread).map((name, n) => (
        <>
          {n > 0 && ' + '}
          <Name text={name} />
        </>
      ))}
      {label && (
        <span class='soft'>
          {' '}
          <Name text={label} />
        </span>
      )}
    </>
  )
}

/** What was said after a message, as items for the list of messages. With `?glance` it does not count as seen. */
async function showFollowing(visit: Visit) {
  const { account, requestId, query, path } = visit
  const after = seqIn(query, 'after')
  if (after === undefined) {
    throw new GridError('invalid_input', 'The query parameter `after` is missing.', { field: 'after' })
  }
  const openAfter = (seq: number) =>
    openConversation(account, threadIn(visit), { after: seq }, { requestId, isGlance: query.has('glance') })
  // With the message itself, which the first one may continue.
  let open = await openAfter(after - 1)
  // Messages between others are left out, so those of the reader may be pages away.
  for (let skipped = 0; skipped < maxSkipped && open.newer !== undefined; skipped++) {
    if (open.messages.some(({ seq }) => seq > after)) break
    open = await openAfter(open.newer)
  }
  if (open.since === undefined) throw new GridError('not_allowed', whoMayRead(open.reader, open.thread.kind))
  const now = account.deps.now()
  const shown = shownMessages(open, path, now, answerHref(open, listPlace(query)))
  const messages = shown.filter(({ seq }) => seq > after)
  const before = shown.find(({ seq }) => seq === after)
  return await htmlFragment(
    visit,
    <>
      <MessageItems messages={messages} before={before} hasOwnFaces now={now} />
      {open.newer !== undefined && <li data-more></li>}
    </>,
  )
}

/**
 * Reads `?m=`, `?before=`, `?after=` and `?at=`, a time in the zone of the user or in milliseconds. Without any: the newest
 * messages.
 */
export function positionIn({ query, timeZone }: Pick<Visit, 'query' | 'timeZone'>): ThreadPosition {
  const [around, before, after] = ['m', 'before', 'after'].map((name) => seqIn(query, name))
  if (around !== undefined) return { around }
  if (before !== undefined) return { before }
  if (after !== undefined) return { after }
  const at = seqIn(query, 'at') ?? instantOf(timeZone, Date.parse(`${query.get('at') ?? ''}Z`))
  return Number.isNaN(at) ? { newest: true } : { at }
}
