/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What can be changed about an agent. Users who may not change it see the values. */
import { Notice } from '../../html/components.tsx'
import { DeleteCard } from '../delete-card.tsx'
import type { Visit } from '../visit.ts'
import { agentOf, agentPage, agentPath } from './agent.tsx'
import { AutomatedCard, GuardrailsCard, SettingsCard, SkillsCard } from './agent-cards.tsx'

/** The forms of the page. */
export type AgentForm = 'settings' | 'skills' | 'guardrails'

/** The page. The form `rejected` shows the posted values again. Fails with `agent_not_found`. */
export async function showSettings(visit: Visit, rejected?: AgentForm): Promise<Response> {
  const agent = await agentOf(visit)
  const { account, path, may, inputError, csrf } = visit
  const { agentSettings, guardrails, skills, turns } = account.read
  const [settings, accessList, ofAgent, guards, attached, isAutomated] = await Promise.all([
    agentSettings.byId(agent.id),
    agentSettings.accessList(agent.id),
    skills.ofAgent(agent.id),
    guardrails.list(),
    guardrails.ofAgent(agent.id),
    turns.isAutomated(agent.id),
  ])
  const here = path('agents', agent.alias)
  const formOf = (name: AgentForm) => rejected === name ? { form: visit.form, inputError } : {}
  const cards = { csrf, mayChange: may('manage') }
  // A person is changed on the page of their profile.
  const isProgram = agent.type !== 'human'
  return await agentPage(visit, agent, 'settings', {
    content: (
      <>
        {!may('manage') && (
          <Notice>
            You can view this agent. Owners and admins of the account can change it.
          </Notice>
        )}
        {isProgram && (
          <>
            <SettingsCard
              {...cards}
              {...formOf('settings')}
              action={agentPath(visit, agent.alias, 'settings')}
              agent={{ ...agent, accessList, ...settings }}
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
      </>
    ),
  })
}
