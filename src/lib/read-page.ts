/** Reads lists in pages, so that no response exceeds its budget. See docs/protocol/mcp.md. */
import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'

/** A list ordered by a unique key. */
export interface PageSource<Row, Entry> {
  /** Reads up to `limit` rows with keys after the given one, in key order. All keys come after the empty text. */
  read(after: string, limit: number): Promise<Row[]>
  keyOf(row: Row): string
  /** Returns a row's entry. Undefined for a row that the list omits. */
  entryOf(row: Row): Entry | undefined
}

/** A page's maximum size, and how many rows one read fetches. */
export interface PageBudget {
  entries: number
  /** Maximum size of the JSON text in UTF-8. A page contains at least one entry, of any size. */
  bytes: number
  chunk: number
  /** Maximum number of rows read for one page, for lists that may omit many rows. A page may then be empty. */
  rows?: number
}

/** Maximum number of rows per read. A larger read would block other reads, which run between two chunks. */
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
    // Read one row more than fits the page, to find out whether there is another page.
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

/** Returns the size of a value in a JSON list. The text created for this is discarded. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + ','.length
}
