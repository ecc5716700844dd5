/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** An agent's settings, read-only for users who may not change them. */
import { isProgram } from '../../grid/agents/find-agent.ts'
import { approvalConsent, servicesFor } from '../../grid/guardrails/consents.ts'
import { listedProviders } from '../../guardrails/providers.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Facts, Notice } from '../../html/components.tsx'
import { CellSelect, Checkbox, type FieldOption } from '../../html/fields.tsx'
import { ButtonLink, SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import type { Agent, CallersWait } from '../../store/account/agents.ts'
import type { Guardrail, GuardrailAttachment, TextService } from '../../store/account/guardrails.ts'
import { DeleteCard, PageForm, SwitchForm } from '../forms.tsx'
import type { Visit } from '../visit.ts'
import {
  AccessFields,
  DescriptionField,
  policyName,
  RemoteFields,
  ReplyField,
  replyName,
  SkillsField,
  WaitField,
  waitName,
} from './agent-fields.tsx'
import { agentOf, agentPage } from './agent.tsx'

/** Shows the settings. Fails with `agent_not_found`. */
export async function showSettings(visit: Visit): Promise<Response> {
  const agent = await agentOf(visit)
  const { account, path, may } = visit
  const { agentSettings, guardrails, skills, turns } = account.read
  const [settings, accessList, ofAgent, guards, attached, services, isAutomated] = await Promise.all([
    agentSettings.byId(agent.id),
    agentSettings.accessList(agent.id),
    skills.ofAgent(agent.id),
    guardrails.list(),
    guardrails.ofAgent(agent.id),
    agent.type === 'human' ? servicesFor(account, agent.id) : [],
    turns.isAutomated(agent.id),
  ])
  const here = path('agents', agent.alias)
  const erased = await visit.takeShown<ErasedWords>()
  // Only programs get all cards. People are edited on their profile page, and a hook is deleted with its address.
  const isOfProgram = isProgram(agent)
  return await agentPage(visit, agent, 'settings', {
    content: (
      <>
        {erased !== undefined && erased !== 'shown' && <ErasedNotice erased={erased} />}
        {!may('manage') && (
          <Notice>
            You can view this agent. Owners and admins of the account can change it.
          </Notice>
        )}
        {isOfProgram && (
          <>
            <SettingsCard visit={visit} action={`${here}/settings`} agent={{ ...agent, accessList, ...settings }} />
            <AutomatedCard visit={visit} action={`${here}/automated`} isAutomated={isAutomated} />
          </>
        )}
        <div class='grid halves'>
          <SkillsCard visit={visit} action={`${here}/skills`} skills={ofAgent} />
          <GuardrailsCard
            visit={visit}
            action={`${here}/guardrails`}
            guardrails={guards}
            attached={attached}
            refused={services.filter(({ allowedAt }) => allowedAt === null)}
          />
        </div>
        {may('own') && (
          <Card
            title='Erase its messages'
            isDanger
            lead='Every message, file and result from this alias is removed, also from the inboxes and tasks of others. Messages from others stay, even where they quote it.'
          >
            <ConfirmDelete
              action={`${here}/erase-words`}
              label={`Erase messages from @${agent.alias}`}
              question={`Erase all messages, files and results from @${agent.alias}? This cannot be undone.`}
            />
          </Card>
        )}
        {isOfProgram && may('manage') && (
          <DeleteCard
            noun='agent'
            lead='Its keys stop working at once, it leaves its channels, and its unread messages are parked. Messages that it sent can still be read, and its alias stays reserved for this account.'
            action={`${here}/delete`}
            label={`Delete @${agent.alias}`}
            question={`Delete @${agent.alias}? This cannot be undone.`}
          />
        )}
      </>
    ),
  })
}

/** The counts of erased messages, and the recipients who may still have copies. */
export interface ErasedWords {
  rows: Record<string, number>
  kept: string[]
}

function ErasedNotice({ erased: { rows, kept } }: { erased: ErasedWords }) {
  const removed = Object.entries(rows)
  return (
    <Notice kind='good' title={removed.length === 0 ? 'There was nothing to erase' : 'The messages are erased'}>
      {removed.length > 0 && <Facts items={removed.map(([table, n]) => [table.replaceAll('_', ' '), String(n)])} />}
      {kept.map((sentence) => <p>{sentence}</p>)}
    </Notice>
  )
}

interface CardProps {
  visit: Visit
  /** The path to which the form posts. */
  action: string
}

function SettingsCard(
  props: CardProps & {
    agent: Agent & {
      accessList: { alias: string; pending: boolean }[]
      hasRemoteToken: boolean
      messageReplies: boolean
      callersWait: CallersWait
    }
  },
) {
  const { agent, action, visit } = props
  const { accessList, hasRemoteToken } = agent
  const messageReplies = agent.messageReplies ? 'yes' : 'no'
  const isRemote = agent.type === 'a2a'
  const namesOf = (listed: typeof accessList) => listed.map(({ alias }) => `@${alias}`).join(', ')
  const isClosed = ({ pending }: { pending: boolean }) => pending && agent.accessPolicy === 'allow_list'
  const pending = namesOf(accessList.filter(isClosed)) || undefined
  if (!visit.may('manage')) {
    return (
      <Card title='Settings'>
        <Facts
          items={[
            ['Description', agent.description || 'none'],
            ['Access from other accounts', policyName(agent.accessPolicy)],
            [
              'Access list',
              agent.accessPolicy !== 'auto_approve' && (namesOf(accessList) || 'empty'),
            ],
            ['Not let in yet', pending],
            ['Replies over A2A', replyName(messageReplies)],
            ['Calls over A2A wait', waitName(agent.callersWait)],
            ['Remote URL', isRemote && agent.remoteUrl],
          ]}
        />
      </Card>
    )
  }
  const stored = {
    description: agent.description,
    visibility: agent.visibility,
    accessPolicy: agent.accessPolicy,
    accessList: accessList.map(({ alias }) => alias).join('\n'),
    remoteUrl: agent.remoteUrl ?? '',
    messageReplies,
    callersWait: agent.callersWait,
  }
  return (
    <Card title='Settings' lead='The alias and the type cannot be changed.'>
      <PageForm visit={visit} action={action} fields={[...Object.keys(stored), 'remoteToken']}>
        <DescriptionField stored={stored} />
        {isRemote && <RemoteFields stored={stored} hasToken={hasRemoteToken} />}
        {isRemote && hasRemoteToken && <Checkbox name='forgetToken' label='Remove the stored token' />}
        <AccessFields stored={stored} />
        {pending && (
          <Notice title={`Not let in yet: ${pending}`}>
            When an agent of another account has one of these aliases, <a href={visit.path('attention')}>Attention</a>
            {' '}
            asks whether it is the one you meant.
          </Notice>
        )}
        <ReplyField stored={stored} />
        <WaitField stored={stored} />
        <SubmitRow>Save settings</SubmitRow>
      </PageForm>
    </Card>
  )
}

/**
 * Sets whether the agent is a script. A script's messages never count as turns. See docs/conversations.md,
 * "Conversations that run away".
 */
function AutomatedCard({ visit, action, isAutomated }: CardProps & { isAutomated: boolean }) {
  return (
    <Card
      title='Automated'
      lead='Agents that answer each other without end are paused. A script can be exempt from this.'
    >
      <p>{isAutomated ? 'This agent is marked as automated, and exempt.' : 'This agent is not marked as automated.'}</p>
      {visit.may('manage') && (
        <SwitchForm
          action={action}
          visit={visit}
          name='automated'
          isOn={isAutomated}
          turnOn='Mark as automated'
          turnOff='Not automated'
        />
      )}
    </Card>
  )
}

function SkillsCard({ visit, action, skills }: CardProps & { skills: { name: string; description: string }[] }) {
  const stored = { skills: skills.map(({ name }) => name).join('\n') }
  return (
    <Card title='Skills' lead='What the agent can do. Other agents can search by skill.'>
      {visit.may('manage')
        ? (
          <PageForm visit={visit} action={action} fields={['skills']}>
            <SkillsField stored={stored} />
            <SubmitRow>Save skills</SubmitRow>
          </PageForm>
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

const directions = [
  { value: '', title: 'not attached' },
  { value: 'both', title: 'sent and received' },
  { value: 'inbound', title: 'received' },
  { value: 'outbound', title: 'sent' },
]

function GuardrailsCard(
  { visit, action, guardrails, attached, refused }: CardProps & {
    guardrails: Guardrail[]
    attached: GuardrailAttachment[]
    /** The services that the person with this alias has not allowed. */
    refused: TextService[]
  },
) {
  const mayChange = visit.may('manage')
  const attachment = (id: string) => attached.find(({ guardrailId }) => guardrailId === id)
  const select = (name: string, label: string, options: FieldOption[], value = '') =>
    mayChange
      ? <CellSelect name={name} label={label} options={options} value={value} />
      : options.find((option) => option.value === value)?.title
  const table = (
    <Table
      id='guardrails'
      caption='Guardrails of this agent'
      rows={guardrails}
      columns={[
        {
          title: 'Guardrail',
          cell: ({ id, name, provider, host, enabled, action }) => (
            <>
              <Name text={name} /> {!enabled && <Badge kind='warning'>off</Badge>}
              {refused.some((service) => service.provider === provider && service.host === host) && (
                <div class='soft small'>
                  Checks nothing here: the person has not allowed sending messages to <Name text={host!} />.
                </div>
              )}
              {refused.some((service) => service.provider === approvalConsent.provider) &&
                (attachment(id)?.action ?? action) === 'hold' && (
                <div class='soft small'>
                  Checks nothing here: the person has not allowed others to decide on their messages.
                </div>
              )}
              <div class='soft small'>{listedProviders.find(({ id }) => id === provider)?.name ?? provider}</div>
            </>
          ),
        },
        {
          title: 'Checks',
          cell: ({ id, name }) =>
            select(`direction-${id}`, `Messages that ${name} checks`, directions, attachment(id)?.direction),
        },
        {
          title: 'Action',
          cell: ({ id, name, action }) => {
            const options = ['block', 'hold', 'redact', 'flag'].map((value) => ({ value, title: value }))
            const byDefault = { value: '', title: `${action} (default)` }
            return select(`action-${id}`, `Action of ${name}`, [byDefault, ...options], attachment(id)?.action ?? '')
          },
        },
      ]}
    />
  )
  return (
    <Card
      title='Guardrails'
      lead='They check its messages before these are stored.'
      actions={<ButtonLink href={visit.path('guardrails')} kind='quiet' isSmall>All guardrails</ButtonLink>}
    >
      {guardrails.length === 0
        ? (
          <EmptyState icon='guardrails' title='The account has no guardrails'>
            Create one first, then attach it here.
          </EmptyState>
        )
        : mayChange
        ? (
          <PageForm visit={visit} action={action}>
            {table}
            <SubmitRow>Save guardrails</SubmitRow>
          </PageForm>
        )
        : table}
    </Card>
  )
}
