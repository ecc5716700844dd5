/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { attachGuardrail, deleteGuardrail, updateGuardrail } from '../../grid/guardrails/guardrails.ts'
import type { ListedProvider } from '../../guardrails/providers.ts'
import { Badge, Card, Disclosure, Facts, LocalTime, Notice, Time } from '../../html/components.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { choosableAgents } from '../agents/agent-choice.tsx'
import { DeleteCard, PageForm } from '../forms.tsx'
import { listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { casePages, CasesCard, ExceptionsCard, loadCases } from './guardrail-cases.tsx'
import { actions, failures, GuardrailForm, providerOf, settingsOf, TargetFields, targetsOf } from './guardrail-form.tsx'
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
  get('/guardrails/:guardrail/attach', (visit) => ({ redirectTo: visit.path('guardrails', visit.param('guardrail')) }))
  post('/guardrails/:guardrail/attach', async (visit) => {
    const { id } = await guardrailOf(visit)
    const to = targetsOf(visit.form) ?? { direction: 'both', agents: [] }
    await visit.record('attach_guardrail', { id, ...to }, (account) => attachGuardrail(account, id, to))
    return visit.done('guardrail-attached', 'guardrails', id)
  }, showPage)
  post('/guardrails/:guardrail/delete', async (visit) => {
    const id = visit.param('guardrail')
    // Read the name before deleting the guardrail, so that it can be logged.
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
  const [agents, total, history, cases, choosable] = await Promise.all([
    account.read.guardrails.agentsOf(guardrail.id, pageSize, at.offset),
    account.read.guardrails.agentsOfTotal(guardrail.id),
    loadHistory(visit, guardrail.id),
    loadCases(visit, guardrail.id),
    choosableAgents(account),
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
      {guardrail.failingSince !== null && <Failing guardrail={guardrail} since={guardrail.failingSince} />}
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
          <Card
            title='Agents'
            lead={total === 0
              ? 'It is not attached to any agent, so it checks no messages.'
              : `Attached to ${pluralize(total, 'agent')}${guardrail.allAgents ? ', and to every new one' : ''}`}
            isFlush={total > 0}
          >
            {total > 0 && (
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
            )}
            {total > 0 && <PageLinks label='Pages of agents' at={at} total={total} />}
            {mayManage && (
              <Disclosure title='Attach' isOpen={total === 0}>
                <PageForm visit={visit} acts action={`${at.path}/attach`} fields={['agents']}>
                  <TargetFields choosable={choosable} form={visit.form} all={guardrail.allAgents} />
                  <SubmitRow>Attach</SubmitRow>
                </PageForm>
              </Disclosure>
            )}
          </Card>
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

/** Says since when and why the guardrail cannot check messages, and what happens to unchecked messages. */
function Failing({ guardrail, since }: { guardrail: GuardrailDetails; since: number }) {
  const { enabled, onFailure, failure } = guardrail
  return (
    <Notice kind='bad' title='It cannot check messages'>
      Every check since <LocalTime at={since} /> failed. {failure} {!enabled
        ? 'It is off.'
        : onFailure === 'open'
        ? 'Messages are delivered unchecked.'
        : 'Messages are not delivered.'}
    </Notice>
  )
}

const directions = { inbound: 'received', outbound: 'sent', both: 'both directions' } as const

/** The settings, read-only, for users who may not change them. */
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
