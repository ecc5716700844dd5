/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Lists in the order of names: which rows a page shows, a search that is sent, and links to the neighbouring pages. */
import { EmptyState } from '../html/bits.tsx'
import { Icon } from '../html/icons.tsx'
import { Pagination } from '../html/table.tsx'
import type { Visit } from './visit.ts'

export const pageSize = 50
const maxSearchLength = 200

/** What the address of a list asks for. */
export interface Place {
  search: string
  /** From 1. */
  page: number
  offset: number
}

/** `?search=` and `?page=`; what makes no sense counts as not given. */
export function placeOf(query: URLSearchParams): Place {
  const search = (query.get('search') ?? '').trim().slice(0, maxSearchLength).toWellFormed().replaceAll('\0', '')
  const given = query.get('page') ?? ''
  const page = /^[1-9]\d{0,5}$/.test(given) ? Number(given) : 1
  return { search, page, offset: (page - 1) * pageSize }
}

/** Where we are in a list of `total` rows; nothing when all of them are here. */
export function PageLinks({ label, at, total }: { label: string; at: Place & { path: string }; total: number }) {
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

/** Narrows a list on the server: works without script and on lists of any length. */
export function SearchBar({ path, label, search }: { path: string; label: string; search: string }) {
  return (
    <form class='bar' method='get' action={path} role='search'>
      <div class='affixed'>
        <span class='before' aria-hidden='true'>
          <Icon name='search' size={16} />
        </span>
        <input
          class='input'
          type='search'
          name='search'
          value={search}
          placeholder={label}
          aria-label={label}
          maxlength={maxSearchLength}
        />
      </div>
      <button type='submit' class='button'>Search</button>
      {search !== '' && <a class='button quiet' href={path}>Show all</a>}
    </form>
  )
}

/** Says that a search found nothing. */
export function NothingFound({ search, path, where }: { search: string; path: string; where: string }) {
  return (
    <EmptyState icon='search' title='Nothing is found' action={<a href={path}>Show all</a>}>
      Nothing has “{search}” in its {where}.
    </EmptyState>
  )
}

/** `1 agent`, `2 agents`, `1,000 agents`. */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}

/** Why there is no form here for this person. */
export function OnlyManagers({ visit, what }: { visit: Visit; what: string }) {
  return (
    <p class='soft small'>
      Only owners and admins of the account can {what}. You are {visit.actor.role}.
    </p>
  )
}
