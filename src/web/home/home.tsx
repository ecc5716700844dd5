/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** An account's home page: items that wait for the visitor, problems, and news. */
import type { Child } from 'hono/jsx'
import { findClaimOffer } from '../../grid/accounts/claim.ts'
import { countHeld, heldMessages } from '../../grid/approvals/held.ts'
import { attentionOf, countConditions } from '../../grid/attention/attention.ts'
import { figuresOf, maxNew, type News, newsOf, type Period } from '../../grid/conversations/news.ts'
import { countQuestions } from '../../grid/conversations/questions.ts'
import { NeedCard, type NeedRow } from '../../html/attention.tsx'
import { Card, Disclosure, Time, useZone } from '../../html/components.tsx'
import { Face, FaceSymbols } from '../../html/conversation/faces.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ThreadNames } from '../../html/conversation/thread-row.tsx'
import { appPage } from '../../html/layout.tsx'
import { Plot, PlotTable } from '../../html/plots.tsx'
import { FailedBackup } from '../attention/failed-backup.tsx'
import { ClaimOfferNotice } from '../accounts/claim.tsx'
import { HeldForYou } from '../approvals/held-list.tsx'
import { WaitingForYou } from '../attention/questions.tsx'
import { byUrgency, foldedRows, type ShownConditions } from '../attention/rows.tsx'
import { shownThread } from '../conversations/shown.ts'
import { pluralize } from '../listing.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { clockAt, day } from '../../lib/time.ts'
import { FirstSteps, isBeginning } from './first-steps.tsx'

/** Row limits. They keep the first problem visible without scrolling. */
const maxHeld = 4
const maxQuestions = 3
const maxBroken = 5
const maxWarnings = 3
const maxNews = 10

/** Registers Home, and the account's path, which redirects to it and preserves the query. */
export function homePages({ get }: Pages<Visit>, deps: PageDeps): void {
  get('', ({ path, query }) => ({ redirectTo: `${path('home')}${query.size === 0 ? '' : `?${query}`}` }))
  get('/home', (visit) => show(visit, deps))
  get('/overview', ({ path }) => ({ redirectTo: path('home') }))
}

async function show(visit: Visit, { store, attention }: PageDeps) {
  const { account, frame, query } = visit
  const unit = query.get('figures') === 'week' ? 'day' : 'hour'
  const offered = findClaimOffer(store, visit.visitor.user)
  const dayAgo = account.deps.now() - day
  const [offer, { open }, questions, held, heldCount, { reader, news, isCut }, periods, agents, unread] = await Promise
    .all([
      offered,
      attentionOf(account, offered, visit.conditions()),
      visit.questions(),
      heldMessages(account),
      countHeld(account),
      newsOf(account),
      figuresOf(account, unit),
      account.read.overview.agents(dayAgo),
      account.read.overview.unread(),
    ])
  const firstSteps = isBeginning(agents, account.deps.now()) && <FirstSteps visit={visit} counts={agents} />
  if (firstSteps && agents.total === 0) {
    return await appPage(
      frame('home'),
      { title: 'Home', fresh: ['presence', 'minute'] },
      <>
        <ClaimOfferNotice offer={offer} />
        {firstSteps}
      </>,
    )
  }
  attention.found({ id: visit.membership.id, account }, open)
  // Conversations that await the visitor's answer are already listed, so the news omits them.
  const others = news.filter(({ thread }) => !questions.some(({ threadId }) => threadId === thread.id))
  const { broken, warnings } = byUrgency(visit, open, 'home')
  const answers = countQuestions(questions)
  const isQuiet = heldCount.count + answers + broken.total + warnings.total === 0
  return await appPage(
    frame('home', countConditions(open) + answers + heldCount.count),
    { title: 'Home', fresh: ['attention', 'thread', 'count', 'minute', ...firstSteps ? ['presence' as const] : []] },
    <div class='stack'>
      {firstSteps}
      {!(firstSteps && isQuiet) && (
        <Summary visit={visit} held={heldCount} answers={answers} broken={broken.total} warnings={warnings.total} />
      )}
      <FailedBackup visit={visit} backups={store.backups} />
      <HeldForYou visit={visit} held={held} max={maxHeld} total={heldCount.count} isShort />
      <WaitingForYou visit={visit} questions={questions} from='home' max={maxQuestions} isShort />
      <Conditions visit={visit} part='broken' title='Broken' found={broken} max={maxBroken} />
      <Conditions visit={visit} part='warnings' title='Warnings' found={warnings} max={maxWarnings} />
      <SinceYouWereHere visit={visit} news={others} isCut={isCut} self={reader.personAlias?.alias} />
      {!firstSteps && <Figures visit={visit} figures={[periods, agents, unread]} unit={unit} />}
    </div>,
  )
}

/** All of the page's counts in one line. They add up to the navigation's count. */
function Summary(
  { visit, held: { count, firstEndsAt, isUrgent }, answers, broken, warnings }: {
    visit: Visit
    held: Awaited<ReturnType<typeof countHeld>>
    answers: number
    broken: number
    warnings: number
  },
) {
  const now = visit.account.deps.now()
  const attention = visit.path('attention')
  const part = (n: number, noun: string, href: string, isBad = false, more: Child = '') =>
    n > 0 && (
      <span class={isBad ? 'bad' : undefined}>
        <a href={href}>
          <b>{n.toLocaleString('en')}</b> {noun}
        </a>
        {more}
      </span>
    )
  if (count + answers + broken + warnings === 0) {
    return <p class='summary'>Nothing waits for you, and nothing is broken.</p>
  }
  const first = firstEndsAt !== null && `, ${count > 1 ? 'first in' : 'in'} ${durationInWords(firstEndsAt - now)}`
  return (
    <p class='summary'>
      {part(count, count === 1 ? 'decision' : 'decisions', visit.path('held'), isUrgent, first)}
      {part(answers, answers === 1 ? 'answer' : 'answers', `${attention}?show=answers`)}
      {part(broken, 'broken', `${attention}?show=broken`, true)}
      {part(warnings, warnings === 1 ? 'warning' : 'warnings', `${attention}?show=warnings`)}
    </p>
  )
}

function Conditions(
  { visit, part, title, found, max }: {
    visit: Visit
    part: 'broken' | 'warnings'
    title: string
    found: ShownConditions
    max: number
  },
) {
  if (found.shown.length === 0) return null
  const attention = visit.path('attention')
  const rows = foldedRows(visit, found, (fold) => ({ href: `${attention}?${new URLSearchParams({ show: fold })}` }))
  return <NeedCard title={title} all={`${attention}?show=${part}`} max={max} total={found.total} rows={rows} isShort />
}

/** Conversations with new messages, newest first, by name and count. Texts are shown only in the conversation. */
function SinceYouWereHere(
  { visit, news, isCut, self }: { visit: Visit; news: News[]; isCut: boolean; self?: string },
) {
  if (news.length === 0) return null
  const rows = news.slice(0, maxNews).map((one) => newsRow(visit, one, self))
  return (
    <>
      <FaceSymbols names={rows.map(({ face }) => face)} />
      <NeedCard title='Since you were here' all={visit.path('conversations')} rows={rows} isShort>
        {(isCut || news.length > maxNews) && (
          <p class='inside checked'>
            Older ones are in <a href={visit.path('conversations')}>Conversations</a>.
          </p>
        )}
      </NeedCard>
    </>
  )
}

function newsRow(visit: Visit, one: News, self: string | undefined): NeedRow & { face: string } {
  const { href, names, label, lastAt, unread } = shownThread(one.thread, visit.path, '', { self })
  const face = names[0].replace('@', '')
  return {
    face,
    icon: 'conversations',
    tone: one.failed > 0 ? 'bad' : 'info',
    picture: <Face name={face} />,
    href: `${href.replace(/#new$/, '')}#new`,
    isNew: true,
    isUrgent: unread > 0,
    what: (
      <>
        <ThreadNames names={names} label={label} /> <span class='soft small'>{newsInWords(one)}</span>
      </>
    ),
    facts: [],
    at: <Time at={lastAt} now={visit.account.deps.now()} />,
  }
}

function newsInWords({ messages, failed }: News): Child {
  const count = messages >= maxNew ? `${maxNew} or more new` : `${messages} new`
  if (failed === 0) return count
  return (
    <>
      <span class='bad'>{failed} failed</span>, {count}
    </>
  )
}

/** Figures for the last day or week: small charts, and the same numbers as a table. */
function Figures(
  { visit, figures: [periods, agents, unread], unit }: {
    visit: Visit
    figures: [Period[], { total: number; seen: number }, number]
    unit: 'hour' | 'day'
  },
) {
  const home = visit.path('home')
  const zone = useZone()
  const sum = (of: 'sent' | 'answers' | 'answerMs' | 'refused' | 'failed') =>
    periods.reduce((sum, period) => sum + period[of], 0)
  const [sent, refused, failed] = [sum('sent'), sum('refused'), sum('failed')]
  const timeOf = ({ answers, answerMs }: Pick<Period, 'answers' | 'answerMs'>, none: string) =>
    answers === 0 ? none : durationInWords(answerMs / answers)
  const answered = { answers: sum('answers'), answerMs: sum('answerMs') }
  const span = unit === 'hour' ? 'in the last 24 hours' : 'in the last 7 days'
  const per = `one bar for each ${unit}`
  const shown = (n: number) => n.toLocaleString('en')
  const nameOf = (at: number) =>
    unit === 'hour' ? clockAt(zone, at).toISOString().slice(11, 16) : new Date(at).toISOString().slice(0, 10)
  const names = periods.map(({ at }) => nameOf(at))
  return (
    <Card
      title='Figures'
      lead={`${pluralize(agents.total, 'agent')}, ${agents.seen.toLocaleString('en')} seen within a day. ${
        pluralize(unread, 'unread message')
      } in all inboxes.`}
      actions={
        <nav class='filters' aria-label='Time of the figures'>
          <a href={home} aria-current={unit === 'hour' ? 'page' : undefined}>24 hours</a>
          <a href={`${home}?figures=week`} aria-current={unit === 'day' ? 'page' : undefined}>7 days</a>
        </nav>
      }
    >
      <div class='grid stats'>
        <Plot
          title='Messages'
          value={shown(sent)}
          label={`${shown(sent)} messages ${span}, ${per}`}
          colours={['accent']}
          names={names}
          bars={periods.map(({ sent }) => [sent])}
        />
        <Plot
          title='Answer time'
          value={timeOf(answered, 'no answers')}
          label={`Answers took ${
            timeOf(answered, 'no time: there were none')
          } ${span}, ${per}, higher by a third for ten times as long`}
          colours={['info']}
          names={names}
          isLogarithmic
          bars={periods.map(({ answers, answerMs }) => [answerMs / Math.max(1, answers)])}
          inWords={([ms]) => ms === 0 ? 'no answers' : durationInWords(ms)}
        />
        <Plot
          title='Refused or failed'
          value={shown(refused + failed)}
          label={`${shown(refused)} messages were refused and ${shown(failed)} failed ${span}, ${per}`}
          colours={['warning', 'danger']}
          names={names}
          inWords={([refused, failed]) => `${shown(refused)} refused, ${shown(failed)} failed`}
          bars={periods.map(({ refused, failed }) => [refused, failed])}
        />
      </div>
      <Disclosure title='As a table'>
        <PlotTable
          caption={`Figures ${span}`}
          head={[unit === 'hour' ? `Hour (${zone})` : 'Day (UTC)', 'Messages', 'Answer time', 'Refused', 'Failed']}
          rows={periods.map(({ at, sent, refused, failed, ...answered }) => [
            nameOf(at),
            shown(sent),
            timeOf(answered, '–'),
            shown(refused),
            shown(failed),
          ])}
        />
      </Disclosure>
    </Card>
  )
}
