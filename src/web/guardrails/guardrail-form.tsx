/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { createGuardrail, type GuardrailSettings } from '../../grid/guardrails/guardrails.ts'
import { type ListedProvider, listedProviders } from '../../guardrails/providers.ts'
import { Card, Notice } from '../../html/bits.tsx'
import { ButtonLink, Checkbox, ChoiceList, Form, PasswordInput, SubmitButton, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { chosen } from '../choice.ts'
import { formFault } from '../faults.ts'
import { OnlyManagers } from '../listing.tsx'
import { type Schema, SchemaFields, sent } from './schema-form.tsx'
import type { Pages, Visit } from '../visit.ts'

/** What a guardrail does with what it finds, and when its provider gives no answer. */
export const actions = [
  { value: 'block', title: 'Block', hint: 'The sender is told that the guardrail refused the message, not why.' },
  { value: 'redact', title: 'Redact', hint: 'Delivered with the found text masked, and marked.' },
  { value: 'flag', title: 'Flag', hint: 'Delivered as it is, and marked.' },
] as const
export const failures = [
  { value: 'closed', title: 'Stop the message', hint: 'Nothing passes unseen.' },
  { value: 'open', title: 'Let it pass', hint: 'Messages arrive even while the provider is down.' },
] as const

/** A new guardrail of a provider. */
export function newGuardrailPages({ get, post }: Pages<Visit>): void {
  get('/guardrails/new/:provider', fresh)
  post('/guardrails/new/:provider', async (visit) => {
    const provider = providerOf(visit.param('provider'))
    const { token, ...settings } = settingsOf(provider, visit.form)
    const input = { ...settings, provider: provider.id, token: token ?? undefined }
    const { id } = await visit.record('create_guardrail', input, (account) => createGuardrail(account, input))
    return { goTo: `${visit.path('guardrails', id)}?done=guardrail-created` }
  }, fresh)
}

function fresh(visit: Visit) {
  const provider = providerOf(visit.param('provider'))
  return appPage(
    visit.frame('guardrails'),
    {
      title: `New guardrail: ${provider.name}`,
      lead: provider.description,
      back: { title: 'Choose another provider', href: visit.path('guardrails', 'new') },
    },
    visit.may('manage')
      ? (
        <GuardrailForm
          visit={visit}
          provider={provider}
          action={visit.path('guardrails', 'new', provider.id)}
          cancel={visit.path('guardrails')}
        />
      )
      : (
        <Card>
          <OnlyManagers visit={visit} what='create guardrails' />
        </Card>
      ),
  )
}

/** A provider by its id. Fails with `not_found`. */
export function providerOf(id: string): ListedProvider {
  const provider = listedProviders.find((provider) => provider.id === id)
  if (!provider) throw new GridError('not_found', 'There is no such provider of guardrails.')
  return provider
}

/** What was filled in. A choice that was not made, which browsers refuse, is left to the verb. */
export function settingsOf(provider: ListedProvider, form: URLSearchParams): GuardrailSettings {
  const token = form.get('token') ?? ''
  return {
    name: form.get('name') ?? '',
    config: sent(provider.configSchema as Schema, form, 'config'),
    action: chosen(form, 'action', actions.map(({ value }) => value)),
    onFailure: chosen(form, 'onFailure', failures.map(({ value }) => value)),
    enabled: form.has('enabled'),
    // A new one takes the place of the old one, also when that is to go.
    token: token !== '' ? token : form.has('removeToken') ? null : undefined,
  }
}

/** What the form starts from. */
interface Stored extends Required<Omit<GuardrailSettings, 'token'>> {
  hasToken: boolean
}

/** Everything of a guardrail but its provider; `stored` is undefined for a new one. */
export function GuardrailForm(
  { visit, provider, stored, action, cancel }: {
    visit: Visit
    provider: ListedProvider
    stored?: Stored
    action: string
    cancel?: string
  },
) {
  const { form, csrf, fault: refused } = visit
  const fault = formFault(visit, action, provider.needsToken ? ['name', 'token'] : ['name'])
  const schema = provider.configSchema as Schema
  const field = refused?.details.field ?? ''
  const configFault = field.startsWith('config.') ? { field, text: withoutPath(refused!.message) } : undefined
  const shown = refused ? { posted: form } : {}
  const value = (name: string, otherwise: string) => refused ? form.get(name) ?? '' : otherwise
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  return (
    <>
      {fault.rest && !configFault && <Notice kind='bad'>{fault.rest}</Notice>}
      {configFault && <Notice kind='bad'>Nothing was saved. Look at the marked field.</Notice>}
      <Card>
        <Form action={action} csrf={csrf}>
          <TextInput
            name='name'
            label='Name'
            hint='A sender whose message is blocked is told this name.'
            value={value('name', stored?.name ?? '')}
            error={fault.name}
            maxLength={64}
            isRequired
          />
          {hasFields
            ? <SchemaFields {...shown} schema={schema} path='config' value={stored?.config} fault={configFault} />
            : <p class='soft'>This provider has nothing to configure.</p>}
          {provider.needsToken && (
            <TokenFields provider={provider} hasToken={stored?.hasToken ?? false} error={fault.token} />
          )}
          <ChoiceList
            name='action'
            label='When it finds something'
            options={[...actions]}
            values={[value('action', stored?.action ?? 'block')]}
            isCards
            isRequired
          />
          <ChoiceList
            name='onFailure'
            label='When the provider gives no answer'
            options={[...failures]}
            values={[value('onFailure', stored?.onFailure ?? 'closed')]}
            isCards
            isRequired
          />
          <Checkbox
            name='enabled'
            label='Switched on'
            hint='A guardrail that is off stays attached and is passed over.'
            isChecked={refused ? form.has('enabled') : stored?.enabled ?? true}
          />
          <div class='row'>
            <SubmitButton>{stored ? 'Save' : 'Create guardrail'}</SubmitButton>
            {cancel && <ButtonLink href={cancel} kind='quiet'>Cancel</ButtonLink>}
          </div>
        </Form>
      </Card>
    </>
  )
}

function TokenFields({ provider, hasToken, error }: { provider: ListedProvider; hasToken: boolean; error?: string }) {
  const what = provider.id === 'webhook'
    ? 'The secret that requests are signed with.'
    : 'What the service wants as its key.'
  return (
    <>
      <PasswordInput
        name='token'
        label={hasToken ? 'New token' : 'Token'}
        hint={hasToken
          ? 'A token is kept. It is never shown; leave this empty to keep it.'
          : `${what} It is stored encrypted and never shown again.`}
        error={error}
        isOptional={hasToken}
        autocomplete='new-password'
      />
      {hasToken && (
        <Checkbox
          name='removeToken'
          label='Remove the token that is kept'
          hint='Only together with switching the guardrail off: this provider needs a token.'
        />
      )}
    </>
  )
}

/** What stands beside a field does not name it again. */
function withoutPath(message: string): string {
  const text = message.replace(/^config\S*: /, '')
  return text === 'is required' ? 'This is required.' : text
}
