/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Searching messages, agents, channels, skills and pages. See docs/security.md, "People who read". */
import { type Hit, searchConversations, type SearchResult } from '../../grid/conversations/search.ts'
import { parseSearch, type SearchQuery } from '../../grid/conversations/search-query.ts'
import { Name } from '../../html/bidi.tsx'
import { Card, EmptyState, Time } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import { Face, FaceSymbols } from '../../html/conversation/faces.tsx'
import { sectionTitles } from '../../html/frame.tsx'
import { htmlFragment } from '../../html/html-response.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { navItems } from '../../html/paths.ts'
import { SearchField } from '../../html/search-field.tsx'
import { instantOf } from '../../lib/time.ts'
import { seqIn } from '../conversations/list-pane.tsx'
import { pluralize } from '../listing.tsx'
import { settingsTabs } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import { filterFields, searchHref } from './search-form.tsx'

const maxNames = 5

/** Registers the search, and what its dialog shows while its user types. */
export function searchPages({ get }: Pages<Visit>): void {
  get('/search', show)
  get('/jump', jump)
}

async function show(visit: Visit) {
  const { account, query: given, requestId, timeZone } = visit
  const query = parseSearch(given)
  const days = { after: instant(timeZone, query.after), before: instant(timeZone, query.before) }
  const position = seqIn(given, 'older')
  const [result, names] = await Promise.all([
    searchConversations(account, query, { days, position, requestId }),
    position === undefined ? namesFor(visit, query.words) : [],
  ])
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
            label='Search messages, agents, channels and skills'
            autofocus={!result.isAsked}
          />
          <button type='submit' class='button'>Search</button>
        </div>
        {filterFields(query)}
      </form>
      {result.isFilling && <p class='soft'>The search is being set up again. The newest messages are not found yet.</p>}
      {result.isAsked && <Messages visit={visit} query={query} result={result} isFirst={position === undefined} />}
      {names.length > 0 && (
        <Card title='Agents, channels, skills and pages' isFlush>
          <NameList names={names} />
        </Card>
      )}
      {!result.isAsked && (
        <EmptyState icon='search' title='Find what was said'>
          {result.isReader
            ? 'All words are searched, in any order. The beginning of a word is enough, from three letters on.'
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
          ? 'Try fewer words or filters. You find only what you may read.'
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

interface FoundName {
  href: string
  name: string
  kind: string
}

/** Agents, channels, skills and pages whose names contain the text. */
async function namesFor({ account, path, features }: Visit, text: string): Promise<FoundName[]> {
  const search = text.replace(/^[@#]/, '').trim()
  if (search === '') return []
  const { agentSettings, channels, skills } = account.read
  const [foundAgents, foundChannels, foundSkills] = await Promise.all([
    agentSettings.named(search, maxNames),
    channels.search(search, maxNames, 0),
    skills.search(search, maxNames, 0),
  ])
  const pages = [
    ...navItems.map((item) => ({ href: path(item), name: sectionTitles[item] })),
    { href: path('held'), name: 'Held messages' },
    { href: path('approval-rules'), name: 'Approval rules' },
    ...settingsTabs({ path, features }).map(({ href, title }) => ({ href, name: `Settings, ${title}` })),
  ].filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())).slice(0, maxNames)
  return [
    ...foundAgents.map(({ alias, type }) => ({
      href: path('agents', alias),
      name: `@${alias}`,
      kind: type === 'human' ? 'person' : 'agent',
    })),
    ...foundChannels.map(({ id, name }) => ({ href: path('channels', id), name: `#${name}`, kind: 'channel' })),
    ...foundSkills.map(({ name }) => ({
      href: `${path('skills')}?${new URLSearchParams({ search: name })}`,
      name,
      kind: 'skill',
    })),
    ...pages.map((page) => ({ ...page, kind: 'page' })),
  ]
}

function NameList({ names }: { names: FoundName[] }) {
  return (
    <ul class='found-names'>
      {names.map(({ href, name, kind }) => (
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

/** What the dialog shows while its user types: names alone, so that nothing is read. */
async function jump(visit: Visit) {
  const query = parseSearch(visit.query)
  if (query.words === '') return { redirectTo: visit.path('search') }
  const names = await namesFor(visit, query.words)
  return await htmlFragment(
    visit,
    <div>
      <ul class='found-names'>
        <li>
          <a href={searchHref(visit.path('search'), query)}>
            <span>
              <Icon name='search' size={14} /> Search messages for “<Name text={query.words} />”
            </span>
          </a>
        </li>
      </ul>
      <NameList names={names} />
    </div>,
  )
}
