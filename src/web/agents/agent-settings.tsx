/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What can be changed about an agent. Users who may not change it see the values. */
import { Notice } from '../../html/components.tsx'
import { DeleteCard } from '../forms.tsx'
import type { Visit } from '../visit.ts'
import { agentOf, agentPage } from './agent.tsx'
import { AutomatedCard, GuardrailsCard, SettingsCard, SkillsCard } from './agent-cards.tsx'

/** The page. Fails with `agent_not_found`. */
export async function showSettings(visit: Visit): Promise<Response> {
  const agent = await agentOf(visit)
  const { account, path, may, csrf } = visit
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
            <SettingsCard visit={visit} action={`${here}/settings`} agent={{ ...agent, accessList, ...settings }} />
            <AutomatedCard visit={visit} action={`${here}/automated`} isAutomated={isAutomated} />
          </>
        )}
        <div class='grid halves'>
          <SkillsCard visit={visit} action={`${here}/skills`} skills={ofAgent} />
          <GuardrailsCard visit={visit} action={`${here}/guardrails`} guardrails={guards} attached={attached} />
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
