import { type PageSource, readPage } from '../lib/read-page.ts'
import type { CommandOption } from './command.ts'

/** Format rows of a name and a value in two aligned columns. */
export function table(rows: (readonly [name: string, value: string | number])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** One page of a list: far below the size that a terminal or a script handles at once. */
const page = { entries: 1_000, bytes: 1_000_000, chunk: 250 }

export const cursorOption = {
  placeholder: 'CURSOR',
  description: 'next_cursor of the previous page; a page has up to 1,000 rows',
} as const satisfies CommandOption

/** The page after `cursor`, or the first one. `next_cursor` is there if there are more. */
export async function listPage<Row, Entry>(
  source: PageSource<Row, Entry>,
  cursor: string | undefined,
): Promise<{ entries: Entry[]; more: { next_cursor?: string } }> {
  const { entries, cursor: next } = await readPage(source, cursor, page)
  return { entries, more: next === undefined ? {} : { next_cursor: next } }
}

/** Rows of a list in aligned columns below their titles, each on one line; `empty` if there are none. */
export function printList(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  { empty, next_cursor: cursor }: { empty: string; next_cursor?: string },
): string {
  if (rows.length === 0) return empty
  const lines = [titles, ...rows].map((row) => row.map((cell) => String(cell).replace(/[\s\p{Cc}]+/gu, ' ')))
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd())
  return [...text, ...(cursor === undefined ? [] : [`There are more: --cursor ${cursor}`])].join('\n')
}
