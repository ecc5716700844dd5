/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Lists with pages and search, sorted by name. */
import type { Child } from 'hono/jsx'
import { Name } from '../html/bidi.tsx'
import { Card, EmptyState } from '../html/components.tsx'
import { ButtonLink } from '../html/form.tsx'
import { Icon } from '../html/icons.tsx'
import { appPage } from '../html/layout.tsx'
import { maxSearchLength, SearchField } from '../html/search-field.tsx'
import { Pagination } from '../html/table.tsx'
import type { Visit } from './visit.ts'

/** Rows per page. */
export const pageSize = 50

/** The page and search text selected by the URL of a list. */
export interface ListPosition {
  search: string
  /** Starts at 1. */
  page: number
  /** The number of rows on earlier pages. */
  offset: number
}

/** Reads the search text from `?search=`, or from the parameter `name`. */
export function searchIn(query: URLSearchParams, name = 'search'): string {
  return (query.get(name) ?? '').trim().slice(0, maxSearchLength).toWellFormed().replaceAll('\0', '')
}

/** Reads `?search=` and `?page=`. Ignores invalid values. */
export function listPosition(query: URLSearchParams): ListPosition {
  const search = searchIn(query)
  const given = query.get('page') ?? ''
  const page = /^[1-9]\d{0,5}$/.test(given) ? Number(given) : 1
  return { search, page, offset: (page - 1) * pageSize }
}

/** Links between the pages of a list with `total` rows. Renders nothing if the list fits on one page. */
export function PageLinks({ label, at, total }: { label: string; at: ListPosition & { path: string }; total: number }) {
  if (total <= pageSize && at.page === 1) return null
  const pages = Math.max(1, Math.ceil(total / pageSize))
  const link = (page: number) => {
    const query = new URLSearchParams(at.search === '' ? {} : { search: at.search })
    if (page > 1) query.set('page', String(page))
    return query.size === 0 ? at.path : `${at.path}?${query}`
  }
  const isBeyond = at.page > pages
  const where = isBeyond
    ? `Page ${at.page} of ${pages}`
    : `${(at.offset + 1).toLocaleString('en')} to ${Math.min(at.offset + pageSize, total).toLocaleString('en')} of ${
      total.toLocaleString('en')
    }`
  return (
    <Pagination
      label={label}
      where={where}
      previous={at.page > 1 ? link(isBeyond ? pages : at.page - 1) : undefined}
      next={at.page < pages ? link(at.page + 1) : undefined}
      titles={['Previous', 'Next']}
    />
  )
}

/**
 * A search form. The server searches, so the form works without script and for lists of any length. `kept` are other
 * parameters to preserve. `children` come after the form.
 */
export function SearchBar(
  { path, label, placeholder, search, kept = {}, children }: {
    path: string
    label: string
    placeholder?: string
    search: string
    kept?: Record<string, string>
    children?: Child
  },
) {
  const all = new URLSearchParams(kept)
  return (
    <form class='bar' method='get' action={path} role='search'>
      {[...all].map(([name, value]) => <input type='hidden' name={name} value={value} />)}
      <SearchField value={search} label={label} placeholder={placeholder} />
      <button type='submit' class='button'>Search</button>
      {search !== '' && <a class='button quiet' href={all.size === 0 ? path : `${path}?${all}`}>Show all</a>}
      {children}
    </form>
  )
}

/** A list in an account: its search field and table, or an explanation if it is empty. */
export function listPage(
  visit: Visit,
  { section, noun, lead, empty, at, total, isFound, searched, table }: {
    section: 'skills' | 'channels' | 'guardrails'
    /** The noun for one row, such as `skill`. */
    noun: string
    lead: Child
    /** Shown while the account has no items of this kind. */
    empty: Child
    at: ListPosition & { path: string }
    /** Total number of rows. */
    total: number
    /** Whether this page has rows. */
    isFound: boolean
    /** Names of the searched fields, shown if a search has no results. */
    searched: string
    table: Child
  },
) {
  const title = section.charAt(0).toUpperCase() + section.slice(1)
  const newItem = visit.may('manage') && <NewButton href={visit.path(section, 'new')} noun={noun} />
  const isEmpty = total === 0 && at.search === ''
  return appPage(
    visit.frame(section),
    { title, lead, actions: !isEmpty && newItem },
    isEmpty
      ? (
        <Card>
          <EmptyState icon={section} title={`No ${section} yet`} action={newItem}>{empty}</EmptyState>
        </Card>
      )
      : (
        <Card isFlush>
          <SearchBar path={at.path} label={`Search ${section}`} search={at.search} />
          {!isFound && at.search !== '' && <NoResults {...at} where={searched} />}
          {isFound && table}
          <PageLinks label={`Pages of ${section}`} at={at} total={total} />
        </Card>
      ),
  )
}

/** Links to the form that creates an item. */
export function NewButton({ href, noun }: { href: string; noun: string }) {
  return (
    <ButtonLink href={href} kind='main-action'>
      <Icon name='plus' />New {noun}
    </ButtonLink>
  )
}

/** Shown when a search has no results. `where` names the searched fields. */
export function NoResults({ search, path, where }: { search: string; path: string; where: string }) {
  return (
    <EmptyState icon='search' title='No results' action={<a class='alone' href={path}>Show all</a>}>
      No {where} contains “<Name text={search} />”.
    </EmptyState>
  )
}

/** Formats a count: `1 agent`, `2 agents`, `1,000 agents`. */
export function pluralize(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}

/** Shown instead of text that owners and admins may not read. Other roles do not see the row with the text. */
export const hiddenWords = 'Hidden: people of this account do not read messages between agents'

/** Explains to members and viewers why they see no form. `what` completes “Only owners and admins can …”. */
export function ManagersOnlyNote({ visit, what }: { visit: Visit; what: string }) {
  return (
    <p class='soft small'>
      Only owners and admins of the account can {what}. Your role is {visit.actor.role}.
    </p>
  )
}
