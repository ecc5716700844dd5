/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The history of decisions on held messages. Owners and admins see all decisions, others only their own. */
import { decisions } from '../../grid/approvals/held.ts'
import { downloadBody } from '../../answers/downloads.ts'
import { isolated, Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, LocalTime } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import { ButtonLink, QueryForm, SubmitButton } from '../../html/form.tsx'
import { Select } from '../../html/fields.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import { isoTime } from '../../lib/time.ts'
import type { Pages, Visit } from '../visit.ts'

const perPage = 50
const perPiece = 200
const states = ['approved', 'refused', 'expired'] as const
const badges = { approved: 'good', refused: 'bad', expired: 'warning' } as const

type DecisionRow = Awaited<ReturnType<typeof decisions>>[number]

export function decisionPages({ get }: Pages<Visit>): void {
  get('/held/decisions', list)
  get('/held/decisions/export', (visit) => {
    const filter = filterOf(visit.query)
    return new Response(downloadBody(visit.account, visit.connection, exported(visit, filter)), {
      headers: {
        'Content-Type': 'application/x-ndjson; charset=utf-8',
        'Content-Disposition': 'attachment; filename="decisions.jsonl"',
      },
    })
  })
}

/** Reads `?state=`, `?by=`, `?rule=`, and `?before=` with the time and id of the previous page's last row. */
function filterOf(query: URLSearchParams) {
  const [, at, id] = query.get('before')?.match(/^(\d{1,15})-(\S{1,64})$/) ?? []
  return {
    before: { at: at === undefined ? Number.MAX_SAFE_INTEGER : Number(at), id: id ?? '~' },
    state: states.find((state) => state === query.get('state')),
    decidedBy: query.get('by') || undefined,
    rule: query.get('rule') || undefined,
  }
}

async function list(visit: Visit) {
  const { account, query, path } = visit
  const [found, rules, members] = await Promise.all([
    decisions(account, { ...filterOf(query), limit: perPage + 1 }),
    account.read.approvalRules.list(),
    account.read.team.members(),
  ])
  const rows = found.slice(0, perPage)
  const kept = new URLSearchParams(
    [...query].filter(([name, value]) => ['state', 'by', 'rule'].includes(name) && value),
  )
  const link = (to: string, before?: string) => {
    const all = new URLSearchParams(kept)
    if (before !== undefined) all.set('before', before)
    return all.size === 0 ? to : `${to}?${all}`
  }
  const here = path('held', 'decisions')
  const last = rows.at(-1)
  return await appPage(
    visit.frame('attention'),
    {
      title: 'Decisions',
      lead: visit.may('manage')
        ? 'Decisions on held messages, newest first.'
        : 'Decisions on messages that you could decide on, newest first.',
      back: { title: 'Held messages', href: path('held') },
      actions: <ButtonLink href={link(`${here}/export`)}>Export</ButtonLink>,
    },
    <Card isFlush>
      <QueryForm action={here}>
        <Filter name='state' label='Outcome' visit={visit} options={states.map((state) => [state, state])} />
        <Filter
          name='by'
          label='Decided by'
          visit={visit}
          options={members.map(({ userId, name, email }) => [userId, name || email])}
        />
        <Filter name='rule' label='Rule' visit={visit} options={rules.map(({ id, name }) => [id, name])} />
        <SubmitButton kind='plain'>Show</SubmitButton>
      </QueryForm>
      {rows.length === 0
        ? <EmptyState icon='activity' title={kept.size === 0 ? 'No decisions yet' : 'No such decisions'} />
        : <DecisionTable visit={visit} rows={rows} />}
      {(query.has('before') || found.length > perPage) && (
        <Pagination
          label='Pages of decisions'
          where=''
          previous={query.has('before') ? link(here) : undefined}
          next={found.length > perPage && last ? link(here, `${last.decidedAt}-${last.id}`) : undefined}
          titles={['Newest', 'Older']}
        />
      )}
    </Card>,
  )
}

function Filter(
  { name, label, visit, options }: { name: string; label: string; visit: Visit; options: [string, string][] },
) {
  return (
    <Select
      name={name}
      label={label}
      options={[{ value: '', title: 'all' }, ...options.map(([value, title]) => ({ value, title: isolated(title) }))]}
      value={visit.query.get(name) ?? ''}
    />
  )
}

function DecisionTable({ visit, rows }: { visit: Visit; rows: DecisionRow[] }) {
  return (
    <Table
      id='decisions'
      caption='Decisions'
      rows={rows}
      columns={[
        {
          title: 'Message',
          cell: ({ id, fromAlias, via, recipient, body }) => (
            <>
              {body === null ? <Name text={`@${fromAlias} to ${recipient}`} /> : (
                <a href={visit.path('held', id)}>
                  <Name text={`@${fromAlias} to ${recipient}`} />
                </a>
              )} <Via via={via} />
            </>
          ),
        },
        {
          title: 'Outcome',
          cell: ({ state, edited, reason }) => (
            <>
              <Badge kind={badges[state as keyof typeof badges]}>{edited ? `${state}, edited` : state}</Badge>
              {reason !== null && (
                <div class='soft small'>
                  <Name text={reason} />
                </div>
              )}
            </>
          ),
        },
        { title: 'By', cell: ({ decider }) => decider === null ? '–' : <Name text={decider} /> },
        { title: 'Rule', cell: ({ rule }) => <Name text={rule.name} /> },
        { title: 'Decided', cell: ({ decidedAt }) => <LocalTime at={decidedAt!} /> },
      ]}
    />
  )
}

/** Exports one decision per line, as JSON. */
async function* exported(
  { account }: Visit,
  filter: ReturnType<typeof filterOf>,
): AsyncGenerator<Uint8Array> {
  for (let { before } = filter;;) {
    const rows = await decisions(account, { ...filter, before, limit: perPiece })
    yield new TextEncoder().encode(rows.map((row) => `${JSON.stringify(asLine(row))}\n`).join(''))
    const last = rows.at(-1)
    if (!last || rows.length < perPiece) return
    before = { at: last.decidedAt!, id: last.id }
  }
}

function asLine({ messageId, fromAlias, recipient, state, edited, reason, decider, rule, ...row }: DecisionRow) {
  return {
    message_id: messageId,
    ...{ from: `@${fromAlias}`, to: recipient, rule: rule.name, outcome: state, edited, reason, decided_by: decider },
    held_at: isoTime(row.heldAt),
    decided_at: isoTime(row.decidedAt!),
    text: row.body,
  }
}
