/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { listedProviders } from '../../guardrails/providers.ts'
import { Badge, Card } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { day } from '../../lib/time.ts'
import { listPage, listPosition, ManagersOnlyNote, pageSize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { newGuardrailPages } from './guardrail-form.tsx'
import { type Sums, sumsOf, verdictActions } from './guardrail-history.tsx'
import { oneGuardrailPages } from './guardrail.tsx'

/** Registers the list of guardrails, the choice of a provider, the form for a new one, and each guardrail's page. */
export function guardrailPages(pages: Pages<Visit>): void {
  pages.get('/guardrails', list)
  pages.get('/guardrails/new', choose)
  newGuardrailPages(pages)
  oneGuardrailPages(pages)
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...listPosition(query), path: visit.path('guardrails') }
  const [guardrails, total, counts] = await Promise.all([
    account.read.guardrails.search(at.search, pageSize, at.offset),
    account.read.guardrails.searchTotal(at.search),
    account.read.verdicts.countsByGuardrail(account.deps.now() - 7 * day),
  ])
  const sums = (id: string) => sumsOf(counts.filter(({ guardrailId }) => guardrailId === id))
  return listPage(visit, {
    section: 'guardrails',
    noun: 'guardrail',
    lead: (
      <>
        Checks for the messages that agents send and receive. Each has a provider and its settings, and is attached to
        agents. <a href={visit.path('approval-rules')}>Approval rules</a> say which messages wait for a person.
      </>
    ),
    empty: (
      <>
        Choose what to check for, such as personal data or prompt injection, and what to do with a match.{' '}
        {!visit.may('manage') && 'Owners and admins of the account can create one.'}
      </>
    ),
    at,
    total,
    isFound: guardrails.length > 0,
    searched: 'name or provider',
    table: (
      <Table
        id='guardrails'
        caption='Guardrails'
        rows={guardrails}
        columns={[
          {
            title: 'Guardrail',
            cell: ({ id, name }) => <a href={visit.path('guardrails', id)} dir='auto'>{name}</a>,
          },
          {
            title: 'Provider',
            cell: ({ provider }) => listedProviders.find(({ id }) => id === provider)?.name ?? provider,
          },
          { title: 'Action', cell: ({ action }) => action },
          {
            title: 'State',
            cell: ({ enabled }) => <Badge kind={enabled ? 'info' : 'plain'} hasDot>{enabled ? 'on' : 'off'}</Badge>,
          },
          { title: 'Last 7 days', cell: ({ id }) => <Counted sums={sums(id)} /> },
          { title: 'Agents', align: 'number', cell: ({ agentCount }) => agentCount.toLocaleString('en') },
        ]}
      />
    ),
  })
}

/** A guardrail's actions with their counts. */
function Counted({ sums }: { sums: Sums }) {
  const done = verdictActions.filter((action) => sums[action] > 0)
  if (done.length === 0) return <span class='soft'>nothing</span>
  return <>{done.map((action) => `${sums[action].toLocaleString('en')} ${action}`).join(', ')}</>
}

function choose(visit: Visit) {
  const kinds = [
    { kind: 'local', title: 'On this grid', lead: 'Messages do not leave the grid.' },
    { kind: 'remote', title: 'External services', lead: 'The service receives the messages that it checks.' },
  ] as const
  return appPage(
    visit.frame('guardrails'),
    {
      title: 'New guardrail',
      lead: 'Choose the provider that checks the messages.',
      back: { title: 'Guardrails', href: visit.path('guardrails') },
    },
    visit.may('manage')
      ? kinds.map(({ kind, title, lead }) => (
        <Card title={title} lead={lead} isFlush>
          <Table
            id={kind}
            caption={`Providers, ${title.toLowerCase()}`}
            rows={listedProviders.filter((provider) => provider.kind === kind)}
            columns={[
              {
                title: 'Provider',
                cell: ({ id, name, description }) => (
                  <div>
                    <a href={visit.path('guardrails', 'new', id)}>{name}</a>
                    <div class='soft small'>{description}</div>
                  </div>
                ),
              },
              {
                title: 'Token',
                isUntitled: true,
                cell: ({ needsToken }) => needsToken && <span class='soft small'>needs a token</span>,
              },
            ]}
          />
        </Card>
      ))
      : (
        <Card>
          <ManagersOnlyNote visit={visit} what='create guardrails' />
        </Card>
      ),
  )
}
