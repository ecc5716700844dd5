/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The list of conversations, with one conversation next to it. See docs/people.md, "People who read". */
import type { Child } from 'hono/jsx'
import { GridError } from '../../errors.ts'
import { beginList, type ConversationList, listConversations } from '../../grid/conversations/list.ts'
import type { Reader } from '../../grid/conversations/may-read.ts'
import type { ThreadPosition } from '../../grid/conversations/messages.ts'
import {
  type OpenConversation,
  openConversation,
  type Place,
  placeOfConversation,
  whoMayRead,
} from '../../grid/conversations/open.ts'
import type { Thread } from '../../grid/conversations/threads.ts'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { MessageItems } from '../../html/conversation/message.tsx'
import { ThreadNames } from '../../html/conversation/thread-row.tsx'
import { htmlFragment } from '../../html/html-response.tsx'
import { appPage } from '../../html/layout.tsx'
import { instantOf } from '../../lib/time.ts'
import type { AccountPages, Visit } from '../visit.ts'
import { answerHref, composerOf, type Composing, composingIn } from './composer.tsx'
import { firstStepsPage } from '../home/first-steps.tsx'
import { exportConversation } from './export.ts'
import { ListPane, type ListPlace, listPlace, listQuery, seqIn, threadIn } from './list-pane.tsx'
import { pausedIn } from './paused.tsx'
import { labelOf, namesOf, shownMessages, titleOf } from './shown.ts'
import { timelineNames, TimelinePane } from './timeline.tsx'
import { writingPages } from './write.tsx'

/** Maximum number of pages without readable messages that one request skips. */
const maxSkipped = 20

/** Registers the conversation list, the conversations, and the messages that update an open one. */
export function conversationPages(pages: AccountPages): void {
  const { get } = pages
  get('/conversations', showList)
  get('/conversations/:thread', showThread)
  get('/conversations/:thread/messages', showFollowing)
  get('/conversations/:thread/export', exportConversation)
  writingPages(pages.may('use'), showThread)
}

/** Shows the list. Wide windows show the newest conversation next to it. */
async function showList(visit: Visit) {
  const { account, requestId, query } = visit
  const place = listPlace(query)
  const { list, pane } = await listAndFirst()
  if (list.threads.length === 0) {
    const counts = await account.read.overview.agents(0)
    if (counts.total === 0 && !counts.hasMessages) return await firstStepsPage(visit, counts)
  }
  return await bothPanes(visit, place, list, pane, true)

  async function listAndFirst() {
    const glance = (thread: Thread, reader: Reader) =>
      openPane(visit, thread.id, { newest: true }, { isGlance: true, place: Promise.resolve({ reader, thread }) })
    const { reader, first, list: listed } = await beginList(account, { ...place, requestId })
    const [list, pane] = await Promise.all([listed, first && glance(first, reader)])
    const [shown] = list.threads
    const isShown = shown?.id === pane?.open.thread.id
    return { list, pane: isShown ? pane : shown && await glance(shown, reader) }
  }
}

async function showThread(visit: Visit) {
  const { account, requestId, query } = visit
  const place = listPlace(query)
  const id = threadIn(visit)
  const [pane, { threads, ...list }] = await Promise.all([
    openPane(visit, id, positionIn(visit), { place: placeOfConversation(account, id) }),
    listConversations(account, { ...place, requestId }),
  ])
  // Update the list, because it was loaded before the conversation was marked as seen.
  const seen = threads.map((thread) => thread.id === id ? { ...thread, seenSeq: pane.open.seen } : thread)
  return await bothPanes(visit, place, { ...list, threads: seen }, pane, false)
}

/** A conversation and the content shown around its messages. */
interface Pane {
  open: OpenConversation
  position: ThreadPosition
  paused: Child
  composing: Composing | undefined
}

export async function openPane(
  visit: Visit,
  id: number,
  position: ThreadPosition,
  { place, isGlance }: { place: Promise<Place>; isGlance?: boolean },
): Promise<Pane> {
  const { account, requestId } = visit
  const [open, paused, composing] = await Promise.all([
    openConversation(account, id, position, { requestId, isGlance, place }),
    pausedIn(visit, place),
    composingIn(visit, id, place),
  ])
  return { open, position, paused, composing }
}

async function bothPanes(
  visit: Visit,
  place: ListPlace,
  list: ConversationList,
  pane: Pane | undefined,
  isList: boolean,
) {
  const open = pane?.open
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
      {pane && open && (
        <TimelinePane
          visit={visit}
          open={open}
          link={(more) => `${thread}${listQuery(place, more)}`}
          back={`${visit.path('conversations')}${listQuery(place)}`}
          paused={pane.paused}
          isFromTop={!('newest' in pane.position || 'before' in pane.position)}
          title={isList ? <h2>{titleWith(open)}</h2> : <h1>{titleWith(open)}</h1>}
          composer={composerOf(visit, open, pane.composing, isList)}
          replyHref={answerHref(open, place, isList ? thread : '')}
        />
      )}
    </div>,
  )
}

/** Shows both names, each bidi-isolated, with the conversation id. */
function titleWith({ thread }: OpenConversation) {
  return <ThreadNames names={namesOf(thread)} label={labelOf(thread)} />
}

/** Returns the messages after a given one, as items for the message list. With `?glance`, they do not count as seen. */
async function showFollowing(visit: Visit) {
  const { account, requestId, query, path } = visit
  const after = seqIn(query, 'after')
  if (after === undefined) {
    throw new GridError('invalid_input', 'The query parameter `after` is missing.', { field: 'after' })
  }
  const openAfter = (seq: number) =>
    openConversation(account, threadIn(visit), { after: seq }, { requestId, isGlance: query.has('glance') })
  // Start with the given message, because the next one may continue its group.
  let open = await openAfter(after - 1)
  // Messages between others are omitted, so the reader's next message may be several pages away.
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
 * Reads `?m=`, `?before=`, `?after=` and `?at=`, a time in the user's zone or in milliseconds. Selects the newest
 * messages if all these parameters are missing.
 */
export function positionIn({ query, timeZone }: Pick<Visit, 'query' | 'timeZone'>): ThreadPosition {
  const [around, before, after] = ['m', 'before', 'after'].map((name) => seqIn(query, name))
  if (around !== undefined) return { around }
  if (before !== undefined) return { before }
  if (after !== undefined) return { after }
  const at = seqIn(query, 'at') ?? instantOf(timeZone, Date.parse(`${query.get('at') ?? ''}Z`))
  return Number.isNaN(at) ? { newest: true } : { at }
}
