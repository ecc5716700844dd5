/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { createGuardrail, type GuardrailTargets, type GuardrailUpdate } from '../../grid/guardrails/guardrails.ts'
import { triedText, tryGuardrail } from '../../grid/guardrails/try-guardrail.ts'
import { type ListedProvider, listedProviders } from '../../guardrails/providers.ts'
import { Card, Notice } from '../../html/components.tsx'
import { Checkbox, ChoiceList, PasswordInput, Select, TextInput } from '../../html/fields.tsx'
import { Form, SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import type { AccountStore } from '../../store/account.ts'
import { AgentChoice, choosableAgents, parseAgentRefs } from '../agents/agent-choice.tsx'
import { readChoice, Refusal } from '../forms.tsx'
import { ManagersOnlyNote } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { type JsonSchema, readSchemaValue, SchemaFields } from './schema-form.tsx'
import { type TriedText, TryCard } from './try-card.tsx'

/** The actions that a guardrail can take on a match. */
export const actions = [
  {
    value: 'block',
    title: 'Block',
    hint: 'Not delivered. The sender learns which guardrail blocked the message and what kind of thing it found.',
  },
  {
    value: 'hold',
    title: 'Hold',
    hint: 'Delivered only when an owner or admin approves it, within 24 hours.',
  },
  { value: 'redact', title: 'Redact', hint: 'Delivered with the matching text masked, and marked.' },
  { value: 'flag', title: 'Flag', hint: 'Delivered unchanged, and marked.' },
] as const
/** What can happen to a message when the provider fails. */
export const failures = [
  { value: 'closed', title: 'Block the message', hint: 'No message is delivered unchecked.' },
  { value: 'open', title: 'Deliver the message', hint: 'Messages are delivered even while the provider is down.' },
] as const

export function newGuardrailPages({ get, post }: Pages<Visit>): void {
  get('/guardrails/new/:provider', (visit) => showNew(visit))
  post('/guardrails/new/:provider', async (visit) => {
    const provider = providerOf(visit.param('provider'))
    const { token, ...settings } = settingsOf(provider, visit.form)
    const input = { ...settings, provider: provider.id, token: token ?? undefined, attach: targetsOf(visit.form) }
    const { id } = await visit.record('create_guardrail', input, (account) => createGuardrail(account, input))
    return visit.done(input.attach ? 'guardrail-attached' : 'guardrail-created', 'guardrails', id)
  }, (visit) => showNew(visit))
  get('/guardrails/new/:provider/try', (visit) => ({
    redirectTo: visit.path('guardrails', 'new', visit.param('provider')),
  }))
  post('/guardrails/new/:provider/try', async (visit) => {
    const provider = providerOf(visit.param('provider'))
    const { config, token } = settingsOf(provider, visit.form)
    const settings = { provider: provider.id, config, token: token ?? undefined }
    const text = visit.form.get('text') ?? ''
    const run = (account: AccountStore) => tryGuardrail(account, settings, text)
    // The log contains neither the text nor the token.
    const trial = await visit.record('try_guardrail', { provider: provider.id, config }, run)
    return showNew(visit, { text: triedText(text), trial })
  }, (visit) => showNew(visit))
}

async function showNew(visit: Visit, tried?: TriedText) {
  const provider = providerOf(visit.param('provider'))
  const path = visit.path('guardrails', 'new', provider.id)
  const choosable = await choosableAgents(visit.account)
  return await appPage(
    visit.frame('guardrails'),
    {
      title: `New guardrail: ${provider.name}`,
      lead: provider.description,
      back: { title: 'Choose another provider', href: visit.path('guardrails', 'new') },
    },
    visit.may('manage')
      ? (
        <div class='grid halves'>
          <div class='stack'>
            <GuardrailForm
              visit={visit}
              provider={provider}
              action={path}
              cancel={visit.path('guardrails')}
              choosable={choosable}
            />
          </div>
          <div class='stack'>
            <TryCard
              visit={visit}
              path={path}
              isRemote={provider.kind === 'remote'}
              tried={tried}
              settings={newFormId}
            />
          </div>
        </div>
      )
      : (
        <Card>
          <ManagersOnlyNote visit={visit} what='create guardrails' />
        </Card>
      ),
  )
}

/** Returns the provider with this id. Fails with `not_found`. */
export function providerOf(id: string): ListedProvider {
  const provider = listedProviders.find((provider) => provider.id === id)
  if (!provider) throw new GridError('not_found', 'There is no such guardrail provider.')
  return provider
}

/** Reads the posted settings. A missing choice is undefined and gets its default. */
export function settingsOf(provider: ListedProvider, form: URLSearchParams): GuardrailUpdate & { name: string } {
  const token = form.get('token') ?? ''
  return {
    name: form.get('name') ?? '',
    config: readSchemaValue(provider.configSchema as JsonSchema, form),
    action: readChoice(form, 'action', actions.map(({ value }) => value)),
    onFailure: readChoice(form, 'onFailure', failures.map(({ value }) => value)),
    enabled: form.has('enabled'),
    // A new token takes precedence over the request to remove the old one.
    token: token !== '' ? token : form.has('removeToken') ? null : undefined,
  }
}

/** The stored settings shown in the form. */
interface StoredGuardrail extends Required<Omit<GuardrailUpdate, 'token'>> {
  hasToken: boolean
}

/** The id of the form for a new guardrail. */
const newFormId = 'settings'

/** A guardrail's form. `stored` is undefined for a new guardrail. The provider cannot be changed. */
export function GuardrailForm(
  { visit, provider, stored, action, cancel, choosable }: {
    visit: Visit
    provider: ListedProvider
    stored?: StoredGuardrail
    action: string
    cancel?: string
    /** For a new guardrail, the agents that it can be attached to. */
    choosable?: ChoosableAgents
  },
) {
  const { form, inputError, request } = visit
  const { pathname } = new URL(request.url)
  // Only this form and the trial of a new guardrail post these settings. The page's other forms do not contain them.
  const isTried = !stored && pathname === `${action}/try`
  const isPosted = request.method === 'POST' && (pathname === action || isTried)
  const field = isPosted ? inputError?.details.field ?? '' : ''
  const isOfField = field.startsWith('config.') || (field === 'token' && provider.needsToken) ||
    (['name', 'agents'].includes(field) && !isTried)
  const posted = {
    values: form,
    errorOf: (name: string) =>
      isOfField && (field === name || field.startsWith(`${name}.`)) ? withoutPath(inputError!.message) : undefined,
  }
  const schema = provider.configSchema as JsonSchema
  const hasFields = Object.keys(schema.properties ?? {}).length > 0
  return (
    <>
      {isPosted && inputError && !isOfField && !isTried && <Refusal visit={visit}>{inputError.message}</Refusal>}
      {isOfField && field.startsWith('config') && <Notice kind='bad'>Check the marked field.</Notice>}
      <Card>
        <Form
          action={action}
          id={stored ? undefined : newFormId}
          changes={stored !== undefined}
          posted={isPosted ? posted : undefined}
        >
          <TextInput
            name='name'
            label='Name'
            hint='Shown to a sender whose message is blocked.'
            value={stored?.name}
            maxLength={64}
            isRequired
          />
          {hasFields
            ? <SchemaFields schema={schema} stored={stored?.config} />
            : <p class='soft'>This provider has no settings.</p>}
          {provider.needsToken && (
            <TokenFields provider={provider} hasToken={stored?.hasToken ?? false} isTried={isTried} />
          )}
          <ChoiceList
            name='action'
            label='When it finds a match'
            options={[...actions]}
            values={[stored?.action ?? 'block']}
            isCards
            isRequired
          />
          <ChoiceList
            name='onFailure'
            label='When the provider fails'
            options={[...failures]}
            values={[stored?.onFailure ?? 'closed']}
            isCards
            isRequired
          />
          <Checkbox
            name='enabled'
            label='Enabled'
            hint='A disabled guardrail stays attached but checks nothing.'
            isChecked={stored?.enabled ?? true}
          />
          {choosable && <TargetFields choosable={choosable} form={form} mayWait />}
          <SubmitRow cancel={cancel}>{stored ? 'Save' : 'Create guardrail'}</SubmitRow>
        </Form>
      </Card>
    </>
  )
}

type ChoosableAgents = Awaited<ReturnType<typeof choosableAgents>>

const directionOptions = [
  { value: 'both', title: 'Sent and received' },
  { value: 'inbound', title: 'Received' },
  { value: 'outbound', title: 'Sent' },
] as const

/** Selects the agents whose messages a guardrail checks. `mayWait` allows attaching the guardrail later. */
export function TargetFields(
  { choosable, form, mayWait = false, all = null }: {
    choosable: ChoosableAgents
    form: URLSearchParams
    mayWait?: boolean
    /** The stored direction for all agents. */
    all?: GuardrailTargets['direction'] | null
  },
) {
  return (
    <>
      <ChoiceList
        name='attachTo'
        label='Checked agents'
        options={[
          {
            value: 'all',
            title: 'All agents, including new ones',
            hint: 'People who have not allowed its service are left out.',
          },
          { value: 'chosen', title: 'Chosen agents' },
          ...(mayWait ? [{ value: 'none', title: 'None yet', hint: 'It checks nothing until you attach it.' }] : []),
        ]}
        values={[mayWait ? 'none' : 'chosen']}
        isRequired
      />
      <AgentChoice
        name='agents'
        label='Chosen agents'
        hint={['Only for “Chosen agents”.', 'Only for “Chosen agents”: aliases, separated by spaces, commas or lines.']}
        agents={choosable}
        value={form.getAll('agents').join(' ')}
        isOptional
      />
      <Select name='direction' label='Checked messages' options={[...directionOptions]} value={all ?? 'both'} />
    </>
  )
}

/** Returns the posted values of `TargetFields`. Undefined if the guardrail is attached to no agents. */
export function targetsOf(form: URLSearchParams): GuardrailTargets | undefined {
  const to = readChoice(form, 'attachTo', ['all', 'chosen', 'none'])
  if (to === undefined || to === 'none') return undefined
  const direction = readChoice(form, 'direction', directionOptions.map(({ value }) => value)) ?? 'both'
  return { direction, agents: to === 'all' ? 'all' : parseAgentRefs(form, 'agents') }
}

function TokenFields(
  { provider, hasToken, isTried }: { provider: ListedProvider; hasToken: boolean; isTried: boolean },
) {
  const purpose = provider.id === 'webhook' ? 'The secret that signs the requests.' : 'The API key of the service.'
  const kept = isTried
    ? 'It is not kept after a trial: enter it again.'
    : 'It is stored encrypted and never shown again.'
  return (
    <>
      <PasswordInput
        name='token'
        label={hasToken ? 'New token' : 'Token'}
        hint={hasToken ? 'A token is stored. It is never shown; leave this empty to keep it.' : `${purpose} ${kept}`}
        isOptional={hasToken}
        autocomplete='new-password'
      />
      {hasToken && (
        <Checkbox
          name='removeToken'
          label='Remove the stored token'
          hint='Requires disabling the guardrail, because this provider needs a token.'
        />
      )}
    </>
  )
}

/** Removes the field's path from an error message shown at that field. */
function withoutPath(message: string): string {
  const text = message.replace(/^config\S*: /, '')
  return text === 'is required' ? 'This is required.' : text
}
