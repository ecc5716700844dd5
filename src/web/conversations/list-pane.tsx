/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { ConversationList, Show } from '../../grid/conversations/list.ts'
import { unknownConversation } from '../../grid/conversations/threads.ts'
import { Name } from '../../html/bidi.tsx'
import { EmptyState } from '../../html/components.tsx'
import { ThreadList } from '../../html/conversation/thread-row.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { SearchBar, searchIn } from '../listing.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'
import { shownThread } from './shown.ts'

/** The position in the list: its filter and first row. */
export interface ListPlace {
  show: Show
  /** Part of a name. Empty or undefined matches all names. */
  search?: string
  before?: number
}

const filters: [Show, string][] = [['you', 'You'], ['all', 'All'], ['channels', 'Channels'], ['waiting', 'Waiting']]

/** Reads `?show=`, `?search=` and `?older=`. Ignores invalid values. */
export function listPlace(query: URLSearchParams): ListPlace {
  const show = filters.find(([show]) => show === query.get('show'))?.[0] ?? 'all'
  return { show, search: searchIn(query), before: seqIn(query, 'older') }
}

export function seqIn(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name) ?? ''
  return /^\d{1,15}$/.test(given) ? Number(given) : undefined
}

/** Returns the conversation id in the path. Fails with `conversation_not_found`. */
export function threadIn(visit: Pick<Visit, 'param'>): number {
  const id = seqIn(new URLSearchParams({ id: visit.param('thread') }), 'id')
  if (id === undefined) throw unknownConversation()
  return id
}

/** Returns the parameters that preserve the list's filter. */
export function listFields({ show, search }: ListPlace): Record<string, string> {
  return { ...(show !== 'all' && { show }), ...(search && { search }) }
}

/** Returns the query that preserves the list's position, with the parameters in `more` added. */
export function listQuery(place: ListPlace, more: Record<string, number> = {}): string {
  const { before } = place
  const query = new URLSearchParams({
    ...listFields(place),
    ...(before !== undefined && { older: String(before) }),
    ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, String(value)])),
  })
  return query.size === 0 ? '' : `?${query}`
}

/** The account's conversations with their filters. `title` is a heading. */
export function ListPane(
  { visit, list, place, current, title }: {
    visit: Visit
    list: ConversationList
    place: ListPlace
    current?: number
    title: Child
  },
) {
  const { path } = visit
  const { threads, next, unread, reader } = list
  const { search = '' } = place
  // Omit the filter "All" for members, because it would show the same conversations as "You".
  const offered = filters.filter(([show]) =>
    show === 'you' ? visit.may('use') : show !== 'all' || reader.role !== 'member'
  )
  const show = offered.some(([show]) => show === place.show) ? place.show : 'you'
  const home = path('conversations')
  return (
    <section aria-label='Conversations'>
      <div class='pane-head'>
        {title}
        <nav class='filters' aria-label='Which conversations' id='filters' data-fresh='count' data-unread={unread}>
          {offered.map(([one, label]) => (
            <a href={`${home}${listQuery({ show: one, search })}`} aria-current={one === show ? 'page' : undefined}>
              {label}
              {one === 'you' && unread > 0 && (
                <b>
                  &nbsp;{unread > 99 ? '99+' : unread}
                  <span class='unseen'>unread</span>
                </b>
              )}
            </a>
          ))}
        </nav>
        {(threads.length > 0 || search !== '') && (
          <SearchBar
            path={home}
            label='Names of agents, people or channels'
            placeholder='Names'
            search={search}
            kept={listFields({ show: place.show })}
          />
        )}
      </div>
      <div class='scrolls' tabindex={0} id='list' data-fresh='thread count' data-seq={threads[0]?.lastSeq ?? 0}>
        {threads.length > 0
          ? (
            <ThreadList
              threads={threads.map((thread) =>
                shownThread(thread, path, listQuery(place), { current, self: reader.personAlias?.alias })
              )}
              now={visit.account.deps.now()}
            />
          )
          : <Nothing visit={visit} place={{ ...place, show }} hasPersonAlias={reader.personAlias !== undefined} />}
        {(place.before !== undefined || next !== undefined) && (
          <nav class='page-link' aria-label='Pages of conversations'>
            {place.before !== undefined && (
              <a class='button' href={`${home}${listQuery({ ...place, before: undefined })}`}>Newest</a>
            )}
            {next !== undefined && <a class='button' href={`${home}${listQuery({ ...place, before: next })}`}>Older</a>}
          </nav>
        )}
      </div>
    </section>
  )
}

function Nothing(
  { visit, place: { show, search, before }, hasPersonAlias }: {
    visit: Visit
    place: ListPlace
    hasPersonAlias: boolean
  },
) {
  if (before !== undefined) return <EmptyState icon='conversations' title='No older conversations' />
  if (search) {
    return (
      <EmptyState icon='search' title='No conversations found'>
        No agent or channel of a conversation here has “<Name text={search} />” in its name.
      </EmptyState>
    )
  }
  if (show === 'waiting') {
    return (
      <EmptyState icon='check' title='Nothing is waiting'>
        The newest message of every conversation has been read.
      </EmptyState>
    )
  }
  if (show === 'you' && !hasPersonAlias) {
    return (
      <EmptyState
        icon='conversations'
        title='You have no alias yet'
        action={<ButtonLink href={settingsPath(visit, 'profile')} kind='plain'>Choose your alias</ButtonLink>}
      >
        With an alias, you and the agents and people of the account can write to each other.
      </EmptyState>
    )
  }
  return (
    <EmptyState icon='conversations' title='No messages yet'>
      {show === 'you' && 'Messages to and from your alias appear here.'}
      {show === 'channels' && 'Posts in channels appear here.'}
      {show === 'all' && 'Messages between agents and people appear here.'}
    </EmptyState>
  )
}
