/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Everything that can need a person, for the gallery. */
import type { Condition } from '../../src/grid/attention.ts'
import { Ago, EndSnooze, Meter, NeedList, SnoozeMenu } from '../../src/html/attention.tsx'
import { Card } from '../../src/html/components.tsx'
import { ButtonLink } from '../../src/html/form.tsx'
import { appPage } from '../../src/html/layout.tsx'
import { inWords } from '../../src/web/attention/condition-words.tsx'
import { csrf, frame, minute, now } from './gallery-frame.ts'

const since = now - 130 * minute
const common = { subject: 'x', since, level: 1 }
const key = { id: 'k', name: 'deploys', last4: 'db8w', createdAt: now - 400 * 24 * 60 * minute }
const caller = {
  ...{ actorType: 'admin', userId: null, userName: null, userEmail: null, agentAlias: null, clientName: null },
  ...{ keyName: 'first key', keyLast4: 'db8w', credentialKind: 'admin_key', credentialId: 'k' },
}

const conditions: Condition[] = [
  {
    ...{ ...common, kind: 'paused' },
    of: { key: 'p', agents: ['planner', 'builder'], turns: 200, since, pausedAt: since },
  },
  { ...common, kind: 'guardrail', of: { guardrailId: 'g', name: 'Prompt Shields', messages: 12, since } },
  { ...common, kind: 'released', of: { agentId: 'a', alias: 'night-watch', messages: 3, since, releases: 7 } },
  {
    ...common,
    kind: 'parked',
    of: { agentId: 'a', alias: 'translator', isDeleted: true, messages: 41, releases: 0, since },
  },
  {
    ...common,
    kind: 'unread',
    of: { agentId: 'a', alias: 'design-critic', lastSeenAt: since, since, unread: 24, sender: 'planner' },
  },
  {
    ...{ ...common, kind: 'unread' },
    of: { agentId: 'b', alias: 'a-very-long-alias-of-an-agent-00', lastSeenAt: null, since, unread: 1_000 },
  },
  { ...common, kind: 'refused', of: { ...caller, calls: 14, since, outcome: 'not_allowed' } },
  { ...common, kind: 'turns', of: { key: 'x', agents: ['planner', 'ops'], turns: 47, since } },
  { ...common, kind: 'quota', of: { quota: 'messages', used: 181_204, max: 200_000 } },
  { ...common, kind: 'claim', of: { provisionalId: 'c', agents: 2, trialEndsAt: now + 200 * minute } },
  { ...common, kind: 'key', of: { ...key, kind: 'admin_key', alias: null, lastUsedAt: now - 5 * minute } },
  { ...common, kind: 'key', of: { ...key, kind: 'agent_key', alias: 'builder', lastUsedAt: null } },
]

const times: [string, string][] = [['hour', 'For 1 hour'], ['tomorrow', 'Until tomorrow'], ['week', 'For a week']]

/** The page by its path. */
export const attentionPages: Record<string, () => Promise<Response>> = {
  '/attention': () =>
    appPage(
      { ...frame, current: 'attention', attention: conditions.length },
      { title: 'Attention', lead: 'What needs a person, as it is now.' },
      <>
        <nav class='filters wraps' aria-label='Kinds'>
          <a href='/attention' aria-current='page'>
            All <b>12</b>
          </a>
          {['Runaway', 'Waiting', 'Failing', 'Refused', 'Limits', 'Claims', 'Keys'].map((title) => (
            <a href='/attention'>
              {title} <b>2</b>
            </a>
          ))}
        </nav>
        <Card isFlush>
          <NeedList
            label='What needs a person'
            rows={conditions.map((condition) => ({
              ...inWords(condition, now),
              actions: (
                <>
                  <ButtonLink href='/attention' isSmall>Open</ButtonLink>
                  <SnoozeMenu action='/attention' csrf={csrf} fields={condition} times={times} />
                </>
              ),
            }))}
          />
          <p class='inside checked'>
            Checked <Ago at={now} />.
          </p>
        </Card>
        <Card title='Snoozed' isFlush>
          <NeedList
            label='Snoozed'
            rows={[{
              ...inWords(conditions[0], now),
              actions: <EndSnooze action='/attention' csrf={csrf} fields={conditions[0]} />,
            }]}
          />
        </Card>
        <Card title='Usage today'>
          <Meter label='Messages' used={181_204} quota={200_000} unit='messages' />
          <Meter label='Size' used={12} quota={1_000} unit='MB' />
          <Meter label='Without a quota' used={12} quota={0} unit='MB' />
        </Card>
      </>,
    ),
}
