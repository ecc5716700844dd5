/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The first page of an account: what waits for the visitor, what is stuck, and what is new. */
import { findClaimOffer } from '../../grid/accounts/claim.ts'
import { heldMessages } from '../../grid/approvals/held.ts'
import { attentionOf, type Condition } from '../../grid/attention.ts'
import { figuresOf, maxNew, type News, newsOf, type Period } from '../../grid/conversations/news.ts'
import { NeedCard } from '../../html/attention.tsx'
import { Card, Disclosure, useZone } from '../../html/components.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { ThreadList } from '../../html/conversation/thread-row.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Plot, PlotTable } from '../../html/plots.tsx'
import { FailedBackup } from '../attention/failed-backup.tsx'
import { ClaimOfferNotice } from '../accounts/claim.tsx'
import { HeldForYou } from '../approvals/held.tsx'
import { openRow } from '../attention/attention.tsx'
import { WaitingForYou } from '../attention/questions.tsx'
import { namesOf, shownThread } from '../conversations/shown.ts'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { clockAt } from '../../lib/time.ts'
import { FirstAgent } from './first-agent.tsx'

const maxQuestions = 8
const maxHeld = 5
const maxStuck = 5
const maxNews = 8

/** Registers Home, and the path of the account, which redirects to it and keeps what the query says. */
export function homePages({ get }: Pages<Visit>, deps: PageDeps): void {
  get('', ({ path, query }) => ({ redirectTo: `${path('home')}${query.size === 0 ? '' : `?${query}`}` }))
  get('/home', (visit) => show(visit, deps))
}

async function show(visit: Visit, { store, attention }: PageDeps) {
  const { account, frame, query } = visit
  const unit = query.get('figures') === 'week' ? 'day' : 'hour'
  const offered = findClaimOffer(store, visit.visitor.user)
  const [offer, hasPrograms, { open }, questions, held, { reader, news, isCut }, periods] = await Promise.all([
    offered,
    account.read.agents.hasPrograms(),
    attentionOf(account, offered, visit.conditions()),
    visit.questions(),
    heldMessages(account),
    newsOf(account),
    figuresOf(account, unit),
  ])
  if (!hasPrograms) {
    return await appPage(
      frame('home'),
      { title: 'Home' },
      <>
        <ClaimOfferNotice offer={offer} />
        <FirstAgent visit={visit} />
      </>,
    )
  }
  attention.found({ id: visit.membership.id, account }, open)
  // What waits for the visitor is not told twice.
  const others = news.filter(({ thread }) => !questions.some(({ threadId }) => threadId === thread.id))
  return await appPage(
    frame('home', open.length + questions.length + held.length),
    { title: 'Home', fresh: ['attention', 'thread', 'count', 'minute'] },
    <>
      <FailedBackup visit={visit} backups={store.backups} />
      <HeldForYou visit={visit} held={held} max={maxHeld} />
      {questions.length > 0
        ? <WaitingForYou visit={visit} questions={questions} from='home' max={maxQuestions} />
        : reader.personAlias && held.length === 0 && <p class='calm'>Nothing waits for your answer.</p>}
      <Stuck visit={visit} open={open} />
      <SinceYouWereHere visit={visit} news={others} isCut={isCut} self={reader.personAlias?.alias} />
      <Figures visit={visit} periods={periods} unit={unit} />
    </>,
  )
}

function Stuck({ visit, open }: { visit: Visit; open: Condition[] }) {
  if (open.length === 0) return <p class='calm'>Nothing is stuck.</p>
  const now = visit.account.deps.now()
  return (
    <NeedCard
      title='Stuck'
      all={visit.path('attention')}
      max={maxStuck}
      rows={open.map((condition) => openRow(visit, condition, now))}
    />
  )
}

const groups: [News['group'], string][] = [
  ['people', 'People and agents'],
  ['agents', 'Between agents'],
  ['channels', 'Channels'],
]

/** Conversations with news. It names them and counts: what was said is read in the conversation. */
function SinceYouWereHere(
  { visit, news, isCut, self }: { visit: Visit; news: News[]; isCut: boolean; self?: string },
) {
  if (news.length === 0) return <p class='calm'>No conversation has news since you looked.</p>
  const shown = groups.map(([group, title]) => ({ title, found: news.filter((one) => one.group === group) }))
  const names = news.flatMap(({ thread }) => namesOf(thread)).map((name) => name.replace('@', ''))
  return (
    <Card
      title='Since you were here'
      isFlush
      actions={<ButtonLink href={visit.path('conversations')} kind='quiet' isSmall>All conversations</ButtonLink>}
    >
      <FaceSymbols names={names} />
      <div class='news'>
        {shown.map(({ title, found }) =>
          found.length > 0 && (
            <section>
              <h3>{title}</h3>
              <ThreadList
                threads={found.slice(0, maxNews).map((one) => ({
                  ...shownThread(one.thread, visit.path, '', { self }),
                  preview: { text: newsInWords(one) },
                  isNew: true,
                }))}
                now={visit.account.deps.now()}
              />
            </section>
          )
        )}
      </div>
      {(isCut || shown.some(({ found }) => found.length > maxNews)) && (
        <p class='inside checked'>
          And more in <a href={visit.path('conversations')}>Conversations</a>.
        </p>
      )}
    </Card>
  )
}

function newsInWords({ messages, failed }: News): string {
  const count = messages >= maxNew ? `${maxNew} or more new` : `${messages} new`
  return failed === 0 ? count : `${failed} failed, ${count}`
}

/** Figures of the last day or week: small plots, and the same numbers as a table. */
function Figures({ visit, periods, unit }: { visit: Visit; periods: Period[]; unit: 'hour' | 'day' }) {
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
  return (
    <Card
      title='Figures'
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
          bars={periods.map(({ sent }) => [sent])}
        />
        <Plot
          title='Answer time'
          value={timeOf(answered, 'no answers')}
          label={`Answers took ${timeOf(answered, 'no time: there were none')} ${span}, ${per}`}
          colours={['info']}
          bars={periods.map(({ answers, answerMs }) => [answerMs / Math.max(1, answers)])}
        />
        <Plot
          title='Refused or failed'
          value={shown(refused + failed)}
          label={`${shown(refused)} messages were refused and ${shown(failed)} failed ${span}, ${per}`}
          colours={['warning', 'danger']}
          bars={periods.map(({ refused, failed }) => [refused, failed])}
        />
      </div>
      <Disclosure title='The numbers'>
        <PlotTable
          caption={`Figures ${span}`}
          head={[unit === 'hour' ? `Hour (${zone})` : 'Day (UTC)', 'Messages', 'Answer time', 'Refused', 'Failed']}
          rows={periods.map(({ at, sent, refused, failed, ...answered }) => [
            unit === 'hour' ? clockAt(zone, at).toISOString().slice(11, 16) : new Date(at).toISOString().slice(0, 10),
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
