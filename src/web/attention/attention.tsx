/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What needs a person. See docs/operating.md, "Attention". */
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { heldMessages } from '../../grid/approvals/held.ts'
import {
  type Attention,
  attentionOf,
  type Condition,
  type ConditionKind,
  endSnooze,
  maxOfKind,
  snooze,
  snoozeTimes,
} from '../../grid/attention.ts'
import type { OpenMessage } from '../../grid/conversations/open.ts'
import type { Question } from '../../grid/conversations/questions.ts'
import { Ago, EndSnooze, NeedList, SnoozeMenu } from '../../html/attention.tsx'
import { Card, Disclosure, EmptyState, LocalTime } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { utc } from '../../lib/time.ts'
import type { HeldRow } from '../../store/account/held.ts'
import { HeldForYou } from '../approvals/held.tsx'
import { lastMessages, Said } from '../conversations/paused.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { actionOf, inWords } from './condition-words.tsx'
import { FailedBackup } from './failed-backup.tsx'
import { WaitingForYou } from './questions.tsx'

/** The filters above the rows, by the value of `show`. */
const groups = {
  paused: { title: 'Runaway', kinds: ['paused', 'turns'] },
  waiting: { title: 'Waiting', kinds: ['unread', 'person'] },
  failing: { title: 'Failing', kinds: ['guardrail', 'task', 'released', 'remote', 'webhook', 'follower', 'parked'] },
  refused: { title: 'Refused', kinds: ['refused', 'blocked'] },
  limits: { title: 'Limits', kinds: ['quota', 'inbox'] },
  domains: { title: 'Domains', kinds: ['domain'] },
  claims: { title: 'Claims', kinds: ['claim'] },
  access: { title: 'Access', kinds: ['access'] },
  keys: { title: 'Keys', kinds: ['key'] },
} satisfies Record<string, { title: string; kinds: ConditionKind[] }>

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
    const [found, questions, held] = await Promise.all([
      attentionOf(visit.account, offerTo(visit), visit.conditions()),
      visit.questions(),
      heldMessages(visit.account),
    ])
    attention.found({ id: visit.membership.id, account: visit.account }, found.open)
    return page(visit, found, questions, held, await lastMessages(visit, found.open), store.backups)
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

function page(
  visit: Visit,
  { open, snoozed }: Attention,
  questions: Question[],
  held: HeldRow[],
  said: Map<number, OpenMessage[]>,
  backups: PageDeps['store']['backups'],
) {
  const { account, frame, path, query } = visit
  const now = account.deps.now()
  const counted = Object.entries(groups).map(([name, { title, kinds }]) => {
    const rows = open.filter(({ kind }) => (kinds as ConditionKind[]).includes(kind))
    return { name, title, rows }
  })
  const chosen = counted.find(({ name, rows }) => name === query.get('show') && rows.length > 0)
  const shown = chosen?.rows ?? open
  const present = counted.filter(({ rows }) => rows.length > 0)
  return appPage(
    frame('attention', open.length + questions.length + held.length),
    { title: 'Attention', lead: 'What needs a person now.', fresh: ['attention', 'minute'] },
    <>
      {present.length > 1 && (
        <nav class='filters wraps' aria-label='Kinds'>
          <a href={path('attention')} aria-current={chosen ? undefined : 'page'}>
            All <b>{open.length}</b>
          </a>
          {present.map(({ name, title, rows }) => (
            <a href={`${path('attention')}?show=${name}`} aria-current={name === chosen?.name ? 'page' : undefined}>
              {title} <b>{rows.length}</b>
            </a>
          ))}
        </nav>
      )}
      {!chosen && <FailedBackup visit={visit} backups={backups} />}
      {!chosen && <HeldForYou visit={visit} held={held} max={maxHeld} />}
      {!chosen && <WaitingForYou visit={visit} questions={questions} from='attention' />}
      {(open.length > 0 || questions.length + held.length === 0) && (
        <Card isFlush>
          {open.length === 0
            ? (
              <EmptyState icon='check' title={backups.failed ? 'Nothing else needs a person.' : 'All is well.'}>
                Checked <Ago at={now} />.
              </EmptyState>
            )
            : (
              <>
                <NeedList
                  label='What needs a person'
                  rows={shown.map((condition) => openRow(visit, condition, now, said))}
                />
                <p class='inside checked'>
                  Checked <Ago at={now} />.{isCut(shown) && ` At most ${maxOfKind} of each kind are shown.`}
                </p>
              </>
            )}
        </Card>
      )}
      {snoozed.length > 0 && (
        <Card isFlush>
          <Disclosure title={`Snoozed: ${snoozed.length}`} isOpen={open.length === 0}>
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

/** `said`: the last messages of conversations, by thread. */
export function openRow(visit: Visit, condition: Condition, now: number, said?: Map<number, OpenMessage[]>) {
  const words = inWords(visit, condition, now)
  const thread = condition.kind === 'paused' || condition.kind === 'turns' ? condition.of.threadId : null
  const messages = thread === null ? undefined : said?.get(thread)
  return {
    ...words,
    what: thread === null ? words.what : <a href={visit.path('conversations', String(thread))}>{words.what}</a>,
    more: messages && messages.length > 0 && <Said messages={messages} now={now} />,
    actions: (
      <>
        {actionOf(visit, condition)}
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

function isCut(rows: Condition[]): boolean {
  const kinds = rows.map(({ kind }) => kind)
  return kinds.some((kind) => kinds.filter((other) => other === kind).length >= maxOfKind)
}
