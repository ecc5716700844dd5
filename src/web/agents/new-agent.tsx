/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requireAdmin } from '../../auth/actor.ts'
import { createAgent, type NewAgent } from '../../grid/agents/agents.ts'
import { Card, Notice } from '../../html/bits.tsx'
import { ButtonLink, ChoiceList, Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Secret } from '../../html/secrets.tsx'
import {
  AccessFields,
  DescriptionField,
  linesOf,
  RemoteFields,
  SkillsField,
  textOf,
  types,
  wordsOf,
} from './agent-fields.tsx'
import { chosen } from '../choice.ts'
import { Connect } from './connect.tsx'
import type { Pages, Visit } from '../visit.ts'

/** A new agent. Its alias may be `new`, so this is no page below the agents. */
export function newAgentPages({ get, post }: Pages<Visit>): void {
  get('/new-agent', (visit) => {
    requireAdmin(visit.actor)
    return show(visit)
  })
  post('/new-agent', async (visit) => {
    const input = inputOf(visit.form)
    const { agent, apiKey } = await visit.record(
      'admin_create_agent',
      input,
      (account) => createAgent(account, input),
    )
    return showKey(visit, { alias: agent.alias, apiKey, isNew: true })
  }, show)
}

/** The one page that shows a key: the answer to what made it. */
export function showKey(
  { account, frame, path }: Visit,
  { alias, apiKey, isNew }: { alias: string; apiKey: string; isNew: boolean },
) {
  const { baseUrl } = account.deps.config
  return appPage(
    frame('agents'),
    {
      title: isNew ? `@${alias} is ready` : `A new key for @${alias}`,
      lead: isNew ? 'Its key works at once.' : 'The keys it had have ended. Give its client the new one.',
      back: { title: `@${alias}`, href: path('agents', alias) },
    },
    <>
      <Secret title={`Key of @${alias}`} label='Agent key' secret={apiKey}>
        <p class='soft small'>The configurations on this page have it filled in.</p>
      </Secret>
      <Card title='Connect it' lead='The key is filled in. It is gone from here once you leave this page.'>
        <Connect baseUrl={baseUrl} secret={apiKey} />
      </Card>
      <div class='row'>
        <ButtonLink href={path('agents', alias)}>Go to @{alias}</ButtonLink>
      </div>
    </>,
  )
}

function inputOf(form: URLSearchParams): NewAgent {
  const accessPolicy = chosen(form, 'accessPolicy', ['auto_approve', 'allow_list', 'block_list'])
  const type = chosen(form, 'type', ['mcp', 'a2a', 'human'])
  const isRemote = type === 'a2a'
  const isListed = accessPolicy === 'allow_list' || accessPolicy === 'block_list'
  return {
    // The sign stands in front of the field already.
    alias: (form.get('alias') ?? '').trim().replace(/^@/, ''),
    type,
    visibility: chosen(form, 'visibility', ['private', 'public']),
    accessPolicy,
    // Without a policy that reads it, what stands in the field is not meant.
    accessList: isListed ? wordsOf(form.get('accessList') ?? '') : [],
    description: textOf(form, 'description'),
    ...(isRemote && {
      remoteUrl: (form.get('remoteUrl') ?? '').trim(),
      remoteToken: form.get('remoteToken') || undefined,
    }),
    skills: linesOf(form.get('skills') ?? '').map((name) => ({ name })),
  }
}

function show({ csrf, frame, path, form, fault }: Visit) {
  const value = (name: string) => form.get(name) ?? ''
  const error = (name: string) => fault?.details.field === name ? fault.message : undefined
  const fields = { value, error }
  return appPage(
    frame('agents'),
    {
      title: 'New agent',
      lead: 'An address and a mailbox on the grid. You get its key in the next step.',
      back: { title: 'Agents', href: path('agents') },
    },
    <Card>
      {fault && !fault.details.field && <Notice kind='bad'>{fault.message}</Notice>}
      <Form action={path('new-agent')} csrf={csrf}>
        <TextInput
          name='alias'
          label='Alias'
          hint='3 to 32 of a-z, 0-9 and hyphens. Unique on the whole grid, and it cannot be changed later.'
          before='@'
          isMono
          isRequired
          isFocused
          maxLength={33}
          value={value('alias')}
          error={error('alias')}
        />
        <DescriptionField {...fields} />
        <ChoiceList name='type' label='Type' options={types} values={[value('type') || 'mcp']} error={error('type')} />
        <div class='when-remote stack'>
          <RemoteFields {...fields} />
        </div>
        <AccessFields {...fields} />
        <SkillsField {...fields} />
        <div class='row'>
          <SubmitButton>Create agent</SubmitButton>
          <ButtonLink href={path('agents')} kind='quiet'>Cancel</ButtonLink>
        </div>
      </Form>
    </Card>,
  )
}
