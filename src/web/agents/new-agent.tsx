/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requireAdmin } from '../../auth/actor.ts'
import { createAgent, type NewAgent } from '../../grid/agents/agents.ts'
import { Card } from '../../html/components.tsx'
import { ChoiceList, TextInput } from '../../html/fields.tsx'
import { ButtonLink, SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { SecretDialog } from '../../html/secrets.tsx'
import type { AccountStore } from '../../store/account.ts'
import { PageForm, readChoice } from '../forms.tsx'
import type { PageResult, Pages, Visit } from '../visit.ts'
import {
  AccessFields,
  agentTypes,
  DescriptionField,
  linesOf,
  RemoteFields,
  SkillsField,
  textOf,
  visibilityIn,
  wordsOf,
} from './agent-fields.tsx'
import { Connect, ConnectLine } from './connect.tsx'

/** Registers the form for a new agent. Its path is not `/agents/new`, because `new` is a valid alias. */
export function newAgentPages({ get, post }: Pages<Visit>): void {
  get('/new-agent', (visit) => {
    requireAdmin(visit.actor)
    return showForm(visit)
  })
  post('/new-agent', async (visit) => {
    const input = inputOf(visit.form)
    const create = (account: AccountStore) => createAgent(account, input)
    const { agent, apiKey } = await visit.record('admin_create_agent', input, create)
    return await showKeyOnce(visit, agent.alias, { apiKey, isNew: true })
  }, showForm)
}

/** A new key and its agent's state. */
interface CreatedKey {
  apiKey: string
  /** Whether the agent was created together with the key. */
  isNew: boolean
  /** Whether the agent's other keys stay valid. */
  isFurther?: boolean
}

/** Redirects to the page that shows an agent's new key once. */
export function showKeyOnce(visit: Visit, alias: string, created: CreatedKey): Promise<PageResult> {
  return visit.showOnce(visit.path('agents', alias, 'key'), created)
}

/** Shows a new key. Redirects to the agent if there is none to show, for example after a reload. */
export async function showKey({ account, frame, path, param, done, takeShown }: Visit): Promise<PageResult> {
  const alias = param('alias')
  const created = await takeShown<CreatedKey>()
  if (created === undefined) return { redirectTo: path('agents', alias) }
  if (created === 'shown') return done('agent-key-shown', 'agents', alias, 'connect')
  const { apiKey, isNew, isFurther } = created
  const old = isFurther ? 'The other keys still work.' : 'The old keys no longer work.'
  const { config } = account.deps
  const agent = await account.read.agents.byAlias(param('alias'))
  return appPage(
    frame('agents'),
    {
      title: isNew ? `@${alias} is ready` : `New key for @${alias}`,
      lead: isNew ? 'Its key is active.' : `${old} Give the new key to its client.`,
      back: { title: `@${alias}`, href: path('agents', alias) },
    },
    <>
      <SecretDialog title={`Key of @${alias}`} label='Agent key' secret={apiKey}>
        <p class='soft small'>The configurations on this page already contain it.</p>
      </SecretDialog>
      <Card title='Connect a client' lead='The key is filled in. It disappears when you leave this page.'>
        {agent?.type === 'mcp' && <ConnectLine config={config} alias={agent.alias} secret={apiKey} />}
        <Connect baseUrl={config.baseUrl} secret={apiKey} />
      </Card>
      <div class='row'>
        <ButtonLink href={path('agents', alias)}>Go to @{alias}</ButtonLink>
      </div>
    </>,
  )
}

function inputOf(form: URLSearchParams): NewAgent {
  const accessPolicy = readChoice(form, 'accessPolicy', ['auto_approve', 'allow_list', 'block_list'])
  const type = readChoice(form, 'type', ['mcp', 'a2a'])
  const isRemote = type === 'a2a'
  const isListed = accessPolicy === 'allow_list' || accessPolicy === 'block_list'
  return {
    alias: form.get('alias') ?? '',
    type,
    visibility: visibilityIn(form, false),
    accessPolicy,
    // Ignore the list if the chosen policy does not use it.
    accessList: isListed ? wordsOf(form.get('accessList') ?? '') : [],
    description: textOf(form, 'description'),
    ...(isRemote && {
      remoteUrl: (form.get('remoteUrl') ?? '').trim(),
      remoteToken: form.get('remoteToken') || undefined,
    }),
    skills: linesOf(form.get('skills') ?? '').map((name) => ({ name })),
  }
}

const formFields = ['alias', 'description', 'type', 'visibility', 'accessPolicy', 'accessList', 'skills']
  .concat('remoteUrl', 'remoteToken')

function showForm(visit: Visit) {
  const { frame, path } = visit
  return appPage(
    frame('agents'),
    {
      title: 'New agent',
      lead: 'An agent has an alias and an inbox on the grid. You get its key in the next step.',
      back: { title: 'Agents', href: path('agents') },
    },
    <Card>
      <PageForm visit={visit} acts action={path('new-agent')} fields={formFields}>
        <TextInput
          name='alias'
          label='Alias'
          hint='3 to 32 characters: a-z, 0-9 and hyphens. Unique on the whole grid; it cannot be changed later.'
          before='@'
          isMono
          isRequired
          isFocused
          maxLength={33}
        />
        <DescriptionField />
        <ChoiceList name='type' label='Type' options={agentTypes} values={['mcp']} />
        <div class='when-remote stack'>
          <RemoteFields />
        </div>
        <AccessFields />
        <SkillsField />
        <SubmitRow cancel={path('agents')}>Create agent</SubmitRow>
      </PageForm>
    </Card>,
  )
}
