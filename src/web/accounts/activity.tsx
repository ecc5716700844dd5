/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, EmptyState, Time } from '../../html/bits.tsx'
import { ButtonLink, type Option, QueryForm, Select, SubmitButton, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import { day } from '../../lib/time.ts'
import type { ActivityFilter } from '../../store/account/activity-list.ts'
import { Happened, Logged, seeing, whoDid } from './activity-rows.tsx'
import { reasonOf, titleOf } from './activity-words.ts'
import type { Pages, Visit } from '../visit.ts'

const pageSize = 50
/** The choice of `outcome` that means every error. */
const refused = 'refused'

/** The account's activity log. Spec: "Admin tools", rule 2. */
export function activityPages({ get }: Pages<Visit>): void {
  get('/activity', show)
}

async function show({ account, frame, path, query }: Visit) {
  const { activity, keys } = account.read
  const [found, tools, people, adminKeys] = await Promise.all([
    activity.list({ ...filterOf(query), limit: pageSize + 1 }),
    activity.tools(),
    activity.people(),
    keys.everAdminKey(),
  ])
  const now = account.deps.now()
  const rows = found.slice(0, pageSize)
  const see = await seeing(account, rows, path)
  const asked = (name: string) => query.get(name) ?? ''
  const isFiltered = filterNames.some((name) => asked(name) !== '')
  const place = (changes: Record<string, string>) => addressOf(path('activity'), query, changes)

  return appPage(
    frame('activity'),
    {
      title: 'Activity',
      lead: 'What people and programs did here, and what was refused. Nobody can edit it.',
    },
    <Card isFlush>
      <QueryForm action={path('activity')}>
        <Select
          name='who'
          label='Who'
          value={asked('who')}
          options={withAsked(asked('who'), [
            { value: '', title: 'Anybody' },
            ...people.map(({ id, name, email }) => ({ value: `user:${id}`, title: name || email })),
            ...adminKeys.map(({ id, name, last4 }) => ({ value: `key:${id}`, title: `Key ${name} …${last4}` })),
          ])}
        />
        <Select
          name='tool'
          label='What'
          value={asked('tool')}
          options={withAsked(asked('tool'), [
            { value: '', title: 'Anything' },
            ...tools.map((tool) => ({ value: tool, title: titleOf(tool) })),
          ])}
        />
        <Select
          name='outcome'
          label='Outcome'
          value={asked('outcome')}
          options={withAsked(asked('outcome'), [
            { value: '', title: 'Any' },
            { value: 'ok', title: 'Done' },
            { value: refused, title: 'Refused or failed' },
          ], reasonOf)}
        />
        <TextInput name='from' label='From (UTC)' type='date' value={asked('from')} />
        <TextInput name='to' label='To (UTC)' type='date' value={asked('to')} />
        <div class='row'>
          <SubmitButton kind='plain'>Filter</SubmitButton>
          {isFiltered && <ButtonLink href={path('activity')} kind='quiet'>Clear</ButtonLink>}
        </div>
      </QueryForm>
      {rows.length === 0
        ? (
          <EmptyState icon='activity' title={isFiltered ? 'Nothing matches' : 'Nothing happened yet'}>
            {isFiltered
              ? 'No call of this account is like that.'
              : 'What people and programs do in this account is listed here.'}
          </EmptyState>
        )
        : (
          <Table
            id='activity'
            caption='Activity, newest first'
            rows={rows}
            columns={[
              {
                title: 'What',
                cell: (row) => (
                  <>
                    <Happened row={row} see={see} />
                    <Logged row={row} />
                  </>
                ),
              },
              {
                title: 'Who',
                cell: (row) => {
                  const { who, by } = whoDid(row)
                  return (
                    <span class='roomy' title={row.userEmail ?? undefined}>
                      {who}
                      <span class='soft small'>{by}</span>
                    </span>
                  )
                },
              },
              { title: 'When', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
            ]}
          />
        )}
      {(rows.length > 0 || asked('before') !== '') && (
        <Pagination
          label='Pages of the log'
          titles={['Newest', 'Older']}
          where={rows.length > 0 && `Entries ${rows.at(-1)!.n} to ${rows[0].n}`}
          previous={asked('before') ? place({ before: '' }) : undefined}
          next={found.length > pageSize ? place({ before: String(rows.at(-1)!.n) }) : undefined}
        />
      )}
    </Card>,
  )
}

const filterNames = ['who', 'tool', 'outcome', 'from', 'to']

/** The options, and what an address asks for beside them. */
function withAsked(value: string, options: Option[], titleOf = (value: string) => value): Option[] {
  return options.some((option) => option.value === value) ? options : [...options, { value, title: titleOf(value) }]
}

/** What an address asks for. What makes no sense counts as not said. */
function filterOf(query: URLSearchParams): ActivityFilter {
  const asked = (name: string) => query.get(name) || undefined
  const [, kind, id] = asked('who')?.match(/^(user|key):(.+)$/) ?? []
  const outcome = asked('outcome')
  const to = dayOf(asked('to'))
  const before = Number(asked('before') ?? NaN)
  return {
    tool: asked('tool'),
    ...(outcome === refused ? { isRefused: true } : { outcome }),
    ...(kind === 'user' && { userId: id }),
    ...(kind === 'key' && { credentialId: id }),
    since: dayOf(asked('from')),
    until: to === undefined ? undefined : to + day,
    before: Number.isSafeInteger(before) ? before : undefined,
  }
}

/** The first millisecond of a day in UTC: `2026-11-21`. */
function dayOf(text: string | undefined): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(`${text}T00:00:00.000Z`) : NaN
  return Number.isNaN(at) ? undefined : at
}

/** The same page with some of its choices changed; the empty one goes. */
function addressOf(path: string, query: URLSearchParams, changes: Record<string, string>): string {
  const asked = [...filterNames, 'before'].map((
    name,
  ): [string, string] => [name, changes[name] ?? query.get(name) ?? ''])
  const search = new URLSearchParams(asked.filter(([, value]) => value !== '')).toString()
  return search === '' ? path : `${path}?${search}`
}
