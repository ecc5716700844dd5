/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { isolated } from '../../html/bidi.tsx'
import { Card, Disclosure, EmptyState, LocalTime } from '../../html/components.tsx'
import { Checkbox, type FieldOption, Select, TextInput } from '../../html/fields.tsx'
import { ButtonLink, QueryForm, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import { instantOf, nextDayAt } from '../../lib/time.ts'
import type { ActivityFilter, LoggedProgram } from '../../store/account/activity.ts'
import type { Pages, Visit } from '../visit.ts'
import { activityFile } from './activity-export.ts'
import { ActivitySentence, actorOf, CallDetails, ChangedValues, loadNames } from './activity-rows.tsx'
import { reasonOf, titleOf } from './activity-sentences.ts'

const pageSize = 50
/** Value of the `outcome` filter that selects all failed calls. */
const anyFailure = 'refused'

/** The account's activity log. See docs/protocol/mcp.md, "Activity log". */
export function activityPages({ get }: Pages<Visit>): void {
  get('/activity', show)
  get(
    '/activity/export',
    ({ account, connection, query, timeZone }) =>
      activityFile(account, connection, filterOf(query, timeZone), query.get('as')),
  )
}

async function show(visit: Visit) {
  const { account, frame, path, query, timeZone } = visit
  const { activity, keys } = account.read
  const [found, tools, people, programs, adminKeys] = await Promise.all([
    activity.list({ ...filterOf(query, timeZone), limit: pageSize + 1 }),
    activity.tools(),
    activity.users(),
    activity.programs(),
    keys.allAdminKeys(),
  ])
  const rows = found.slice(0, pageSize)
  const names = await loadNames(visit, rows)
  const current = (name: string) => query.get(name) ?? ''
  const isFiltered = filterNames.some((name) => current(name) !== '')
  const href = (changes: Record<string, string>) => filterHref(path('activity'), query, changes)

  return appPage(
    frame('activity'),
    {
      title: 'Activity',
      lead: 'What users and programs changed in this account, including failed calls. The log cannot be edited.',
      actions: (
        <>
          <ButtonLink href={filterHref(path('activity', 'export'), query, { as: 'csv', before: '' })}>CSV</ButtonLink>
          <ButtonLink href={filterHref(path('activity', 'export'), query, { as: 'jsonl', before: '' })}>
            JSON lines
          </ButtonLink>
        </>
      ),
    },
    <Card isFlush>
      <Disclosure isNarrow title='Filter' isOpen={isFiltered}>
        <QueryForm action={path('activity')}>
          <Select
            name='who'
            label='Who'
            value={current('who')}
            options={withCurrent(current('who'), [
              { value: '', title: 'Anyone' },
              ...people.map(({ id, name, email }) => ({ value: `user:${id}`, title: isolated(name || email) })),
              ...programs.map((program) => ({ value: `key:${program.id}`, title: programTitle(program) })),
              ...adminKeys.map(({ id, name, last4 }) => ({
                value: `key:${id}`,
                title: `Key ${isolated(name)} …${last4}`,
              })),
            ])}
          />
          <Select
            name='tool'
            label='What'
            value={current('tool')}
            options={withCurrent(current('tool'), [
              { value: '', title: 'Anything' },
              ...tools.map((tool) => ({ value: tool, title: titleOf(tool, visit.features) })),
            ])}
          />
          <Select
            name='outcome'
            label='Outcome'
            value={current('outcome')}
            options={withCurrent(current('outcome'), [
              { value: '', title: 'Any' },
              { value: 'ok', title: 'Done' },
              { value: anyFailure, title: 'Failed' },
            ], reasonOf)}
          />
          <TextInput name='from' label='From' type='date' value={current('from')} />
          <TextInput name='to' label='To' type='date' value={current('to')} />
          <Checkbox name='readings' label='Include readings' isChecked={current('readings') !== ''} />
          <div class='row'>
            <SubmitButton kind='plain'>Filter</SubmitButton>
            {isFiltered && <ButtonLink href={path('activity')} kind='quiet'>Clear</ButtonLink>}
          </div>
        </QueryForm>
      </Disclosure>
      {rows.length === 0
        ? (
          <EmptyState icon='activity' title={isFiltered ? 'No matching activity' : 'No activity yet'}>
            {isFiltered
              ? 'No activity of this account matches the filter.'
              : 'What users and programs do in this account is listed here.'}
          </EmptyState>
        )
        : (
          <Table
            id='activity'
            caption='Activity, newest first'
            isDense
            rows={rows}
            columns={[
              {
                title: 'What',
                cell: (row) => (
                  <div class='call'>
                    <ActivitySentence row={row} names={names} />
                    <ChangedValues row={row} />
                    <CallDetails row={row} />
                  </div>
                ),
              },
              {
                title: 'Who',
                width: 'wide',
                cell: (row) => {
                  const { name, credential } = actorOf(row)
                  return (
                    <span title={row.userEmail ?? undefined}>
                      {name} <span class='soft'>{credential}</span>
                    </span>
                  )
                },
              },
              { title: 'When', width: 'time', cell: ({ createdAt }) => <LocalTime at={createdAt} /> },
            ]}
          />
        )}
      {(rows.length > 0 || current('before') !== '') && (
        <Pagination
          label='Pages of the log'
          titles={['Newest', 'Older']}
          where={rows.length > 0 && `Entries ${rows.at(-1)!.n} to ${rows[0].n}`}
          previous={current('before') ? href({ before: '' }) : undefined}
          next={found.length > pageSize ? href({ before: String(rows.at(-1)!.n) }) : undefined}
        />
      )}
    </Card>,
  )
}

const filterNames = ['who', 'tool', 'outcome', 'from', 'to', 'readings']

/** Names a program, its agent and the authorization date, because one program can have several authorizations. */
function programTitle({ clientName, agentAlias, createdAt }: LoggedProgram): string {
  const since = new Date(createdAt).toISOString().slice(0, 10)
  return `${isolated(clientName)} as @${agentAlias ?? 'admin'}, ${since}`
}

/** Returns the options, with the current value added if it is missing. */
function withCurrent(value: string, options: FieldOption[], titleOf = (value: string) => value): FieldOption[] {
  return options.some((option) => option.value === value) ? options : [...options, { value, title: titleOf(value) }]
}

/** Reads the filter from a query. Ignores invalid values. */
function filterOf(query: URLSearchParams, zone: string): ActivityFilter {
  const filter = (name: string) => query.get(name) || undefined
  const [, kind, id] = filter('who')?.match(/^(user|key):(.+)$/) ?? []
  const outcome = filter('outcome')
  const to = startOfDay(filter('to'), zone)
  const before = Number(filter('before') ?? NaN)
  return {
    tool: filter('tool'),
    ...(outcome === anyFailure ? { isRefused: true } : { outcome }),
    ...(kind === 'user' && { userId: id }),
    ...(kind === 'key' && { credentialId: id }),
    since: startOfDay(filter('from'), zone),
    until: to === undefined ? undefined : nextDayAt(zone, to, 0),
    // If the filter selects one kind of call, or all failures, the list also includes calls that change nothing.
    isChange: filter('readings') === undefined && filter('tool') === undefined && outcome !== anyFailure,
    before: Number.isSafeInteger(before) ? before : undefined,
  }
}

/** Returns the first millisecond of a day, such as `2026-11-21`, in a time zone. */
function startOfDay(text: string | undefined, zone: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(`${text}T00:00:00.000Z`) : NaN
  return Number.isNaN(at) ? undefined : instantOf(zone, at)
}

/** Returns the page's URL with some parameters changed. Empty parameters are omitted. */
function filterHref(path: string, query: URLSearchParams, changes: Record<string, string>): string {
  const parameters = [...filterNames, 'before', 'as'].map((
    name,
  ): [string, string] => [name, changes[name] ?? (name === 'as' ? '' : query.get(name)) ?? ''])
  const search = new URLSearchParams(parameters.filter(([, value]) => value !== '')).toString()
  return search === '' ? path : `${path}?${search}`
}
