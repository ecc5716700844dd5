/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The webhooks of the account, on one page. See docs/protocol/webhooks.md. */
import { Name } from '../../html/bidi.tsx'
import { Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ChoiceList, TextInput } from '../../html/fields.tsx'
import { SubmitButton, SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { ConfirmDelete, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { PageForm } from '../../web/forms.tsx'
import { ManagersOnlyNote, pluralize } from '../../web/listing.tsx'
import { settingsPath } from '../../web/settings.tsx'
import type { AccountPages, FeatureWords, Phrases, Visit } from '../../web/visit.ts'
import type { FailingWebhook } from './store.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type Webhook,
  webhookEvents,
} from './webhooks.ts'

const lead = 'Servers that this grid notifies of events in the account. Each request is signed.'

const titles = {
  message: 'messages that are delivered',
  task: 'tasks that begin or change their state',
  held: 'messages that wait for a decision',
  attention: 'what needs a person (Attention)',
  backup: 'failed backups of the grid',
} as const

export const phrases: Phrases = {
  create_webhook: ['Create', 'Created', 'a webhook'],
  test_webhook: ['Test', 'Tested', 'a webhook'],
  rotate_webhook: ['Rotate', 'Rotated', 'the secret of a webhook'],
  pause_webhook: ['Pause', 'Paused', 'a webhook'],
  resume_webhook: ['Resume', 'Resumed', 'a webhook'],
  delete_webhook: ['Delete', 'Deleted', 'a webhook'],
}

/** Why a server gave no answer, by the reason that is stored. */
const failures: Record<string, string> = {
  refused: 'Its address is not allowed.',
  not_connected: 'It could not be reached.',
  timeout: 'It did not answer in time.',
  redirected: 'It redirected, which is not followed.',
  too_large: 'Its answer was too large.',
  invalid_response: 'Its answer was not complete.',
}

/** A failing webhook in Attention. */
export const failingWords: FeatureWords<FailingWebhook> = {
  inWords: ({ url, pausedAt, failingSince, error }, now) => ({
    icon: 'warning',
    tone: pausedAt === null ? 'bad' : 'warning',
    what: pausedAt === null
      ? <>A webhook has been failing for {durationInWords(now - failingSince!)}</>
      : 'A webhook was paused, because its server failed',
    facts: [<Name text={new URL(url).host} />, error],
  }),
  many: (n) => `${n} webhooks fail or are paused`,
  href: ({ may, path }) => may('manage') ? path('webhooks') : undefined,
}

/** The line in the card of admin access. */
export function webhooksLink(visit: Visit) {
  return (
    <p>
      <a href={visit.path('webhooks')}>Webhooks</a> send the events of this account to servers.
    </p>
  )
}

export function webhookPages({ get, post }: AccountPages): void {
  get('/webhooks', async (visit) => {
    const shown = await visit.takeShown<{ secret: string }>()
    return await show(visit, shown === 'shown' ? undefined : shown?.secret)
  })
  post('/webhooks', async (visit) => {
    const input = { url: visit.form.get('url') ?? '', events: visit.form.getAll('events') }
    const { secret } = await visit.record('create_webhook', input, (account) => createWebhook(account, input))
    return await visit.showOnce(visit.path('webhooks'), { secret })
  }, (visit) => show(visit))
  post('/webhooks/:webhook/rotate', async (visit) => {
    const id = visit.param('webhook')
    const { secret } = await visit.record('rotate_webhook', { id }, (account) => rotateWebhook(account, id))
    return await visit.showOnce(visit.path('webhooks'), { secret })
  })
  const actions = { test: testWebhook, pause: pauseWebhook, resume: resumeWebhook, delete: deleteWebhook }
  for (const [name, act] of Object.entries(actions)) {
    post(`/webhooks/:webhook/${name}`, async (visit) => {
      const id = visit.param('webhook')
      await visit.record(`${name}_webhook`, { id }, (account) => act(account, id))
      return { redirectTo: visit.path('webhooks') }
    })
  }
}

async function show(visit: Visit, secret?: string) {
  const page = { title: 'Webhooks', lead, back: { title: 'Settings', href: settingsPath(visit, 'account') } }
  if (!visit.may('manage')) {
    return appPage(
      visit.frame('settings'),
      page,
      <Card>
        <ManagersOnlyNote visit={visit} what='manage webhooks' />
      </Card>,
    )
  }
  const webhooks = await listWebhooks(visit.account)
  const now = visit.account.deps.now()
  return appPage(
    visit.frame('settings'),
    page,
    <>
      {secret && <SecretDialog title='Secret of the webhook' label='Signing secret' secret={secret} />}
      <Card title='New webhook'>
        <PageForm visit={visit} acts action={visit.path('webhooks')} fields={['url', 'events']}>
          <TextInput name='url' label='URL' maxLength={2000} isRequired />
          <ChoiceList
            name='events'
            label='Events'
            options={webhookEvents.map((value) => ({ value, title: titles[value] }))}
            values={[...webhookEvents]}
            isMultiple
          />
          <SubmitRow>Create webhook</SubmitRow>
        </PageForm>
      </Card>
      {webhooks.length === 0 && (
        <EmptyState icon='key' title='No webhooks'>
          No server is notified of events.
        </EmptyState>
      )}
      {webhooks.map((webhook) => <WebhookCard visit={visit} webhook={webhook} now={now} />)}
    </>,
  )
}

function WebhookCard({ visit, webhook, now }: { visit: Visit; webhook: Webhook; now: number }) {
  const { id, url, events, waiting, pausedAt, error, answers } = webhook
  const actions = [['test', 'Send a test event'], pausedAt === null ? ['pause', 'Pause'] : ['resume', 'Resume'], [
    'rotate',
    'Rotate secret',
  ]]
  const facts = [
    pausedAt === null ? 'On' : 'Paused',
    events.join(', '),
    ...(waiting > 0 ? [`${pluralize(waiting, 'event')} waiting`] : []),
    ...(error === null ? [] : [error]),
  ]
  return (
    <Card title={url} lead={facts.join(' · ')}>
      {pausedAt !== null && (
        <Notice kind='warning'>
          Paused since{' '}
          <Time at={pausedAt} now={now} />. Events since then are not recorded and will not be sent. Those that were
          waiting before are sent, in order, when it is resumed.
        </Notice>
      )}
      <div class='row'>
        {actions.map(([name, label]) => (
          <PageForm visit={visit} acts action={visit.path('webhooks', id, name)}>
            <SubmitButton kind='plain'>{label}</SubmitButton>
          </PageForm>
        ))}
        <ConfirmDelete
          action={visit.path('webhooks', id, 'delete')}
          question='Delete this webhook and what waits for it?'
        />
      </div>
      {answers.length > 0 && (
        <Table
          id={`answers-${id}`}
          caption={`Last attempts of ${url}`}
          rows={answers}
          columns={[
            { title: 'At', cell: ({ at }) => <Time at={at} now={now} /> },
            { title: 'Event', cell: ({ type }) => type },
            { title: 'Status', cell: ({ status }) => status ?? 'no answer' },
            { title: 'Time', cell: ({ ms }) => `${ms} ms` },
            {
              title: 'Answer',
              cell: ({ status, text }) => <span dir='auto'>{status === null ? failures[text] ?? text : text}</span>,
            },
          ]}
        />
      )}
    </Card>
  )
}
