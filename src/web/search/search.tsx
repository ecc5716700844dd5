/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Searches messages, names, pages and actions. See docs/people.md, "People who read". */
import { type Hit, searchConversations, type SearchResult } from '../../grid/conversations/search.ts'
import { parseSearch, type SearchQuery } from '../../grid/conversations/search-query.ts'
import { Name } from '../../html/bidi.tsx'
import { Card, EmptyState, Time } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import { Face, FaceSymbols } from '../../html/conversation/faces.tsx'
import { htmlFragment } from '../../html/html-response.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { SearchField } from '../../html/search-field.tsx'
import { instantOf } from '../../lib/time.ts'
import { seqIn } from '../conversations/list-pane.tsx'
import { pluralize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { findPlaces, type Place } from './places.ts'
import { filterFields, searchHref } from './search-form.tsx'

/** Registers the search page, and the list in the search dialog. */
export function searchPages({ get }: Pages<Visit>): void {
  get('/search', show)
  get('/jump', jump)
}

async function show(visit: Visit) {
  const { account, query: given, requestId, timeZone } = visit
  const query = parseSearch(given)
  const days = { after: instant(timeZone, query.after), before: instant(timeZone, query.before) }
  const position = seqIn(given, 'older')
  const [result, places] = await Promise.all([
    searchConversations(account, query, { days, position, requestId }),
    position === undefined ? findPlaces(visit, query.words) : [],
  ])
  const named = places.length > 0 && (
    <Card title='Names, pages and actions' isFlush>
      <PlaceList places={places} />
    </Card>
  )
  const isNameMeant = result.hits.length === 0 || places[0]?.kind === 'conversation'
  return await appPage(
    visit.frame('search'),
    { title: 'Search' },
    <div class='search'>
      <FaceSymbols names={result.hits.map(({ fromAlias }) => fromAlias)} />
      <form method='get' action={visit.path('search')} role='search'>
        <div class='row'>
          <SearchField
            name='q'
            value={query.words}
            placeholder='Words, or from:@alice after:2026-11-01'
            label='Search messages, names and pages'
            autofocus={!result.isAsked}
          />
          <button type='submit' class='button'>Search</button>
        </div>
        {filterFields(query)}
      </form>
      {result.isFilling && <p class='soft'>The search is being set up again. The newest messages are not found yet.</p>}
      {isNameMeant && named}
      {result.isAsked && <Messages visit={visit} query={query} result={result} isFirst={position === undefined} />}
      {!isNameMeant && named}
      {!result.isAsked && (
        <EmptyState icon='search' title='Search messages'>
          {result.isReader
            ? 'Finds messages with all words, in any order, also in the names of files. From three letters on, the beginning of a word is enough. @a and @b find their conversation.'
            : 'Your role sees numbers, not messages. You can search agents, channels and skills.'}
        </EmptyState>
      )}
    </div>,
  )
}

function instant(timeZone: string, date: string): number | undefined {
  return date === '' ? undefined : instantOf(timeZone, Date.parse(`${date}T00:00Z`))
}

function Messages(
  { visit, query, result: { hits, total, hasMore, next, isReader }, isFirst }: {
    visit: Visit
    query: SearchQuery
    result: SearchResult
    isFirst: boolean
  },
) {
  const here = visit.path('search')
  if (!isReader) return <p class='soft'>Your role sees numbers, not messages.</p>
  if (hits.length === 0) {
    return (
      <EmptyState icon='search' title={next === undefined ? 'No messages found' : 'None among the newest'}>
        {next === undefined
          ? 'Try fewer words or filters. Search covers messages you may read.'
          : <a href={searchHref(here, query, next)}>Search older messages</a>}
      </EmptyState>
    )
  }
  return (
    <section aria-labelledby='found'>
      <h2 id='found' class='search-total'>
        {hasMore ? `More than ${pluralize(total, 'message')}` : pluralize(total, 'message')}
        <span class='soft small'>{isFirst ? 'newest first' : 'older ones'}</span>
      </h2>
      <ul class='hits'>
        {hits.map((hit) => <HitRow visit={visit} hit={hit} />)}
      </ul>
      {(next !== undefined || !isFirst) && (
        <nav class='page-link' aria-label='Pages of messages'>
          {!isFirst && <a class='button' href={searchHref(here, query)}>Newest</a>}
          {next !== undefined && <a class='button' href={searchHref(here, query, next)}>Older</a>}
        </nav>
      )}
    </section>
  )
}

function HitRow({ visit, hit }: { visit: Visit; hit: Hit }) {
  const { threadId, seq, fromAlias, via, recipient, createdAt, excerpt } = hit
  return (
    <li>
      <a href={`${visit.path('conversations', String(threadId))}?m=${seq}#m${seq}`}>
        <Face name={fromAlias} />
        <span class='names'>
          <Name text={`@${fromAlias}`} /> <span class='soft' aria-hidden='true'>→</span>
          <span class='unseen'>to</span> <Name text={recipient} /> <Via via={via} />
        </span>
        <Time at={createdAt} now={visit.account.deps.now()} />
        <span class='excerpt' dir='auto'>
          {excerpt.map(({ text, isMatch }) => isMatch ? <mark>{text}</mark> : text)}
        </span>
      </a>
    </li>
  )
}

function PlaceList({ places }: { places: Place[] }) {
  return (
    <ul class='found-names'>
      {places.map(({ href, name, kind }) => (
        <li>
          <a href={href}>
            <Name text={name} />
            <span class='soft small'>{kind}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** The dialog's list, updated as the user types. It shows no message texts, so nothing is logged as read. */
async function jump(visit: Visit) {
  const query = parseSearch(visit.query)
  if (query.words === '') return { redirectTo: visit.path('search') }
  return await htmlFragment(
    visit,
    <div>
      <PlaceList places={await findPlaces(visit, query.words)} />
      <ul class='found-names'>
        <li>
          <a href={searchHref(visit.path('search'), query)} data-messages>
            <span>
              <Icon name='search' size={14} /> Search messages for “<Name text={query.words} />”
            </span>
            <kbd>Shift Enter</kbd>
          </a>
        </li>
      </ul>
    </div>,
  )
}
