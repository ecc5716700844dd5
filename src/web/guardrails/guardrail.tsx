/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { deleteGuardrail, updateGuardrail } from '../../grid/guardrails/guardrails.ts'
import type { ListedProvider } from '../../guardrails/providers.ts'
import { Badge, Card, Facts, Time } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { DeleteCard } from '../forms.tsx'
import { listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { casePages, CasesCard, ExceptionsCard, loadCases } from './guardrail-cases.tsx'
import { actions, failures, GuardrailForm, providerOf, settingsOf } from './guardrail-form.tsx'
import { HistoryCard, loadHistory } from './guardrail-history.tsx'
import { type JsonSchema, labelOf } from './schema-form.tsx'
import { type TriedText, TryCard, tryPages } from './try-card.tsx'

type GuardrailDetails = NonNullable<Awaited<ReturnType<Visit['account']['read']['guardrails']['byId']>>>

export function oneGuardrailPages(pages: Pages<Visit>): void {
  const { get, post } = pages
  const showPage = (visit: Visit) => show(visit)
  casePages(pages, showPage)
  tryPages(pages, show)
  get('/guardrails/:guardrail', showPage)
  post('/guardrails/:guardrail', async (visit) => {
    const { id, provider } = await guardrailOf(visit)
    const settings = settingsOf(providerOf(provider), visit.form)
    await visit.record('update_guardrail', { id, ...settings }, (account) => updateGuardrail(account, id, settings))
    return visit.done('saved', 'guardrails', id)
  }, showPage)
  post('/guardrails/:guardrail/delete', async (visit) => {
    const id = visit.param('guardrail')
    // The log keeps the name, which cannot be looked up after the deletion.
    const name = (await visit.account.read.guardrails.byId(id))?.name
    await visit.record('delete_guardrail', { id, name }, (account) => deleteGuardrail(account, id))
    return visit.done('guardrail-deleted', 'guardrails')
  })
}

async function guardrailOf(visit: Visit): Promise<GuardrailDetails> {
  const guardrail = await visit.account.read.guardrails.byId(visit.param('guardrail'))
  if (!guardrail) throw new GridError('guardrail_not_found', 'This guardrail does not exist or was deleted.')
  return guardrail
}

async function show(visit: Visit, tried?: TriedText) {
  const guardrail = await guardrailOf(visit)
  const provider = providerOf(guardrail.provider)
  const { account } = visit
  const at = { ...listPosition(visit.query), search: '', path: visit.path('guardrails', guardrail.id) }
  const [agents, total, history, cases] = await Promise.all([
    account.read.guardrails.agentsOf(guardrail.id, pageSize, at.offset),
    account.read.guardrails.agentsOfTotal(guardrail.id),
    loadHistory(visit, guardrail.id),
    loadCases(visit, guardrail.id),
  ])
  const mayManage = visit.may('manage')
  return await appPage(
    visit.frame('guardrails'),
    {
      title: guardrail.name,
      lead: `${provider.name}. ${provider.description}`,
      back: { title: 'Guardrails', href: visit.path('guardrails') },
    },
    <>
      {(history.counts.length > 0 || cases.cases.length > 0) && <HistoryCard {...history} path={at.path} />}
      <CasesCard visit={visit} guardrailId={guardrail.id} isAttached={total > 0} {...cases} />
      <div class='grid halves'>
        <div class='stack'>
          {mayManage
            ? <GuardrailForm visit={visit} provider={provider} stored={guardrail} action={at.path} />
            : <Settings visit={visit} guardrail={guardrail} provider={provider} />}
        </div>
        <div class='stack'>
          {mayManage && <TryCard visit={visit} path={at.path} isRemote={provider.kind === 'remote'} tried={tried} />}
          <ExceptionsCard visit={visit} guardrailId={guardrail.id} exceptions={cases.exceptions} />
          {total === 0 && cases.cases.length > 0 && (
            <Card title='Agents'>
              <p class='soft'>It is not attached to any agent, so it checks no messages.</p>
            </Card>
          )}
          {total > 0 && (
            <Card title='Agents' lead={`Attached to ${pluralize(total, 'agent')}`} isFlush>
              <Table
                id='agents'
                caption={`Agents that ${guardrail.name} is attached to`}
                rows={agents}
                columns={[
                  {
                    title: 'Agent',
                    cell: ({ alias }) => <AgentName alias={alias} href={visit.path('agents', alias)} />,
                  },
                  { title: 'Messages', cell: ({ direction }) => directions[direction] },
                  {
                    title: 'Action',
                    cell: ({ action }) => action ?? <span class='soft'>{guardrail.action}</span>,
                  },
                ]}
              />
              <PageLinks label='Pages of agents' at={at} total={total} />
            </Card>
          )}
          {mayManage && (
            <DeleteCard
              noun='guardrail'
              lead='Its token is deleted too.'
              action={visit.path('guardrails', guardrail.id, 'delete')}
              question={
                <>
                  Delete <strong>{guardrail.name}</strong>? {total === 0
                    ? 'It is not attached to any agent.'
                    : `It will be detached from ${pluralize(total, 'agent')}.`} This cannot be undone.
                </>
              }
            />
          )}
        </div>
      </div>
    </>,
  )
}

const directions = { inbound: 'received', outbound: 'sent', both: 'both directions' } as const

/** The settings, for users who may not change them. */
function Settings(
  { visit, guardrail, provider }: { visit: Visit; guardrail: GuardrailDetails; provider: ListedProvider },
) {
  const config = guardrail.config as Record<string, unknown>
  const properties = (provider.configSchema as JsonSchema).properties ?? {}
  return (
    <Card title='Configuration'>
      <Facts
        items={[
          [
            'State',
            <Badge kind={guardrail.enabled ? 'info' : 'plain'} hasDot>{guardrail.enabled ? 'on' : 'off'}</Badge>,
          ],
          ...Object.entries(config).map(([name, value]): [string, string] => [
            labelOf(name),
            inWords(value, properties[name]),
          ]),
          ['When it finds a match', titleOf(actions, guardrail.action)],
          ['When the provider fails', titleOf(failures, guardrail.onFailure)],
          ['Token', !provider.needsToken ? 'none needed' : guardrail.hasToken ? 'stored' : 'missing'],
          ['Created', <Time at={guardrail.createdAt} now={visit.account.deps.now()} />],
        ]}
      />
      <ManagersOnlyNote visit={visit} what='change guardrails' />
    </Card>
  )
}

function titleOf(options: readonly { value: string; title: string }[], value: string): string {
  return options.find((option) => option.value === value)?.title ?? value
}

function inWords(value: unknown, schema?: JsonSchema): string {
  if (Array.isArray(value)) {
    return value.length === 0 ? 'none' : value.map((item) => inWords(item, schema?.items)).join(', ')
  }
  if (schema?.enum) return labelOf(String(value))
  return String(value)
}
