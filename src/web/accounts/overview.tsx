/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { type Limits, limitsOf } from '../../grid/accounts/limits.ts'
import { megabyte } from '../../grid/messaging/quota.ts'
import { Meter } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { BarChart } from '../../html/chart.tsx'
import { Card, EmptyState, Stat, Time } from '../../html/components.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { day, hour, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Used } from '../../store/account/usage.ts'
import type { ListedActivity } from '../../store/account/activity.ts'
import { FailedBackup } from '../attention/failed-backup.tsx'
import { FirstAgent } from '../home/first-agent.tsx'
import { NewButton } from '../listing.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { ActivitySentence, actorOf, loadNames, type NameLookup } from './activity-rows.tsx'
import { type CountOfGuardrail, sumsOf, verdictActions } from '../guardrails/guardrail-history.tsx'
import { ClaimOfferNotice } from './claim.tsx'

const recentActivityRows = 8
const shownGuardrails = 5

/** Figures of an account: what its agents sent, what guardrails did, its usage and its recent activity. */
export function overviewPages({ get }: Pages<Visit>, { store }: PageDeps): void {
  get(
    '/overview',
    async (visit) => await overview(visit, findClaimOffer(store, visit.visitor.user), store.backups),
  )
}

async function overview(
  visit: Visit,
  offered: Promise<ClaimOffer | undefined>,
  backups: PageDeps['store']['backups'],
) {
  const { account, frame, path, may } = visit
  const [offer, hasPrograms, limits, figures] = await Promise.all([
    offered,
    account.read.agents.hasPrograms(),
    limitsOf(account),
    loadFigures(account),
  ])
  const newAgent = may('manage') && <NewButton href={path('new-agent')} noun='agent' />
  if (!hasPrograms) {
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
    { title: 'Overview', lead: 'The last 24 hours of your agents.', actions: newAgent, fresh: ['presence', 'thread'] },
    <>
      <FailedBackup visit={visit} backups={backups} />
      <div class='grid stats'>
        <Stat label='Messages' value={sent.toLocaleString('en')} hint={soft('sent in the last 24 hours')} />
        <Stat
          label='Agents'
          value={figures.agents.toLocaleString('en')}
          hint={soft(`${figures.seen.toLocaleString('en')} seen in the last 24 hours`)}
        />
        <Stat
          label='Unread'
          value={figures.unread.toLocaleString('en')}
          hint={soft('in all inboxes')}
        />
      </div>
      <Card title='Messages per hour' lead={`Times in ${visit.timeZone}`}>
        <BarChart
          id='messages'
          title='Messages per hour in the last 24 hours'
          unit='hour'
          series={[{ name: 'Messages', colour: 'accent' }]}
          bars={figures.bars.map(({ at, count }) => ({ at, counts: [count] }))}
        />
      </Card>
      <div class='grid halves'>
        <RecentActivity
          rows={figures.recent}
          names={await loadNames(visit, figures.recent)}
          now={account.deps.now()}
        />
        <div class='stack'>
          <Usage used={figures.used.account} limits={limits} />
          <Guarded counts={figures.guarded} path={path} />
        </div>
      </div>
    </>,
  )
}

/** What guardrails did, the strictest first; nothing if they did nothing. */
function Guarded({ counts, path }: { counts: CountOfGuardrail[]; path: Path }) {
  if (counts.length === 0) return null
  const deleted = counts.filter(({ name }) => name === null)
  const ids = [...new Set(counts.filter(({ name }) => name !== null).map(({ guardrailId }) => guardrailId))]
  const present = ids.map((id) => counts.filter(({ guardrailId }) => guardrailId === id))
  const all = (counts: CountOfGuardrail[]) => counts.reduce((sum, { n }) => sum + n, 0)
  const shown = present.sort((a, b) => all(b) - all(a)).slice(0, shownGuardrails)
  return (
    <Card
      title='What guardrails did'
      lead='In the last 24 hours'
      isFlush
      actions={<ButtonLink href={path('guardrails')} kind='quiet' isSmall>All guardrails</ButtonLink>}
    >
      <ul class='timeline'>
        {shown.map((counts) => (
          <li>
            <div>
              <a class='alone' href={path('guardrails', counts[0].guardrailId)}>
                <Name text={counts[0].name!} />
              </a>
            </div>
            <Sums counts={counts} />
          </li>
        ))}
        {present.length > shown.length && <li class='soft'>and {present.length - shown.length} more</li>}
        {deleted.length > 0 && (
          <li>
            <div class='soft'>Deleted since</div>
            <Sums counts={deleted} />
          </li>
        )}
      </ul>
    </Card>
  )
}

function Sums({ counts }: { counts: CountOfGuardrail[] }) {
  const sums = sumsOf(counts)
  return (
    <span class='pairs'>
      {verdictActions.filter((action) => sums[action] > 0).map((action) => (
        <span>
          {sums[action].toLocaleString('en')} {verdictWords[action]}
        </span>
      ))}
    </span>
  )
}

const verdictWords = {
  blocked: 'blocked',
  held: 'held',
  redacted: 'redacted',
  flagged: 'flagged',
  unchecked: 'delivered unchecked',
  failed: 'not checked and refused',
} as const

/** What was sent today, of what the quotas allow. */
function Usage({ used, limits }: { used: Used; limits: Limits }) {
  return (
    <Card title='Usage today' lead='Since midnight UTC'>
      <Meter label='Messages' used={used.messages} quota={limits.messagesPerDay} unit='messages' />
      <Meter label='Size' used={Math.ceil(used.bytes / megabyte)} quota={limits.megabytesPerDay} unit='MB' />
    </Card>
  )
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

async function loadFigures(account: AccountStore) {
  const { activity, traffic, overview, verdicts } = account.read
  const now = account.deps.now()
  // The current hour and the 23 before it.
  const first = Math.floor(now / hour) * hour - 23 * hour
  const [{ total, seen }, unread, sent, recent, used, guarded] = await Promise.all([
    overview.agents(now - day),
    overview.unread(),
    traffic.totals(hour, first),
    // Readings are in the log, and would leave no room for what changed.
    activity.list({ limit: recentActivityRows, isChange: true }),
    account.read.usage.of(startOfDay(now), null),
    verdicts.countsByGuardrail(first),
  ])
  const bars = Array.from({ length: 24 }, (_, index) => {
    const at = first + index * hour
    return { at, count: sent.find((total) => total.at === at)?.count ?? 0 }
  })
  return { agents: total, seen, unread, bars, recent, used, guarded }
}
