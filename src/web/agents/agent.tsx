/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Badge, Card, Facts, Notice, Time } from '../../html/bits.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { ConfirmDelete, CopyText } from '../../html/secrets.tsx'
import { GuardrailsCard, SettingsCard, SkillsCard } from './agent-cards.tsx'
import { typeName } from './agent-fields.tsx'
import { Connect } from './connect.tsx'
import { DeleteCard } from '../delete-card.tsx'
import type { Visit } from '../visit.ts'

/** The forms of the page; the one that was refused keeps what was typed. */
export type AgentForm = 'settings' | 'skills' | 'guardrails'

/** One agent: what it is, how to connect it, and what can be changed. Fails with `agent_not_found`. */
export async function showAgent(visit: Visit, refused?: AgentForm) {
  const { account, frame, path, param, may, fault, csrf } = visit
  const { agents, agentSettings, guardrails, keys, mailbox, skills } = account.read
  const agent = await agents.byAlias(param('alias'))
  if (!agent) throw new GridError('agent_not_found', 'The account has no such agent.')
  const [settings, accessList, ofAgent, unread, liveKeys, trial, guards, attached] = await Promise.all([
    agentSettings.byId(agent.id),
    agentSettings.accessList(agent.id),
    skills.ofAgent(agent.id),
    mailbox.unread(agent.id),
    keys.ofAgent(agent.id),
    agents.trial(agent.id),
    guardrails.list(),
    guardrails.ofAgent(agent.id),
  ])
  const now = account.deps.now()
  const [key] = liveKeys
  const here = path('agents', agent.alias)
  const formOf = (name: AgentForm) => refused === name ? { form: visit.form, fault } : {}
  const cards = { csrf, mayChange: may('manage') }
  const time = (at: number | null) => at === null ? <span class='soft'>never</span> : <Time at={at} now={now} />

  return appPage(
    frame('agents'),
    { title: `@${agent.alias}`, lead: agent.description, back: { title: 'Agents', href: path('agents') } },
    <>
      {fault && !fault.details.field && <Notice kind='bad'>{fault.message}</Notice>}
      {!may('manage') && (
        <Notice>
          You can look at this agent. Owners and admins of the account can change it.
        </Notice>
      )}
      <div class='grid halves'>
        <Card title='At a glance' actions={<AgentIcon alias={agent.alias} size={36} />}>
          <Facts
            items={[
              ['Type', typeName(agent.type)],
              [
                'Visibility',
                agent.visibility === 'public' ? <Badge kind='info'>public</Badge> : <Badge>private</Badge>,
              ],
              ['Mailbox', `${unread.toLocaleString('en')} unread`],
              ['Last seen', time(agent.lastSeenAt)],
              ['Created', time(agent.createdAt)],
              ...(settings.signupAddress === null ? [] : [
                ['Signed up from', <code>{settings.signupAddress}</code>],
                ['Signed up for', settings.signupEmail],
              ] as [string, string][]),
              ...(trial ? [['Trial', `${trial.used} of ${trial.max} messages used`] as [string, string]] : []),
              ['Id', <CopyText id='agent-id' label='the id of the agent' text={agent.id} />],
            ]}
          />
        </Card>
        <Card title='Key' lead='What its client shows. Only its last characters are known here.'>
          <Facts
            items={key
              ? [
                ['Key', <code>grid_agt_…{key.last4}</code>],
                ['Made', time(key.createdAt)],
                ['Last used', time(key.lastUsedAt)],
                ...(liveKeys.length > 1 ? [['Others', `${liveKeys.length - 1} more`] as [string, string]] : []),
              ]
              : [['Key', 'none that works']]}
          />
          {may('manage') && (key
            ? (
              <ConfirmDelete
                action={`${here}/key`}
                csrf={csrf}
                label='Replace the key'
                icon='again'
                question='The old key ends at once. The new one is shown once, to be given to its client.'
              />
            )
            : (
              <Form action={`${here}/key`} csrf={csrf}>
                <div class='row'>
                  <SubmitButton kind='plain'>Make a key</SubmitButton>
                </div>
              </Form>
            ))}
        </Card>
      </div>
      <Card title='Connect it' lead='Put its key where it says YOUR_AGENT_KEY.'>
        <Connect baseUrl={account.deps.config.baseUrl} />
      </Card>
      <SettingsCard
        {...cards}
        {...formOf('settings')}
        action={here}
        agent={{ ...agent, accessList, hasRemoteToken: settings.hasRemoteToken }}
      />
      <div class='grid halves'>
        <SkillsCard {...cards} {...formOf('skills')} action={`${here}/skills`} skills={ofAgent} />
        <GuardrailsCard
          {...cards}
          {...formOf('guardrails')}
          action={`${here}/guardrails`}
          guardrails={guards}
          attached={attached}
          guardrailsPath={path('guardrails')}
        />
      </div>
      {may('manage') && (
        <DeleteCard
          noun='agent'
          lead='Its keys end at once, it leaves its channels, and mail that waits for it is put aside. What it sent stays readable, and its alias stays reserved for this account.'
          action={`${here}/delete`}
          csrf={csrf}
          label={`Delete @${agent.alias}`}
          question={`Delete @${agent.alias}? This cannot be undone.`}
        />
      )}
    </>,
  )
}
