/** Lists returned in pages, so that no response exceeds its budget. See docs/protocol/mcp.md. */
import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'

/** A list ordered by a unique key. */
export interface PageSource<Row, Entry> {
  /** Returns up to `limit` rows whose keys come after a key, in key order. All keys come after the empty text. */
  read(after: string, limit: number): Promise<Row[]>
  keyOf(row: Row): string
  /** Returns what the response shows of a row. Undefined for a row that the list omits. */
  entryOf(row: Row): Entry | undefined
}

/** Maximum size of a page, and how many rows to read at once to fill it. */
export interface PageBudget {
  entries: number
  /** Maximum size of the JSON text, in UTF-8. A page always has at least one entry, however large it is. */
  bytes: number
  chunk: number
  /** Maximum number of rows to read for one page, if the list may omit many. Such a page may have no entries. */
  rows?: number
}

/** Reading more rows at once would block other work. Between two chunks, the event loop gets a turn. */
const maxChunk = 100

export interface Page<Entry> {
  entries: Entry[]
  cursor?: string
}

export async function readPage<Row, Entry>(
  { read, keyOf, entryOf }: PageSource<Row, Entry>,
  cursor: string | undefined,
  budget: PageBudget,
): Promise<Page<Entry>> {
  const entries: Entry[] = []
  let last = cursor ?? ''
  let bytes = 0
  let { chunk, rows: left = Infinity } = budget
  while (true) {
    // Includes the row after a full page, which shows that there is another page.
    const limit = Math.min(chunk, left, budget.entries - entries.length + 1)
    const rows = await read(last, limit)
    const before = entries.length
    for (const row of rows) {
      const entry = entryOf(row)
      if (entry !== undefined) {
        bytes += jsonBytes(entry)
        const isFull = entries.length === budget.entries || (entries.length > 0 && bytes > budget.bytes)
        if (isFull) return { entries, cursor: last }
        entries.push(entry)
      }
      last = keyOf(row)
    }
    if (rows.length < limit) return { entries }
    left -= rows.length
    if (left === 0) return { entries, cursor: last }
    if (entries.length - before < rows.length / 4) chunk = Math.max(chunk, Math.min(2 * chunk, maxChunk))
    await setImmediate()
  }
}

/** Returns a value's size in a JSON list, without keeping its text. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + ','.length
}
