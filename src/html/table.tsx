/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Icon } from './icons.tsx'

/** A table column. `cell` renders its value for a row. */
export interface Column<Row> {
  title: string
  cell(row: Row): Child
  align?: 'number'
  /** Whether this is a column of buttons at the end of the row. Its title is for screen readers only. */
  isUntitled?: boolean
  /**
   * The column's width. Columns without a width share the remaining space. If any column has a width, the layout is
   * fixed and independent of the cells.
   */
  width?: 'narrow' | 'short' | 'time' | 'wide'
}

/**
 * A table whose first column names the row. On phones, each row becomes a card. With `scrolls`, the table scrolls
 * horizontally instead.
 */
export function Table<Row>(
  { id, caption, columns: given, rows, scrolls, isDense }: {
    id: string
    /** Describes the table for screen readers. */
    caption: string
    /** `false` omits the column. */
    columns: (Column<Row> | false)[]
    rows: Row[]
    scrolls?: boolean
    /** Compact rows, for a log. On phones, they have no column titles. */
    isDense?: boolean
  },
) {
  const columns = given.filter((column) => column !== false)
  const isFixed = columns.some(({ width }) => width !== undefined)
  return (
    <div
      class={[scrolls ? 'table' : 'table stacks', isFixed && 'fixed', isDense && 'dense'].filter(Boolean).join(' ')}
      role='region'
      aria-label={caption}
      tabindex={scrolls ? 0 : undefined}
    >
      <table id={id} role='table'>
        <caption class='unseen'>{caption}</caption>
        <thead role='rowgroup'>
          <tr role='row'>
            {columns.map(({ title, align, isUntitled, width }) => (
              <th
                scope='col'
                role='columnheader'
                class={[alignClass(align, isUntitled), width].filter(Boolean).join(' ') || undefined}
              >
                {isUntitled ? <span class='unseen'>{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role='rowgroup'>
          {rows.map((row) => (
            <tr role='row'>
              {columns.map(({ title, cell, align, isUntitled }, index) =>
                index === 0 ? <th scope='row' role='rowheader' class='first'>{cell(row)}</th> : (
                  <td
                    role='cell'
                    data-label={title}
                    class={[alignClass(align, isUntitled), isUntitled && 'unlabelled'].filter(Boolean).join(' ') ||
                      undefined}
                  >
                    {cell(row)}
                  </td>
                )
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Links to the previous and next page. `where` describes the current one. `titles` replaces “Newer” and “Older”. */
export function Pagination(
  { label, where, previous, next, titles = ['Newer', 'Older'] }: {
    label: string
    where?: Child
    previous?: string
    next?: string
    titles?: [previous: string, next: string]
  },
) {
  return (
    <nav class='pages' aria-label={label}>
      <span>{where}</span>
      <div class='row'>
        {previous && (
          <a class='button small' href={previous} rel='prev'>
            <Icon name='back' size={14} />
            {titles[0]}
          </a>
        )}
        {next && (
          <a class='button small' href={next} rel='next'>
            {titles[1]}
            <Icon name='next' size={14} />
          </a>
        )}
      </div>
    </nav>
  )
}

function alignClass(align?: 'number', isUntitled?: boolean): string | undefined {
  return align === 'number' ? 'numb' : isUntitled ? 'end' : undefined
}
