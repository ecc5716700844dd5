/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The account's incoming hooks, for owners and admins. See docs/protocol/incoming.md. */
import { Card, EmptyState, Facts, Notice, Time } from '../../html/components.tsx'
import { PasswordInput, Select, TextArea, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { CopyBlock, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { shellWord } from '../../lib/shell-word.ts'
import { showSubject } from '../../web/accounts/settings-account.tsx'
import { DeleteCard, PageForm, readChoice } from '../../web/forms.tsx'
import { pluralize } from '../../web/listing.tsx'
import { settingsPath } from '../../web/settings.tsx'
import type { AccountPages, AccountSubject, PageDeps, Phrases, Visit } from '../../web/visit.ts'
import { createHook, findHook, type Hook, listHooks, maxTemplateLength, revokeHook } from './hooks.ts'

const path = 'incoming'
const formats = {
  summary: 'Its first texts',
  template: 'A template of your own',
  github: 'GitHub: push, pull request, issue, workflow run',
  alertmanager: 'Alertmanager',
} as const
const outcomes: Record<string, string> = {
  sent: 'sent',
  held: 'waits for a decision',
  ignored: 'left out: an event without a text',
}

export const phrases: Phrases = {
  create_hook: ['Create', 'Created', 'an incoming hook'],
  revoke_hook: ['Revoke', 'Revoked', 'an incoming hook'],
}

export const hooksSubject: AccountSubject & { after: string } = {
  after: 'keys',
  path,
  title: 'Incoming hooks',
  words: 'webhook github alertmanager curl cron schedule build',
  may: 'manage',
  async state({ account }) {
    const hooks = await listHooks(account)
    return hooks.length > 0 ? { text: pluralize(hooks.length, 'hook'), link: 'Open' } : { text: 'None', link: 'Set up' }
  },
  page: (visit) => hooksPage(visit),
}

export function hookPages({ get, post }: AccountPages, deps: PageDeps): void {
  const show = (visit: Visit) => showSubject(visit, deps, hooksSubject)
  const showHook = (visit: Visit) =>
    showSubject(visit, deps, { ...hooksSubject, page: () => hookPage(visit, visit.param('hook')) })
  post(`/settings/account/${path}`, async (visit) => {
    const { form } = visit
    const given = (name: string) => form.get(name) ?? ''
    const format = readChoice(form, 'format', Object.keys(formats) as Hook['format'][]) ?? 'summary'
    const input = { name: given('alias'), to: given('to'), format, template: given('template') }
    const secret = given('signingSecret')
    // The activity log gets the input without the secret.
    const { id, address } = await visit.record(
      'create_hook',
      input,
      (account) => createHook(account, { ...input, secret }),
    )
    return await visit.showOnce(settingsPath(visit, 'account', path, id), { address })
  }, show)
  get(`/settings/account/${path}/:hook`, showHook)
  post(`/settings/account/${path}/:hook/revoke`, async (visit) => {
    const id = visit.param('hook')
    await visit.record('revoke_hook', { id }, (account) => revokeHook(account, id))
    return { redirectTo: settingsPath(visit, 'account', path) }
  }, showHook)
}

async function hooksPage(visit: Visit) {
  const hooks = await listHooks(visit.account)
  const now = visit.account.deps.now()
  const action = settingsPath(visit, 'account', path)
  return (
    <>
      <Card title='Incoming hooks' lead='URLs to which builds, monitors and other programs post messages.'>
        {hooks.length === 0
          ? <EmptyState icon='channels' title='No incoming hooks'>No external program can post messages.</EmptyState>
          : (
            <Table
              id='hooks'
              caption='Incoming hooks'
              rows={hooks}
              columns={[
                { title: 'Sender', cell: ({ id, alias }) => <a href={`${action}/${id}`}>@{alias}</a> },
                { title: 'To', cell: ({ recipient }) => recipient ?? 'deleted' },
                {
                  title: 'Last delivery',
                  cell: ({ deliveries: [last] }) => last ? <Time at={last.at} now={now} /> : 'none',
                },
              ]}
            />
          )}
      </Card>
      <Card title='New hook'>
        <PageForm visit={visit} acts action={action} fields={['alias', 'to', 'format', 'template', 'signingSecret']}>
          <TextInput
            name='alias'
            label='Sender'
            hint='The alias under which its messages appear.'
            before='@'
            isRequired
          />
          <TextInput name='to' label='To' hint='@alias or #channel' isRequired />
          <Select
            name='format'
            label='Text of a JSON body'
            hint='Other bodies are sent as they are.'
            options={Object.entries(formats).map(([value, title]) => ({ value, title }))}
            value='summary'
          />
          <TextArea
            name='template'
            label='Template'
            hint='For a template of your own, such as {{repository.full_name}}: {{action}}'
            maxLength={maxTemplateLength}
            isOptional
            isMono
          />
          <PasswordInput
            name='signingSecret'
            label='Secret'
            hint='If requests are signed, as GitHub and Standard Webhooks do.'
            autocomplete='new-password'
            isOptional
          />
          <SubmitRow>Create hook</SubmitRow>
        </PageForm>
      </Card>
    </>
  )
}

async function hookPage(visit: Visit, id: string) {
  const hook = await findHook(visit.account, id)
  const shown = await visit.takeShown<{ address: string }>()
  const address = shown !== 'shown' ? shown?.address : undefined
  const now = visit.account.deps.now()
  const { alias, recipient, format, template, isSigned, isGuarded, createdAt, deliveries } = hook
  return (
    <>
      {address !== undefined && (
        <SecretDialog title={`Address of @${alias}`} label='Address' secret={address}>
          <CopyBlock id='curl' label='Try it' text={`curl -d 'Hello' ${shellWord(address)}`} wraps />
        </SecretDialog>
      )}
      {!isGuarded && (
        <Notice kind='warning'>
          No guardrail checks what {recipient} receives, and whoever knows the address can write to it.{' '}
          <a href={visit.path('guardrails')}>Attach one</a>.
        </Notice>
      )}
      <Card title={`@${alias}`}>
        <Facts
          items={[
            ['To', recipient ?? 'deleted: nothing is taken'],
            ['Text of a JSON body', formats[format]],
            ['Template', template !== '' && <code>{template}</code>],
            ['Signature', isSigned ? 'required' : 'not checked'],
            ['Created', <Time at={createdAt} now={now} />],
          ]}
        />
      </Card>
      <Card title='Last deliveries'>
        {deliveries.length === 0 ? <p class='soft'>Nothing has come yet.</p> : (
          <Table
            id='deliveries'
            caption='Last deliveries'
            rows={deliveries}
            columns={[
              { title: 'At', cell: ({ at }) => <Time at={at} now={now} /> },
              { title: 'Outcome', cell: ({ outcome }) => outcomes[outcome] ?? `refused: ${outcome}` },
              {
                title: 'Message',
                cell: ({ message }) => message && <a href={visit.path('messages', message)}>Open</a>,
              },
            ]}
          />
        )}
      </Card>
      <DeleteCard
        noun='hook'
        lead='Its URL stops working at once. Its messages are kept.'
        action={settingsPath(visit, 'account', path, id, 'revoke')}
        label='Revoke the address'
        question={`Revoke the address of @${alias}? This cannot be undone.`}
      />
    </>
  )
}
