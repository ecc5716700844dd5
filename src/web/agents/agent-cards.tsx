/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The forms on the page of one agent. Who may not change it sees what they hold. */
import type { GridError } from '../../errors.ts'
import { listedProviders } from '../../guardrails/providers.ts'
import { Badge, Card, EmptyState, Facts } from '../../html/bits.tsx'
import { ButtonLink, Checkbox, described, Form, SubmitButton } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import type { Agent } from '../../store/account/agents.ts'
import type { Attachment, Guardrail } from '../../store/account/guardrails.ts'
import { AccessFields, DescriptionField, policyName, RemoteFields, SkillsField } from './agent-fields.tsx'

interface CardProps {
  action: string
  csrf: string
  mayChange: boolean
  /** What was typed and refused, and why. */
  form?: URLSearchParams
  fault?: GridError
}

/** What was typed, or else what is stored. */
function fieldsOf({ form, fault }: CardProps, stored: Record<string, string>) {
  return {
    value: (name: string) => form ? form.get(name) ?? '' : stored[name] ?? '',
    error: (name: string) => fault?.details.field === name ? fault.message : undefined,
  }
}

export function SettingsCard(
  props: CardProps & { agent: Agent & { accessList: string[]; hasRemoteToken: boolean } },
) {
  const { agent, action, csrf, mayChange } = props
  const { accessList, hasRemoteToken } = agent
  const isRemote = agent.type === 'a2a'
  if (!mayChange) {
    return (
      <Card title='Settings'>
        <Facts
          items={[
            ['Description', agent.description || 'none'],
            ['Once public, open to', policyName(agent.accessPolicy)],
            ...(agent.accessPolicy === 'auto_approve'
              ? []
              : [['Listed', accessList.map((alias) => `@${alias}`).join(', ') || 'nobody'] as [string, string]]),
            ...(isRemote ? [['Remote URL', agent.remoteUrl ?? ''] as [string, string]] : []),
          ]}
        />
      </Card>
    )
  }
  const fields = fieldsOf(props, {
    description: agent.description,
    visibility: agent.visibility,
    accessPolicy: agent.accessPolicy,
    accessList: accessList.join('\n'),
    remoteUrl: agent.remoteUrl ?? '',
  })
  return (
    <Card title='Settings' lead='The alias and the type cannot be changed.'>
      <Form action={action} csrf={csrf}>
        <DescriptionField {...fields} />
        {isRemote && <RemoteFields {...fields} kept={hasRemoteToken} />}
        {isRemote && hasRemoteToken && <Checkbox name='forgetToken' label='Forget the token that is kept' />}
        <AccessFields {...fields} />
        <div class='row'>
          <SubmitButton>Save settings</SubmitButton>
        </div>
      </Form>
    </Card>
  )
}

export function SkillsCard(props: CardProps & { skills: { name: string; description: string }[] }) {
  const { skills, action, csrf, mayChange } = props
  const stored = { skills: skills.map(({ name }) => name).join('\n') }
  return (
    <Card title='Skills' lead='What it says it can do. Others find it by them.'>
      {mayChange
        ? (
          <Form action={action} csrf={csrf}>
            <SkillsField {...fieldsOf(props, stored)} />
            <div class='row'>
              <SubmitButton>Save skills</SubmitButton>
            </div>
          </Form>
        )
        : (
          <p class='row'>
            {skills.length === 0 ? <span class='soft'>none</span> : skills.map(({ name }) => <Badge>{name}</Badge>)}
          </p>
        )}
    </Card>
  )
}

function providerName(id: string): string {
  return listedProviders.find((provider) => provider.id === id)?.name ?? id
}

const directions = [
  { value: '', title: 'not attached' },
  { value: 'both', title: 'both ways' },
  { value: 'inbound', title: 'messages to it' },
  { value: 'outbound', title: 'messages from it' },
]

export function GuardrailsCard(
  props: CardProps & { guardrails: Guardrail[]; attached: Attachment[]; guardrailsPath: string },
) {
  const { guardrails, attached, guardrailsPath, action, csrf, mayChange } = props
  const attachment = (id: string) => attached.find(({ guardrailId }) => guardrailId === id)
  const stored = Object.fromEntries(guardrails.flatMap(({ id }) => [
    [`direction-${id}`, attachment(id)?.direction ?? ''],
    [`action-${id}`, attachment(id)?.action ?? ''],
  ]))
  const { value } = fieldsOf(props, stored)
  const table = (
    <Table
      id='guardrails'
      caption='Guardrails of the agent'
      rows={guardrails}
      columns={[
        {
          title: 'Guardrail',
          cell: ({ name, provider, enabled }) => (
            <>
              {name} {!enabled && <Badge kind='warning'>off</Badge>}
              <div class='soft small'>{providerName(provider)}</div>
            </>
          ),
        },
        {
          title: 'Looks at',
          cell: ({ id, name }) => (
            <Choice
              name={`direction-${id}`}
              label={`What ${name} looks at`}
              options={directions}
              value={value(`direction-${id}`)}
              isFixed={!mayChange}
            />
          ),
        },
        {
          title: 'Then',
          cell: ({ id, name, action }) => (
            <Choice
              name={`action-${id}`}
              label={`What ${name} does`}
              options={[
                { value: '', title: `as it says: ${action}` },
                ...['block', 'redact', 'flag'].map((value) => ({ value, title: value })),
              ]}
              value={value(`action-${id}`)}
              isFixed={!mayChange}
            />
          ),
        },
      ]}
    />
  )
  return (
    <Card
      title='Guardrails'
      lead='What looks at its messages before they are stored.'
      actions={<ButtonLink href={guardrailsPath} kind='quiet' isSmall>All guardrails</ButtonLink>}
    >
      {guardrails.length === 0
        ? (
          <EmptyState icon='guardrails' title='The account has no guardrails'>
            Make one first; then attach it here.
          </EmptyState>
        )
        : mayChange
        ? (
          <Form action={action} csrf={csrf}>
            {table}
            <div class='row'>
              <SubmitButton>Save guardrails</SubmitButton>
            </div>
          </Form>
        )
        : table}
    </Card>
  )
}

/** A choice in a cell of a table, whose heads are its label to the eye. */
function Choice(
  { name, label, options, value, isFixed }: {
    name: string
    label: string
    options: { value: string; title: string }[]
    value: string
    isFixed: boolean
  },
) {
  if (isFixed) return <>{options.find((option) => option.value === value)?.title}</>
  return (
    <select {...described({ name, label })} class='input' aria-label={label}>
      {options.map((option) => <option value={option.value} selected={option.value === value}>{option.title}</option>)}
    </select>
  )
}
