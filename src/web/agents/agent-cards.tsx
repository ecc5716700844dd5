/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The forms on the page of one agent. Users who may not change it see the values instead. */
import type { GridError } from '../../errors.ts'
import { listedProviders } from '../../guardrails/providers.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Facts } from '../../html/components.tsx'
import { ButtonLink, Checkbox, fieldAttributes, Form, SubmitButton } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import type { Agent } from '../../store/account/agents.ts'
import type { Guardrail, GuardrailAttachment } from '../../store/account/guardrails.ts'
import { SwitchForm } from '../switch-form.tsx'
import {
  AccessFields,
  DescriptionField,
  policyName,
  RemoteFields,
  ReplyField,
  replyName,
  SkillsField,
} from './agent-fields.tsx'

interface CardProps {
  action: string
  csrf: string
  mayChange: boolean
  /** The rejected form, shown again. */
  form?: URLSearchParams
  inputError?: GridError
}

/** Field values from the rejected form if there is one, otherwise from the stored agent. */
function fieldsOf({ form, inputError }: CardProps, stored: Record<string, string>) {
  return {
    value: (name: string) => form ? form.get(name) ?? '' : stored[name] ?? '',
    error: (name: string) => inputError?.details.field === name ? inputError.message : undefined,
  }
}

/** Description, access and, for A2A agents, the remote endpoint. */
export function SettingsCard(
  props: CardProps & { agent: Agent & { accessList: string[]; hasRemoteToken: boolean; messageReplies: boolean } },
) {
  const { agent, action, csrf, mayChange } = props
  const { accessList, hasRemoteToken } = agent
  const messageReplies = agent.messageReplies ? 'yes' : 'no'
  const isRemote = agent.type === 'a2a'
  if (!mayChange) {
    return (
      <Card title='Settings'>
        <Facts
          items={[
            ['Description', agent.description || 'none'],
            ['Access from other accounts', policyName(agent.accessPolicy)],
            ...(agent.accessPolicy === 'auto_approve'
              ? []
              : [['Access list', accessList.map((alias) => `@${alias}`).join(', ') || 'empty'] as [string, string]]),
            ['Replies over A2A', replyName(messageReplies)],
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
    messageReplies,
  })
  return (
    <Card title='Settings' lead='The alias and the type cannot be changed.'>
      <Form action={action} csrf={csrf}>
        <DescriptionField {...fields} />
        {isRemote && <RemoteFields {...fields} hasToken={hasRemoteToken} />}
        {isRemote && hasRemoteToken && (
          <Checkbox name='forgetToken' label='Remove the stored token' isChecked={props.form?.has('forgetToken')} />
        )}
        <AccessFields {...fields} />
        <ReplyField {...fields} />
        <div class='row'>
          <SubmitButton>Save settings</SubmitButton>
        </div>
      </Form>
    </Card>
  )
}

/** Whether the agent is a script, whose messages are never turns. See docs/delivery.md, "Conversations that run away". */
export function AutomatedCard({ action, csrf, mayChange, isAutomated }: CardProps & { isAutomated: boolean }) {
  return (
    <Card
      title='Automated'
      lead='Agents that answer each other without end are paused. A script can be exempt from this.'
    >
      <p>{isAutomated ? 'This agent is marked as automated, and exempt.' : 'This agent is not marked as automated.'}</p>
      {mayChange && (
        <SwitchForm
          action={action}
          csrf={csrf}
          name='automated'
          isOn={isAutomated}
          turnOn='Mark as automated'
          turnOff='Not automated'
        />
      )}
    </Card>
  )
}

/** The skills of an agent. */
export function SkillsCard(props: CardProps & { skills: { name: string; description: string }[] }) {
  const { skills, action, csrf, mayChange } = props
  const stored = { skills: skills.map(({ name }) => name).join('\n') }
  return (
    <Card title='Skills' lead='What the agent can do. Other agents can search by skill.'>
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
          <p class='pairs'>
            {skills.length === 0
              ? <span class='soft'>none</span>
              : skills.map(({ name }) => <Badge title={name}>{name}</Badge>)}
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
  { value: 'both', title: 'both directions' },
  { value: 'inbound', title: 'what it receives' },
  { value: 'outbound', title: 'what it sends' },
]

/** Which guardrails of the account check the agent's messages, in which direction and with which action. */
export function GuardrailsCard(
  props: CardProps & { guardrails: Guardrail[]; attached: GuardrailAttachment[]; guardrailsPath: string },
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
      caption='Guardrails of this agent'
      rows={guardrails}
      columns={[
        {
          title: 'Guardrail',
          cell: ({ name, provider, enabled }) => (
            <>
              <Name text={name} /> {!enabled && <Badge kind='warning'>off</Badge>}
              <div class='soft small'>{providerName(provider)}</div>
            </>
          ),
        },
        {
          title: 'Checks',
          cell: ({ id, name }) => (
            <CellSelect
              name={`direction-${id}`}
              label={`Messages that ${name} checks`}
              options={directions}
              value={value(`direction-${id}`)}
              isReadOnly={!mayChange}
            />
          ),
        },
        {
          title: 'Action',
          cell: ({ id, name, action }) => (
            <CellSelect
              name={`action-${id}`}
              label={`Action of ${name}`}
              options={[
                { value: '', title: `${action} (default)` },
                ...['block', 'redact', 'flag'].map((value) => ({ value, title: value })),
              ]}
              value={value(`action-${id}`)}
              isReadOnly={!mayChange}
            />
          ),
        },
      ]}
    />
  )
  return (
    <Card
      title='Guardrails'
      lead='Checks of its messages before they are stored.'
      actions={<ButtonLink href={guardrailsPath} kind='quiet' isSmall>All guardrails</ButtonLink>}
    >
      {guardrails.length === 0
        ? (
          <EmptyState icon='guardrails' title='The account has no guardrails'>
            Create one first, then attach it here.
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

/** A select in a table cell. The column title is its visible label. */
function CellSelect(
  { name, label, options, value, isReadOnly }: {
    name: string
    label: string
    options: { value: string; title: string }[]
    value: string
    isReadOnly: boolean
  },
) {
  if (isReadOnly) return <>{options.find((option) => option.value === value)?.title}</>
  return (
    <select {...fieldAttributes({ name, label })} class='input' aria-label={label}>
      {options.map((option) => <option value={option.value} selected={option.value === value}>{option.title}</option>)}
    </select>
  )
}
