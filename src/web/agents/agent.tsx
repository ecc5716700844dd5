/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { listGrantsOfAgent } from '../../grid/oauth/grants.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Badge, Card, Facts, Notice, Time } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { ConfirmDelete, CopyText } from '../../html/secrets.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { AgentPrograms } from '../oauth/programs.tsx'
import type { Visit } from '../visit.ts'
import { AutomatedCard, GuardrailsCard, SettingsCard, SkillsCard } from './agent-cards.tsx'
import { typeName } from './agent-fields.tsx'
import { ConnectCard } from './connect-card.tsx'

/** The forms of the page. */
export type AgentForm = 'settings' | 'skills' | 'guardrails'

/**
 * The page of one agent: facts, connection instructions and forms. The form `rejected` shows the posted values again.
 * Fails with `agent_not_found`.
 */
export async function showAgent(visit: Visit, rejected?: AgentForm) {
  const { account, frame, path, param, may, inputError, csrf } = visit
  const { agents, agentSettings, conversations, guardrails, keys, inbox, seats, skills } = account.read
  const agent = await agents.byAlias(param('alias'))
  if (!agent) throw new GridError('agent_not_found', 'The account has no such agent.')
  // Programs cannot sign in as agents of other types.
  const maySignIn = agent.type === 'mcp' && may('use')
  // A person has neither key nor settings here: they are on the page of their profile.
  const isProgram = agent.type !== 'human'
  const [settings, accessList, ofAgent, unread, liveKeys, trial, guards, attached, isAutomated, programs, holder] =
    await Promise.all([
      agentSettings.byId(agent.id),
      agentSettings.accessList(agent.id),
      skills.ofAgent(agent.id),
      inbox.unread(agent.id),
      keys.ofAgent(agent.id, account.deps.now()),
      agents.trial(agent.id),
      guardrails.list(),
      guardrails.ofAgent(agent.id),
      conversations.isAutomated(agent.id),
      maySignIn ? listGrantsOfAgent(account, agent.id) : [],
      isProgram ? undefined : seats.holder(agent.id),
    ])
  const now = account.deps.now()
  const here = path('agents', agent.alias)
  const formOf = (name: AgentForm) => rejected === name ? { form: visit.form, inputError } : {}
  const cards = { csrf, mayChange: may('manage') }
  const time = (at: number | null) => at === null ? <span class='soft'>never</span> : <Time at={at} now={now} />

  return appPage(
    frame('agents'),
    { title: `@${agent.alias}`, lead: agent.description, back: { title: 'Agents', href: path('agents') } },
    <>
      {inputError && !inputError.details.field && <Notice kind='bad'>{inputError.message}</Notice>}
      {!may('manage') && (
        <Notice>
          You can view this agent. Owners and admins of the account can change it.
        </Notice>
      )}
      <div class='grid halves'>
        <Card title='Overview' actions={<AgentIcon alias={agent.alias} size={36} />}>
          <Facts
            items={[
              ['Type', typeName(agent.type)],
              ...(holder ? [['Name', holder.name || holder.email] as [string, string]] : []),
              [
                'Visibility',
                agent.visibility === 'public' ? <Badge kind='info'>public</Badge> : <Badge>private</Badge>,
              ],
              ['Inbox', `${unread.toLocaleString('en')} unread`],
              ['Last seen', time(agent.lastSeenAt)],
              ['Created', time(agent.createdAt)],
              ...(settings.signupAddress === null ? [] : [
                ['Signed up from', <code>{settings.signupAddress}</code>],
                ['Owner email', settings.signupEmail],
              ] as [string, string][]),
              ...(trial ? [['Trial', `${trial.used} of ${trial.max} messages used`] as [string, string]] : []),
              ['Id', <CopyText id='agent-id' label='the id of the agent' text={agent.id} />],
            ]}
          />
        </Card>
        {isProgram && (
          <Card title='Key' lead='The credential of its client. Only its last characters are shown.'>
            {liveKeys.length === 0 && <Facts items={[['Key', 'no active key']]} />}
            {liveKeys.map((key) => (
              <Facts
                items={[
                  ['Key', <code>grid_agt_…{key.last4}</code>],
                  ...(key.client === null ? [] : [['Fetched by', key.client] as [string, string]]),
                  ...(key.person === null
                    ? []
                    : [[key.client === null ? 'Issued by' : 'Authorized by', key.person] as [string, string]]),
                  ['Created', time(key.createdAt)],
                  ['Last used', time(key.lastUsedAt)],
                ]}
              />
            ))}
            {may('manage') && (liveKeys.length > 0
              ? (
                <ConfirmDelete
                  action={`${here}/key`}
                  csrf={csrf}
                  label='Replace key'
                  icon='again'
                  question='Every key above stops working at once. The new one is shown only once; give it to the client.'
                />
              )
              : (
                <Form action={`${here}/key`} csrf={csrf}>
                  <div class='row'>
                    <SubmitButton kind='plain'>Create key</SubmitButton>
                  </div>
                </Form>
              ))}
          </Card>
        )}
      </div>
      {isProgram && (
        <ConnectCard
          baseUrl={account.deps.config.baseUrl}
          alias={agent.alias}
          maySignIn={maySignIn}
        />
      )}
      {maySignIn && <AgentPrograms visit={visit} grants={programs} now={now} alias={agent.alias} />}
      {isProgram && (
        <>
          <SettingsCard
            {...cards}
            {...formOf('settings')}
            action={here}
            agent={{ ...agent, accessList, hasRemoteToken: settings.hasRemoteToken }}
          />
          <AutomatedCard {...cards} action={`${here}/automated`} isAutomated={isAutomated} />
        </>
      )}
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
      {isProgram && may('manage') && (
        <DeleteCard
          noun='agent'
          lead='Its keys stop working at once, it leaves its channels, and its unread messages are parked. Messages that it sent can still be read, and its alias stays reserved for this account.'
          action={`${here}/delete`}
          csrf={csrf}
          label={`Delete @${agent.alias}`}
          question={`Delete @${agent.alias}? This cannot be undone.`}
        />
      )}
    </>,
  )
}
