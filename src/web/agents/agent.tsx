/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { GridError } from '../../errors.ts'
import { isProgram } from '../../grid/agents/find-agent.ts'
import { listGrantsOfAgent } from '../../grid/oauth/grants.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Badge, type BadgeKind, Tabs, Time } from '../../html/components.tsx'
import { type AppPage, appPage } from '../../html/layout.tsx'
import { type Presence, presenceWords, type RemotePresence } from '../../presence.ts'
import type { Agent } from '../../store/account/agents.ts'
import { Refusal } from '../forms.tsx'
import type { Visit } from '../visit.ts'

/** The tabs of an agent's page: its current state, how programs connect as it, and its settings. */
export type AgentTab = 'now' | 'connect' | 'settings'

/** Returns the path of a tab on an agent's page. */
export function agentPath({ path }: Pick<Visit, 'path'>, alias: string, tab: AgentTab): string {
  return tab === 'now' ? path('agents', alias) : path('agents', alias, tab)
}

/** Returns the live agent named in the path. Fails with `agent_not_found`. */
export async function agentOf({ account, param }: Visit): Promise<Agent> {
  const agent = await account.read.agents.byAlias(param('alias'))
  if (!agent) throw new GridError('agent_not_found', 'The account has no such agent.')
  return agent
}

/** Returns an agent's keys and OAuth clients that the visitor may see. Only MCP agents have OAuth clients. */
export async function accessOf({ account, may }: Visit, { id, type }: Agent) {
  const maySignIn = type === 'mcp' && may('use')
  const [keys, programs] = await Promise.all([
    account.read.keys.ofAgent(id, account.deps.now()),
    maySignIn ? listGrantsOfAgent(account, id) : [],
  ])
  return { keys, programs, maySignIn }
}

/** Paths of the actions whose forms show their own errors. */
const showsItself = /\/(settings|skills|guardrails|keys)$/

/** Renders a page about one agent, with its tabs. People have no tab "Connect". */
export function agentPage(
  visit: Visit,
  agent: Agent,
  current: AgentTab,
  { actions, content, ...live }: { actions?: Child; content: Child } & Pick<AppPage, 'fresh' | 'threads'>,
): Promise<Response> {
  const { inputError, frame, path, request } = visit
  const tabs: [AgentTab, string][] = [
    ['now', 'Now'],
    ...(isProgram(agent) ? [['connect', 'Connect'] as [AgentTab, string]] : []),
    ['settings', 'Settings'],
  ]
  return appPage(
    frame('agents'),
    {
      title: `@${agent.alias}`,
      heading: (
        <>
          <AgentIcon alias={agent.alias} size={36} />@{agent.alias}
        </>
      ),
      lead: agent.description,
      back: { title: 'Agents', href: path('agents') },
      actions,
      ...live,
    },
    <>
      {inputError && !showsItself.test(new URL(request.url).pathname) && (
        <Refusal visit={visit}>{inputError.message}</Refusal>
      )}
      <Tabs
        label={`@${agent.alias}`}
        items={tabs.map(([tab, title]) => ({
          title,
          href: agentPath(visit, agent.alias, tab),
          isCurrent: tab === current,
        }))}
      />
      {content}
    </>,
  )
}

/** Shows an agent's presence. See docs/conversations.md, "Presence". */
export function PresenceNow(
  { presence, lastSeenAt, now }: {
    presence: Presence | RemotePresence | undefined
    lastSeenAt: number | null
    now: number
  },
) {
  if (presence) {
    const words = presenceWords(presence, lastSeenAt, now).replace('remote, ', '')
    return <Badge kind={kindOf(presence)} title={meaning[presence.state]}>{words}</Badge>
  }
  return <Time at={lastSeenAt} now={now} />
}

function kindOf(presence: Presence | RemotePresence): BadgeKind {
  if (presence.state !== 'remote') return presence.state === 'waiting' ? 'plain' : 'good'
  return presence.pausedAt !== null ? 'warning' : presence.failingSince !== null ? 'bad' : 'plain'
}

const meaning: Record<(Presence | RemotePresence)['state'], string> = {
  remote: 'Messages are sent to its server',
  attended: 'A session of a person listens for messages',
  runner: 'A program runs it unattended',
  waiting: 'A read or a stream waits for messages',
}
