/** Lists that are answered in pages, so that no answer is larger than its budget. See docs/protocol.md, "Pages". */
import { Buffer } from 'node:buffer'

/** A list that is ordered by a key, which is unique in it. */
export interface PageSource<Row, Entry> {
  /** Up to `limit` rows whose keys come after a key, in the order of the keys. All keys come after the empty text. */
  read(after: string, limit: number): Promise<Row[]>
  keyOf(row: Row): string
  /** What the answer shows of a row. */
  entryOf(row: Row): Entry
}

/** What a page holds at most, and how many rows are read at once to fill it. */
export interface PageBudget {
  entries: number
  /** Of the JSON text, in UTF-8. A page always has one entry, however large it is. */
  bytes: number
  chunk: number
}

/** A page, and where the next one begins if there is one. */
export interface Page<Entry> {
  entries: Entry[]
  cursor?: string
}

/** Read the page after `cursor`, or the first one. At most one chunk is read in vain. */
export async function readPage<Row, Entry>(
  { read, keyOf, entryOf }: PageSource<Row, Entry>,
  cursor: string | undefined,
  budget: PageBudget,
): Promise<Page<Entry>> {
  const entries: Entry[] = []
  let last = cursor ?? ''
  let bytes = 0
  while (true) {
    // With the row after a full page, which shows that there is another page.
    const limit = Math.min(budget.chunk, budget.entries - entries.length + 1)
    const rows = await read(last, limit)
    for (const row of rows) {
      const entry = entryOf(row)
      bytes += jsonBytes(entry)
      const isFull = entries.length === budget.entries || (entries.length > 0 && bytes > budget.bytes)
      if (isFull) return { entries, cursor: last }
      entries.push(entry)
      last = keyOf(row)
    }
    if (rows.length < limit) return { entries }
  }
}

/** The size of a value in a JSON list. Of the texts that are made for this, none is kept. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + ','.length
}
