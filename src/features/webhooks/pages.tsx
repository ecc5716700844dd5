/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The account's webhooks, on a page of its settings. See docs/protocol/webhooks.md. */
import { Name } from '../../html/bidi.tsx'
import { Badge, type BadgeKind, Card, Disclosure, Facts, Notice, Time } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ChoiceList, TextInput } from '../../html/fields.tsx'
import { SubmitButton, SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { showSubject } from '../../web/accounts/settings-account.tsx'
import { PageForm } from '../../web/forms.tsx'
import { pluralize } from '../../web/listing.tsx'
import { settingsPath } from '../../web/settings.tsx'
import type { AccountPages, AccountSubject, FeatureWords, PageDeps, Phrases, Visit } from '../../web/visit.ts'
import { isTaken } from './send-event.ts'
import type { FailingWebhook, WebhookAnswer } from './store.ts'
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

const lead = 'The grid sends the events of this account to your server. Each request is signed.'

const titles = {
  message: 'Delivered messages',
  task: 'Changes of tasks',
  held: 'Messages that wait for a decision',
  attention: 'New rows of Attention',
  backup: 'Failed backups of the grid',
} as const

export const phrases: Phrases = {
  create_webhook: ['Create', 'Created', 'a webhook'],
  test_webhook: ['Test', 'Tested', 'a webhook'],
  rotate_webhook: ['Rotate', 'Rotated', 'the secret of a webhook'],
  pause_webhook: ['Pause', 'Paused', 'a webhook'],
  resume_webhook: ['Resume', 'Resumed', 'a webhook'],
  delete_webhook: ['Delete', 'Deleted', 'a webhook'],
}

/** How Attention describes a failing webhook. */
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
  href: (visit) => visit.may('manage') ? settingsPath(visit, 'account', 'webhooks') : undefined,
}

export const webhooksSubject: AccountSubject & { after: string } = {
  after: 'keys',
  path: 'webhooks',
  title: 'Webhooks',
  words: 'events servers notify',
  may: 'manage',
  async state({ account }) {
    const webhooks = await listWebhooks(account)
    const failing = webhooks.filter(isFailing).length
    const text = [
      webhooks.length === 0 ? 'No webhooks' : pluralize(webhooks.length, 'webhook'),
      failing > 0 && `${failing} failing`,
    ]
    return {
      text: text.filter(Boolean).join(', '),
      isBad: failing > 0,
      link: webhooks.length === 0 ? 'Set up' : 'Open',
    }
  },
  page: (visit) => webhooksPage(visit),
}

/** The page's forms. */
export function webhookActions({ post }: AccountPages, deps: PageDeps): void {
  const page = (visit: Visit) => settingsPath(visit, 'account', 'webhooks')
  const show = (visit: Visit) => showSubject(visit, deps, webhooksSubject)
  post('/settings/account/webhooks', async (visit) => {
    const input = { url: visit.form.get('url') ?? '', events: visit.form.getAll('events') }
    const { secret } = await visit.record('create_webhook', input, (account) => createWebhook(account, input))
    return await visit.showOnce(page(visit), { secret })
  }, show)
  post('/settings/account/webhooks/:webhook/rotate', async (visit) => {
    const id = visit.param('webhook')
    const { secret } = await visit.record('rotate_webhook', { id }, (account) => rotateWebhook(account, id))
    return await visit.showOnce(page(visit), { secret })
  })
  post('/settings/account/webhooks/:webhook/test', async (visit) => {
    const id = visit.param('webhook')
    await visit.record('test_webhook', { id }, (account) => testWebhook(account, id))
    return { redirectTo: `${page(visit)}?${new URLSearchParams({ tested: id })}#webhook-${id}` }
  })
  const actions = { pause: pauseWebhook, resume: resumeWebhook, delete: deleteWebhook }
  for (const [name, act] of Object.entries(actions)) {
    post(`/settings/account/webhooks/:webhook/${name}`, async (visit) => {
      const id = visit.param('webhook')
      await visit.record(`${name}_webhook`, { id }, (account) => act(account, id))
      return { redirectTo: page(visit) }
    })
  }
}

/** Shows failing webhooks first and the form for a new webhook last. */
async function webhooksPage(visit: Visit) {
  const [webhooks, shown] = await Promise.all([
    listWebhooks(visit.account),
    visit.takeShown<{ secret: string }>(),
  ])
  const now = visit.account.deps.now()
  const form = <NewWebhook visit={visit} />
  return (
    <>
      {shown !== undefined && shown !== 'shown' && (
        <SecretDialog title='Secret of the webhook' label='Signing secret' secret={shown.secret} />
      )}
      {webhooks.toSorted((a, b) => Number(isFailing(b)) - Number(isFailing(a))).map((webhook) => (
        <WebhookCard visit={visit} webhook={webhook} now={now} />
      ))}
      {webhooks.length === 0 ? <Card title='New webhook' lead={lead}>{form}</Card> : (
        <Card>
          <Disclosure title='New webhook' isOpen={visit.inputError !== undefined}>
            <p class='soft'>{lead}</p>
            {form}
          </Disclosure>
        </Card>
      )}
    </>
  )
}

function NewWebhook({ visit }: { visit: Visit }) {
  return (
    <PageForm visit={visit} acts action={settingsPath(visit, 'account', 'webhooks')} fields={['url', 'events']}>
      <TextInput name='url' label='URL' maxLength={2000} isRequired isMono />
      <ChoiceList
        name='events'
        label='Events'
        options={webhookEvents.map((value) => ({ value, title: titles[value] }))}
        values={[...webhookEvents]}
        isMultiple
      />
      <SubmitRow>Create webhook</SubmitRow>
    </PageForm>
  )
}

function isFailing({ failingSince, error }: Webhook): boolean {
  return failingSince !== null || error !== null
}

function WebhookCard({ visit, webhook, now }: { visit: Visit; webhook: Webhook; now: number }) {
  const { id, url, events, waiting, pausedAt, answers } = webhook
  const action = (name: string) => settingsPath(visit, 'account', 'webhooks', id, name)
  const actions = [
    ['test', 'Send a test event'],
    pausedAt === null ? ['pause', 'Pause'] : ['resume', 'Resume'],
    ['rotate', 'Rotate secret'],
  ]
  const test = visit.query.get('tested') === id && answers.find(({ type }) => type === 'test')
  const [kind, state] = pausedAt !== null
    ? ['warning', 'Paused']
    : isFailing(webhook)
    ? ['bad', 'Failing']
    : ['good', 'On']
  return (
    <Card
      id={`webhook-${id}`}
      title={url}
      actions={<Badge kind={kind as BadgeKind} hasDot>{state}</Badge>}
    >
      {test && <TestResult answer={test} now={now} />}
      <WebhookState webhook={webhook} now={now} />
      <Facts
        items={[
          ['Events', listed(events.map((event) => titles[event as keyof typeof titles]))],
          ['Waiting', pluralize(waiting, 'event')],
        ]}
      />
      <div class='row'>
        {actions.map(([name, label]) => (
          <PageForm visit={visit} acts action={action(name)}>
            <SubmitButton kind='plain'>{label}</SubmitButton>
          </PageForm>
        ))}
        <ConfirmDelete action={action('delete')} question='Delete this webhook and the events that wait for it?' />
      </div>
      {answers.length > 0 && (
        <Table
          id={`answers-${id}`}
          caption={`Last attempts of ${url}`}
          rows={answers}
          columns={[
            { title: 'Attempt', width: 'time', cell: ({ at }) => <Time at={at} now={now} /> },
            { title: 'Event', width: 'short', cell: ({ type }) => type },
            { title: 'Status', width: 'short', align: 'number', cell: ({ status }) => status ?? 'none' },
            { title: 'Took', width: 'short', align: 'number', cell: ({ ms }) => `${ms} ms` },
            { title: 'Answer', cell: ({ text }) => <span dir='auto'>{text}</span> },
          ]}
        />
      )}
    </Card>
  )
}

function listed([first, ...others]: string[]): string {
  return [first, ...others.map((title) => title[0].toLowerCase() + title.slice(1))].join(', ')
}

function TestResult({ answer, now }: { answer: WebhookAnswer; now: number }) {
  const { at, status, ms, text } = answer
  return (
    <Notice
      kind={isTaken(answer) ? 'good' : 'bad'}
      title={isTaken(answer) ? 'The test event was delivered.' : 'The test event was not delivered.'}
    >
      {status === null ? text : (
        <>
          It answered {status} after {ms} ms{text !== '' && (
            <>
              : “<span dir='auto'>{text}</span>”
            </>
          )}.
        </>
      )} Sent <Time at={at} now={now} />.
    </Notice>
  )
}

/** Explains why a webhook fails, since when, and what happens next. */
function WebhookState({ webhook, now }: { webhook: Webhook; now: number }) {
  const { pausedAt, error, failingSince, attempts, dueAt } = webhook
  return (
    <>
      {pausedAt !== null && (
        <Notice kind='warning'>
          Paused{' '}
          <Time at={pausedAt} now={now} />. Events since then are not recorded and will not be sent. Those that were
          waiting before are sent, in order, when it is resumed.
        </Notice>
      )}
      {error !== null && (
        <Notice kind='bad' title={error}>
          {failingSince !== null && (
            <>
              It has been failing for {durationInWords(now - failingSince)}, {pluralize(attempts, 'attempt')}.{' '}
            </>
          )}
          {pausedAt === null && dueAt !== null && (
            <>
              The next attempt is <Time at={Math.max(dueAt, now + 1)} now={now} />.
            </>
          )}
        </Notice>
      )}
    </>
  )
}
