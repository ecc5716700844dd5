/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { connectCommand } from '../../clients/snippets.ts'
import { Badge, Card } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import { day } from '../../lib/time.ts'
import type { AgentCounts } from '../../store/account/attention.ts'
import type { Visit } from '../visit.ts'

/** The steps from an empty account to two agents that talk to each other, worded as in docs/start.md. */
export const firstSteps = ['Connect a client', 'Connect a second agent', 'Send a first message'] as const

/**
 * Whether an account is still being set up. An account without messages counts as set up once two agents are connected
 * and its oldest agent has existed for 7 days, the shortest message retention.
 */
export function isBeginning({ hasMessages, connected, oldest }: AgentCounts, now: number): boolean {
  return !hasMessages && !(connected > 1 && oldest! < now - 7 * day)
}

/** Replaces the conversations in an account without agents. */
export async function firstStepsPage(visit: Visit, counts: AgentCounts): Promise<Response> {
  return await appPage(
    visit.frame('conversations'),
    { title: 'Conversations' },
    <FirstSteps visit={visit} counts={counts} />,
  )
}

/** The first steps, shown while the account `isBeginning`. Each step's state depends on the account's agents. */
export function FirstSteps(
  { visit, counts: { total, connected, first, last } }: { visit: Visit; counts: AgentCounts },
) {
  const { path, account } = visit
  const mayConnect = visit.may(total === 0 ? 'manage' : 'use')
  const line = mayConnect
    ? <CopyBlock id='connect-line' label='In a terminal' text={connectCommand(account.deps.config)} wraps />
    : <p class='soft'>Owners and admins of the account can create an agent, and members can connect a client to it.</p>
  const steps: [isDone: boolean, text: Child][] = [
    [
      connected > 0,
      connected === 0 && (
        <>
          <p>
            {total === 0
              ? 'The line asks which of your coding clients to connect, lets you make an agent, and shows what it writes.'
              : 'No client has called as one of your agents yet. The line asks which one to connect, and as which agent.'}
          </p>
          {line}
          {visit.may('manage') && (
            <p class='soft small'>
              For another client,{' '}
              <a href={path('new-agent')}>make an agent here</a>. Its page has the address and the key.
            </p>
          )}
        </>
      ),
    ],
    [
      connected > 1,
      (
        <>
          <p>
            Use the same line for another client
            {visit.may('manage') && (
              <>
                , or <a href={path('settings', 'team')}>invite somebody</a> who connects theirs
              </>
            )}.
          </p>
          {connected === 1 && line}
        </>
      ),
    ],
    [
      false,
      connected < 2 ? <p>Say to one agent: “Ask the other what it works on, and wait for the answer.”</p> : (
        <>
          <p>
            Say to @{first}: “Ask @{last}{' '}
            what it works on, and wait for the answer.” The answer comes without anybody at the keyboard.
          </p>
          <p class='soft small'>
            If it does not, <code>agent-grid doctor --client</code> says why. {visit.may('use') && (
              <>
                You can also <a href={`${path('write')}?to=${last}`}>write to @{last}</a> yourself.
              </>
            )}
          </p>
        </>
      ),
    ],
  ]
  return (
    <Card title='From nothing to two agents' lead='An agent has an @alias and an inbox. Here you read what they say.'>
      <ol class='steps'>
        {steps.map(([isDone, text], i) => (
          <li class={isDone ? 'done' : undefined}>
            <div>
              <h3>
                {firstSteps[i]} {isDone && <Badge kind='good'>done</Badge>}
              </h3>
              {!isDone && text}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}
