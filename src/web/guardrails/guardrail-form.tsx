/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { createGuardrail, type GuardrailUpdate } from '../../grid/guardrails/guardrails.ts'
import { type ListedProvider, listedProviders } from '../../guardrails/providers.ts'
import { Card, Notice } from '../../html/components.tsx'
import { ButtonLink, Checkbox, ChoiceList, Form, PasswordInput, SubmitButton, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { readChoice } from '../choice.ts'
import { formErrors } from '../form-errors.ts'
import { ManagersOnlyNote } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { type JsonSchema, readSchemaValue, SchemaFields } from './schema-form.tsx'

/** What a guardrail does with a match. */
export const actions = [
  {
    value: 'block',
    title: 'Block',
    hint: 'Not delivered. The sender learns which guardrail blocked the message and what kind of thing it found.',
  },
  { value: 'redact', title: 'Redact', hint: 'Delivered with the matching text masked, and marked.' },
  { value: 'flag', title: 'Flag', hint: 'Delivered unchanged, and marked.' },
] as const
/** What happens to a message when the provider fails. */
export const failures = [
  { value: 'closed', title: 'Block the message', hint: 'No message is delivered unchecked.' },
  { value: 'open', title: 'Deliver the message', hint: 'Messages are delivered even while the provider is down.' },
] as const

/** Registers the form for a new guardrail of a provider. */
export function newGuardrailPages({ get, post }: Pages<Visit>): void {
  get('/guardrails/new/:provider', showNew)
  post('/guardrails/new/:provider', async (visit) => {
    const provider = providerOf(visit.param('provider'))
    const { token, ...settings } = settingsOf(provider, visit.form)
    const input = { ...settings, provider: provider.id, token: token ?? undefined }
    const { id } = await visit.record('create_guardrail', input, (account) => createGuardrail(account, input))
    return { redirectTo: `${visit.path('guardrails', id)}?done=guardrail-created` }
  }, showNew)
}

function showNew(visit: Visit) {
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
          <ManagersOnlyNote visit={visit} what='create guardrails' />
        </Card>
      ),
  )
}

/** A provider by its id. Fails with `not_found`. */
export function providerOf(id: string): ListedProvider {
  const provider = listedProviders.find((provider) => provider.id === id)
  if (!provider) throw new GridError('not_found', 'There is no such guardrail provider.')
  return provider
}

/** Reads the posted settings. A missing choice is undefined, and the verb applies its default. */
export function settingsOf(provider: ListedProvider, form: URLSearchParams): GuardrailUpdate & { name: string } {
  const token = form.get('token') ?? ''
  return {
    name: form.get('name') ?? '',
    config: readSchemaValue(provider.configSchema as JsonSchema, form, 'config'),
    action: readChoice(form, 'action', actions.map(({ value }) => value)),
    onFailure: readChoice(form, 'onFailure', failures.map(({ value }) => value)),
    enabled: form.has('enabled'),
    // A new token wins over the request to remove the old one.
    token: token !== '' ? token : form.has('removeToken') ? null : undefined,
  }
}

/** The stored settings that the form shows. */
interface StoredGuardrail extends Required<Omit<GuardrailUpdate, 'token'>> {
  hasToken: boolean
}

/** The form of a guardrail. `stored` is undefined for a new one; the provider cannot be changed. */
export function GuardrailForm(
  { visit, provider, stored, action, cancel }: {
    visit: Visit
    provider: ListedProvider
    stored?: StoredGuardrail
    action: string
    cancel?: string
  },
) {
  const { form, csrf, inputError } = visit
  const errors = formErrors(visit, action, provider.needsToken ? ['name', 'token'] : ['name'])
  const schema = provider.configSchema as JsonSchema
  const field = inputError?.details.field ?? ''
  const configError = field.startsWith('config.') ? { field, text: withoutPath(inputError!.message) } : undefined
  const shown = inputError ? { posted: form } : {}
  const value = (name: string, otherwise: string) => inputError ? form.get(name) ?? '' : otherwise
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  return (
    <>
      {errors.rest && !configError && <Notice kind='bad'>{errors.rest}</Notice>}
      {configError && <Notice kind='bad'>Not saved. Check the marked field.</Notice>}
      <Card>
        <Form action={action} csrf={csrf}>
          <TextInput
            name='name'
            label='Name'
            hint='Shown to a sender whose message is blocked.'
            value={value('name', stored?.name ?? '')}
            error={errors.name}
            maxLength={64}
            isRequired
          />
          {hasFields
            ? <SchemaFields {...shown} schema={schema} path='config' value={stored?.config} fieldError={configError} />
            : <p class='soft'>This provider has no settings.</p>}
          {provider.needsToken && (
            <TokenFields
              provider={provider}
              hasToken={stored?.hasToken ?? false}
              isRemoved={form.has('removeToken')}
              error={errors.token}
            />
          )}
          <ChoiceList
            name='action'
            label='When it finds a match'
            options={[...actions]}
            values={[value('action', stored?.action ?? 'block')]}
            isCards
            isRequired
          />
          <ChoiceList
            name='onFailure'
            label='When the provider fails'
            options={[...failures]}
            values={[value('onFailure', stored?.onFailure ?? 'closed')]}
            isCards
            isRequired
          />
          <Checkbox
            name='enabled'
            label='Enabled'
            hint='A disabled guardrail stays attached but checks nothing.'
            isChecked={inputError ? form.has('enabled') : stored?.enabled ?? true}
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

function TokenFields(
  { provider, hasToken, isRemoved, error }: {
    provider: ListedProvider
    hasToken: boolean
    /** Whether the rejected form removes the stored token. */
    isRemoved: boolean
    error?: string
  },
) {
  const purpose = provider.id === 'webhook' ? 'The secret that signs the requests.' : 'The API key of the service.'
  return (
    <>
      <PasswordInput
        name='token'
        label={hasToken ? 'New token' : 'Token'}
        hint={hasToken
          ? 'A token is stored. It is never shown; leave this empty to keep it.'
          : `${purpose} It is stored encrypted and never shown again.`}
        error={error}
        isOptional={hasToken}
        autocomplete='new-password'
      />
      {hasToken && (
        <Checkbox
          name='removeToken'
          label='Remove the stored token'
          isChecked={isRemoved}
          hint='Requires disabling the guardrail, because this provider needs a token.'
        />
      )}
    </>
  )
}

/** Removes the path of the field from a message, which is shown at the field. */
function withoutPath(message: string): string {
  const text = message.replace(/^config\S*: /, '')
  return text === 'is required' ? 'This is required.' : text
}
