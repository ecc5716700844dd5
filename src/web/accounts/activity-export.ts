/** Exports the activity log as a file: CSV for spreadsheets, JSON Lines for programs. */
import { downloadBody } from '../../answers/downloads.ts'
import type { CallerConnection } from '../../lib/http/caller-connection.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ActivityFilter, ListedActivity } from '../../store/account/activity.ts'

const perPiece = 200

/** The CSV columns. */
const columns: Record<string, (row: ListedActivity) => string | number | null> = {
  n: (row) => row.n,
  at: (row) => isoTime(row.createdAt),
  what: (row) => row.tool,
  outcome: (row) => row.outcome,
  actor: (row) => row.actorType,
  user: (row) => row.userEmail,
  agent: (row) => row.agentAlias,
  credential: (row) => row.clientName ?? row.keyName,
  request_id: (row) => row.requestId,
  arguments: (row) => row.arguments,
}

const formats = {
  csv: {
    mediaType: 'text/csv',
    head: `${Object.keys(columns).join(',')}\r\n`,
    line: (row: ListedActivity) => `${Object.values(columns).map((of) => cell(of(row))).join(',')}\r\n`,
  },
  jsonl: {
    mediaType: 'application/x-ndjson',
    head: '',
    line: (row: ListedActivity) =>
      `${JSON.stringify(Object.fromEntries(Object.entries(columns).map(([name, of]) => [name, of(row)])))}\n`,
  },
}

/** Exports the activity rows that match a filter, newest first: as CSV if `as` is `csv`, otherwise as JSON Lines. */
export function activityFile(
  account: AccountStore,
  connection: CallerConnection,
  filter: ActivityFilter,
  as: string | null,
): Response {
  const name = as === 'csv' ? 'csv' : 'jsonl'
  return new Response(downloadBody(account, connection, pieces(account, filter, formats[name])), {
    headers: {
      'Content-Type': `${formats[name].mediaType}; charset=utf-8`,
      'Content-Disposition': `attachment; filename="activity.${name}"`,
    },
  })
}

async function* pieces(
  { read: { activity } }: AccountStore,
  filter: ActivityFilter,
  { head, line }: { head: string; line(row: ListedActivity): string },
): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(head)
  for (let { before } = filter;;) {
    const rows = await activity.list({ ...filter, before, limit: perPiece })
    if (rows.length > 0) yield new TextEncoder().encode(rows.map(line).join(''))
    if (rows.length < perPiece) return
    before = rows.at(-1)!.n
  }
}

/** Quotes a CSV cell. Prefixes text that a spreadsheet would execute as a formula. @see RFC 4180 */
function cell(value: string | number | null): string {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
