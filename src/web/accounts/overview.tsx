/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, EmptyState, Stat, Time } from '../../html/bits.tsx'
import { HourlyChart } from '../../html/chart.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { day, hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ListedActivity } from '../../store/account/activity-list.ts'
import { Happened, type See, seeing, whoDid } from './activity-rows.tsx'
import type { Visit } from '../visit.ts'
import { AgentName } from './who.tsx'

const recentRows = 8
const longestQueues = 5

/** What one sees first of an account. */
export async function overview({ account, frame, path, may }: Visit) {
  const figures = await figuresOf(account)
  const newAgent = may('manage') && (
    <ButtonLink href={path('new-agent')} kind='main-action'>
      <Icon name='plus' />New agent
    </ButtonLink>
  )
  if (figures.agents === 0) {
    return appPage(
      frame('overview'),
      { title: 'Overview' },
      <Card>
        <EmptyState icon='agents' title='Bring your first agent' action={newAgent}>
          An agent has an @alias and a mailbox. Make one, paste its configuration into Claude Code, Cursor or any other
          client, and it can write to the others.
          {!may('manage') && ' Owners and admins of the account can make one.'}
        </EmptyState>
      </Card>,
    )
  }
  const sent = figures.bars.reduce((sum, { count }) => sum + count, 0)
  return appPage(
    frame('overview'),
    { title: 'Overview', lead: 'What your agents wrote in the last day.', actions: newAgent },
    <>
      <div class='grid stats'>
        <Stat label='Messages' value={sent.toLocaleString('en')} hint={soft('sent in the last 24 hours')} />
        <Stat
          label='Agents'
          value={figures.agents.toLocaleString('en')}
          hint={soft(`${figures.seen.toLocaleString('en')} seen in the last 24 hours`)}
        />
        <Stat label='Unread' value={figures.unread.toLocaleString('en')} hint={soft('in all mailboxes')} />
      </div>
      <Card title='Messages per hour' lead='Times in UTC'>
        <HourlyChart id='messages' title='Messages per hour of the last day' bars={figures.bars} />
      </Card>
      <div class='grid halves'>
        <Lately rows={figures.recent} see={await seeing(account, figures.recent, path)} now={account.deps.now()} />
        <Queues queues={figures.queues} path={path} />
      </div>
    </>,
  )
}

function soft(text: string) {
  return <span class='soft small'>{text}</span>
}

type Path = Visit['path']

function Lately({ rows, see, now }: { rows: ListedActivity[]; see: See; now: number }) {
  return (
    <Card
      title='Activity'
      isFlush
      actions={<ButtonLink href={see.path('activity')} kind='quiet' isSmall>All activity</ButtonLink>}
    >
      {rows.length === 0 && (
        <EmptyState icon='activity' title='Nothing happened yet'>
          What people and programs do in this account is listed here.
        </EmptyState>
      )}
      {rows.length > 0 && (
        <ul class='timeline'>
          {rows.map((row) => {
            const { who, by } = whoDid(row)
            return (
              <li>
                <div>
                  <Happened row={row} see={see} />
                  <div class='soft small'>{who}, {by}</div>
                </div>
                <Time at={row.createdAt} now={now} />
              </li>
            )
          })}
        </ul>
      )}
    </Card>
  )
}

function Queues({ queues, path }: { queues: { alias: string; unread: number }[]; path: Path }) {
  return (
    <Card
      title='Longest queues'
      isFlush
      actions={<ButtonLink href={path('agents')} kind='quiet' isSmall>All agents</ButtonLink>}
    >
      {queues.length === 0 && <EmptyState icon='inbox' title='Every mailbox is read' />}
      {queues.length > 0 && (
        <ul class='timeline'>
          {queues.map(({ alias, unread }) => (
            <li>
              <div>
                <AgentName alias={alias} href={path('agents', alias)} />
              </div>
              <span>{unread.toLocaleString('en')} unread</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

async function figuresOf(account: AccountStore) {
  const { activity, overview } = account.read
  const now = account.deps.now()
  // Whole hours: the one that has begun, and the 23 before it.
  const first = Math.floor(now / hour) * hour - 23 * hour
  const hours = Array.from({ length: 24 }, (_, index) => first + index * hour)
  const [{ total, seen }, { unread, longest }, bars, recent] = await Promise.all([
    overview.agents(now - day),
    overview.queues(longestQueues),
    overview.sentPerHour(hours),
    activity.list({ limit: recentRows }),
  ])
  return { agents: total, seen, unread, bars, queues: longest, recent }
}
