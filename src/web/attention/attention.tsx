/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Items that need a person. See docs/web.md, "Attention". */
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { countHeld, heldMessages } from '../../grid/approvals/held.ts'
import {
  type Attention,
  attentionOf,
  type Condition,
  countConditions,
  endSnooze,
  snooze,
  snoozeTimes,
} from '../../grid/attention/attention.ts'
import { recordReading } from '../../grid/conversations/may-read.ts'
import type { OpenMessage } from '../../grid/conversations/open.ts'
import { countQuestions, type Question } from '../../grid/conversations/questions.ts'
import { Ago, EndSnooze, NeedCard, NeedList, type NeedRow, SnoozeMenu } from '../../html/attention.tsx'
import { Card, Disclosure, EmptyState, LocalTime } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { utc } from '../../lib/time.ts'
import type { HeldRow } from '../../store/account/held.ts'
import { HeldForYou } from '../approvals/held-list.tsx'
import { lastMessages, Said } from '../conversations/paused.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { foldOf, inWords } from './condition-words.tsx'
import { FailedBackup } from './failed-backup.tsx'
import { WaitingForYou } from './questions.tsx'
import { byUrgency, foldedRows, type ShownConditions } from './rows.tsx'

/**
 * The filters above the rows, by the value of `show`. Their counts match those on Home and add up to the navigation's
 * count.
 */
const titles = { decisions: 'Decisions', answers: 'Answers', broken: 'Broken', warnings: 'Warnings' } as const
type Part = keyof typeof titles
const parts = Object.keys(titles) as Part[]

const maxHeld = 20

const snoozeTitles: Record<(typeof snoozeTimes)[number], string> = {
  hour: 'For 1 hour',
  tomorrow: 'Until tomorrow, 8:00',
  week: 'For a week',
}

export function attentionPages({ get, post }: Pages<Visit>, { store, attention }: PageDeps): void {
  const offerTo = (visit: Visit): Promise<ClaimOffer | undefined> => findClaimOffer(store, visit.visitor.user)
  const given = ({ form }: Visit) => ({ kind: form.get('kind') ?? '', subject: form.get('subject') ?? '' })

  get('/attention', async (visit) => {
    const [found, questions, held, { count }] = await Promise.all([
      attentionOf(visit.account, offerTo(visit), visit.conditions(), { isReading: true }),
      visit.questions(),
      heldMessages(visit.account),
      countHeld(visit.account),
    ])
    attention.found({ id: visit.membership.id, account: visit.account }, found.open)
    const [said] = await Promise.all([
      lastMessages(visit, found.open.filter(({ isHidden }) => !isHidden)),
      found.readsOthers && recordReading(visit.account, { list: 'tasks' }, visit.requestId),
    ])
    return page(visit, found, { questions, held, decisions: count, said }, store.backups)
  })
  post('/attention/snooze', async (visit) => {
    const time = visit.form.get('time') ?? ''
    const isSnoozed = await snooze(visit.account, await offerTo(visit), {
      ...given(visit),
      time,
      timeZone: visit.timeZone,
    })
    return visit.done(isSnoozed ? 'snoozed' : 'well-again', 'attention')
  })
  post('/attention/show-again', async (visit) => {
    await endSnooze(visit.account, given(visit))
    return visit.done('shown-again', 'attention')
  })
}

interface Waiting {
  questions: Question[]
  held: HeldRow[]
  /** The number of messages that wait for the visitor's decision. */
  decisions: number
  /** The latest messages of conversations, by thread. */
  said: Map<number, OpenMessage[]>
}

function page(
  visit: Visit,
  { open, snoozed }: Attention,
  { questions, held, decisions, said }: Waiting,
  backups: PageDeps['store']['backups'],
) {
  const { account, frame, path, query } = visit
  const now = account.deps.now()
  const show = query.get('show')
  // A summary row on Home links here, with `show` selecting the rows that it summarizes.
  const ofFold = open.filter((condition) => foldOf(condition) === show)
  const found = byUrgency(visit, ofFold.length > 0 ? ofFold : open, 'attention')
  const all = byUrgency(visit, open, 'attention')
  const counts: Record<Part, number> = {
    decisions,
    answers: countQuestions(questions),
    broken: all.broken.total,
    warnings: all.warnings.total,
  }
  const total = decisions + counts.answers + countConditions(open)
  const chosen = parts.find((part) => part === show && counts[part] > 0)
  const shows = (part: Part) =>
    ofFold.length > 0 ? part === 'broken' || part === 'warnings' : !chosen || part === chosen
  const isAll = !chosen && ofFold.length === 0
  return appPage(
    frame('attention', total),
    { title: 'Attention', lead: 'What needs a person now.', fresh: ['attention', 'minute'] },
    <>
      {total > 0 && (
        <nav class='filters wraps' aria-label='Kinds'>
          <a href={path('attention')} aria-current={isAll ? 'page' : undefined}>
            All <b>{total.toLocaleString('en')}</b>
          </a>
          {parts.map((part) =>
            counts[part] > 0 && (
              <a href={`${path('attention')}?show=${part}`} aria-current={part === chosen ? 'page' : undefined}>
                {titles[part]} <b>{counts[part].toLocaleString('en')}</b>
              </a>
            )
          )}
        </nav>
      )}
      {isAll && <FailedBackup visit={visit} backups={backups} />}
      {shows('decisions') && <HeldForYou visit={visit} held={held} max={maxHeld} total={decisions} />}
      {shows('answers') && <WaitingForYou visit={visit} questions={questions} from='attention' />}
      {(['broken', 'warnings'] as const).map((part) =>
        shows(part) && (
          <Conditions
            visit={visit}
            title={titles[part]}
            found={found[part]}
            said={said}
            isOpen={ofFold.length > 0}
          />
        )
      )}
      {total === 0 && (
        <Card isFlush>
          <EmptyState icon='check' title={backups.failed ? 'Nothing else needs a person.' : 'All is well.'}>
            Checked <Ago at={now} />.
          </EmptyState>
        </Card>
      )}
      {snoozed.length > 0 && (
        <Card isFlush>
          <Disclosure title={`Snoozed: ${snoozed.length}`} isOpen={total === 0}>
            <NeedList
              label='Snoozed'
              rows={snoozed.map(({ condition, until }) => {
                const words = inWords(visit, condition, now)
                const action = path('attention', 'show-again')
                return {
                  ...words,
                  facts: [
                    <>
                      until <LocalTime at={until} />, or until it gets worse
                    </>,
                  ],
                  actions: <EndSnooze action={action} fields={fieldsOf(condition)} />,
                }
              })}
            />
          </Disclosure>
        </Card>
      )}
    </>,
  )
}

/** `isOpen` means that each row is shown separately instead of in a summary row. */
function Conditions(
  { visit, title, found, said, isOpen }: {
    visit: Visit
    title: string
    found: ShownConditions
    said: Waiting['said']
    isOpen: boolean
  },
) {
  if (found.shown.length === 0) return null
  const shown = found.shown.map(({ condition, row }) => ({ condition, row: withSnooze(visit, condition, row, said) }))
  const hidden = found.total - shown.length
  return (
    <NeedCard
      title={title}
      all={visit.path('attention')}
      rows={isOpen ? shown.map(({ row }) => row) : foldedRows(
        visit,
        { ...found, shown },
        (_, found, foot) => ({ folded: { rows: found.map(({ row }) => row), foot } }),
      )}
    >
      {isOpen && hidden > 0 && (
        <p class='inside checked'>{shown.length} of {found.total.toLocaleString('en')} are shown.</p>
      )}
    </NeedCard>
  )
}

function withSnooze(visit: Visit, condition: Condition, row: NeedRow, said: Waiting['said']): NeedRow {
  const messages = condition.kind === 'paused' ? said.get(condition.of.threadId ?? -1) : undefined
  return {
    ...row,
    more: messages && messages.length > 0 && <Said messages={messages} now={visit.account.deps.now()} />,
    actions: (
      <>
        {row.actions}
        <SnoozeMenu
          action={visit.path('attention', 'snooze')}
          fields={fieldsOf(condition)}
          times={snoozeTimes.map((time) => [
            time,
            time === 'tomorrow' && visit.timeZone === utc ? `${snoozeTitles[time]} UTC` : snoozeTitles[time],
          ])}
        />
      </>
    ),
  }
}

function fieldsOf({ kind, subject }: Condition) {
  return { kind, subject }
}
