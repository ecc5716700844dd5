/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Config } from '../../config.ts'
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { megabyte } from '../../grid/messaging/quota.ts'
import { HourlyChart } from '../../html/chart.tsx'
import { Card, EmptyState, Notice, Stat, Time } from '../../html/components.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { day, hour } from '../../lib/time.ts'
import type { AccountStore, Used } from '../../store/account.ts'
import type { ListedActivity } from '../../store/account/activity-list.ts'
import { FirstAgent } from '../conversations/home.tsx'
import type { PageDeps } from '../page-deps.ts'
import type { Pages, Visit } from '../visit.ts'
import { ActivitySentence, actorOf, loadNames, type NameLookup } from './activity-rows.tsx'
import { type CountOfGuardrail, objectionsInWords, sumsOf } from '../guardrails/objections.ts'
import { AgentName } from './agent-name.tsx'
import { ClaimOfferNotice } from './claim-offer.tsx'
import { ConversationNotices, loadConversations } from './conversations.tsx'

const recentActivityRows = 8
const mostUnreadRows = 5

/** Figures of an account, its recent activity, and the agents with the most unread messages. */
export function overviewPages({ get }: Pages<Visit>, { store }: PageDeps): void {
  get('/overview', async (visit) => overview(visit, await findClaimOffer(store, visit.visitor.user)))
}

async function overview(visit: Visit, offer: ClaimOffer | undefined) {
  const { account, frame, path, may } = visit
  const figures = await loadFigures(account)
  const newAgent = may('manage') && (
    <ButtonLink href={path('new-agent')} kind='main-action'>
      <Icon name='plus' />New agent
    </ButtonLink>
  )
  if (!await account.read.agents.hasPrograms()) {
    return appPage(
      frame('overview'),
      { title: 'Overview' },
      <>
        <ClaimOfferNotice offer={offer} />
        <FirstAgent visit={visit} />
      </>,
    )
  }
  const sent = figures.bars.reduce((sum, { count }) => sum + count, 0)
  return appPage(
    frame('overview'),
    { title: 'Overview', lead: 'The last 24 hours of your agents.', actions: newAgent, fresh: 'presence thread' },
    <>
      <ClaimOfferNotice offer={offer} />
      <ConversationNotices visit={visit} {...await loadConversations(account)} />
      <div class='grid stats'>
        <Stat label='Messages' value={sent.toLocaleString('en')} hint={soft('sent in the last 24 hours')} />
        <Stat
          label='Agents'
          value={figures.agents.toLocaleString('en')}
          hint={soft(`${figures.seen.toLocaleString('en')} seen in the last 24 hours`)}
        />
        <Stat label='Unread' value={figures.unread.toLocaleString('en')} hint={soft('in all inboxes')} />
      </div>
      <Objections counts={figures.objections} path={path} />
      <Card title='Messages per hour' lead='Times in UTC'>
        <HourlyChart id='messages' title='Messages per hour in the last 24 hours' bars={figures.bars} />
      </Card>
      <Usage used={figures.used} config={account.deps.config} />
      <div class='grid halves'>
        <RecentActivity
          rows={figures.recent}
          names={await loadNames(account, figures.recent, path)}
          now={account.deps.now()}
        />
        <UnreadAgents agents={figures.mostUnread} path={path} />
      </div>
    </>,
  )
}

/** What guardrails objected to; nothing if they did not. */
function Objections({ counts, path }: { counts: CountOfGuardrail[]; path: Path }) {
  if (counts.length === 0) return null
  const deleted = counts.filter(({ isDeleted }) => isDeleted)
  const present = new Set(counts.filter(({ isDeleted }) => !isDeleted).map(({ guardrailId }) => guardrailId))
  const [one] = present
  return (
    <Notice kind='warning'>
      In the last 24 hours, guardrails {objectionsInWords(sumsOf(counts))}.
      {deleted.length > 0 && ` Of these, guardrails that were deleted since ${objectionsInWords(sumsOf(deleted))}.`}
      {present.size > 0 && (
        <>
          {' '}
          <a href={present.size === 1 ? path('guardrails', one) : path('guardrails')}>
            {present.size === 1 ? 'See the cases' : 'See which guardrails'}
          </a>
        </>
      )}
    </Notice>
  )
}

/** What was sent today, of what the quotas allow. */
function Usage({ used, config }: { used: Used; config: Config }) {
  const messages = of(used.messages, config.messagesPerDay)
  const megabytes = of(Math.ceil(used.bytes / megabyte), config.megabytesPerDay)
  return (
    <Card title='Usage today' lead='Since midnight UTC'>
      <p>
        {messages} messages and {megabytes} MB.
      </p>
    </Card>
  )
}

/** A quota of 0 is none. */
function of(used: number, quota: number): string {
  return quota === 0 ? used.toLocaleString('en') : `${used.toLocaleString('en')} of ${quota.toLocaleString('en')}`
}

function soft(text: string) {
  return <span class='soft small'>{text}</span>
}

type Path = Visit['path']

function RecentActivity({ rows, names, now }: { rows: ListedActivity[]; names: NameLookup; now: number }) {
  return (
    <Card
      title='Activity'
      isFlush
      actions={<ButtonLink href={names.path('activity')} kind='quiet' isSmall>All activity</ButtonLink>}
    >
      {rows.length === 0 && (
        <EmptyState icon='activity' title='No activity yet'>
          What users and programs do in this account is listed here.
        </EmptyState>
      )}
      {rows.length > 0 && (
        <ul class='timeline'>
          {rows.map((row) => {
            const { name, credential } = actorOf(row)
            return (
              <li>
                <div>
                  <ActivitySentence row={row} names={names} />
                  <div class='soft small'>{name}, {credential}</div>
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

function UnreadAgents({ agents, path }: { agents: { alias: string; unread: number }[]; path: Path }) {
  return (
    <Card
      title='Most unread messages'
      isFlush
      actions={<ButtonLink href={path('agents')} kind='quiet' isSmall>All agents</ButtonLink>}
    >
      {agents.length === 0 && <EmptyState icon='inbox' title='No unread messages' />}
      {agents.length > 0 && (
        <ul class='timeline'>
          {agents.map(({ alias, unread }) => (
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

async function loadFigures(account: AccountStore) {
  const { activity, overview, verdicts } = account.read
  const now = account.deps.now()
  // The current hour and the 23 before it.
  const first = Math.floor(now / hour) * hour - 23 * hour
  const hours = Array.from({ length: 24 }, (_, index) => first + index * hour)
  const [{ total, seen }, { unread, mostUnread }, bars, recent, used, objections] = await Promise.all([
    overview.agents(now - day),
    overview.unreadTotals(mostUnreadRows),
    overview.sentPerHour(hours),
    activity.list({ limit: recentActivityRows }),
    account.usage.todayOfAll(),
    verdicts.countsByGuardrail(first),
  ])
  return { agents: total, seen, unread, bars, mostUnread, recent, used, objections }
}
