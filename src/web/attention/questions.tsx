/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Questions that await the visitor's answer. See docs/web.md, "Attention". */
import type { Child } from 'hono/jsx'
import { countQuestions, dismissQuestion, maxWaiting, type Question } from '../../grid/conversations/questions.ts'
import { NeedCard } from '../../html/attention.tsx'
import { Name } from '../../html/bidi.tsx'
import { Time } from '../../html/components.tsx'
import { Choices } from '../../html/conversation/choices.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { listPlace, listQuery, seqIn, threadIn } from '../conversations/list-pane.tsx'
import { oneLine } from '../../lib/one-line.ts'
import { type Origin, originOf } from '../forms.tsx'
import { pluralize } from '../listing.tsx'
import type { PageResult, Visit } from '../visit.ts'

/** Choices whose JSON is at most this long, in UTF-16 units, are shown beside their question. */
const maxInLine = 60

/** Lists the conversations that wait for the visitor, at most `max`. Renders nothing if there are none. */
export function WaitingForYou(
  { visit, questions, from, max, isShort }: {
    visit: Visit
    questions: Question[]
    from: Origin
    max?: number
    isShort?: boolean
  },
) {
  if (questions.length === 0) return null
  const total = countQuestions(questions)
  return (
    <NeedCard
      title='Waiting for your answer'
      all={`${visit.path('attention')}?show=answers`}
      max={max}
      total={total}
      isShort={isShort}
      rows={questions.map((question) => {
        const offer = question.choices !== null && <Offer visit={visit} question={question} from={from} />
        const isInLine = question.choices !== null && question.choices.length <= maxInLine
        return {
          icon: 'conversations',
          tone: 'warning',
          href: answerPath(visit, question),
          what: (
            <>
              <Name text={`@${question.sender}`} />: <Name text={oneLine(question.text)} />
            </>
          ),
          more: !isInLine && offer,
          facts: [question.messages > 1 && waitingWords(question.messages)],
          at: <Time at={question.since} now={visit.account.deps.now()} />,
          actions: (
            <>
              {isInLine && offer}
              <Dismiss visit={visit} question={question} fields={{ from }} />
            </>
          ),
        }
      })}
    >
      {total > questions.length && max === undefined && (
        <p class='inside checked'>
          {questions.length} of {total.toLocaleString('en')} are shown, the newest. The others are in{' '}
          <a href={`${visit.path('conversations')}?show=you`}>Conversations</a>.
        </p>
      )}
    </NeedCard>
  )
}

/** Says, above the composer, that the conversation waits for the visitor. */
export function WaitsHere({ visit, question }: { visit: Visit; question: Question | undefined }): Child {
  const { show } = listPlace(visit.query)
  return (
    <div id='waits' data-fresh='thread count'>
      {question && (
        <div class='row waits'>
          <span>{waitingWords(question.messages)} for your answer</span>
          <Dismiss visit={visit} question={question} fields={show === 'all' ? {} : { show }} />
        </div>
      )}
    </div>
  )
}

/** The answers that the newest message offers. */
function Offer({ visit, question, from }: { visit: Visit; question: Question; from: Origin }) {
  const { threadId, seq, sender, choices } = question
  return (
    <Choices
      asker={`@${sender}`}
      offered={JSON.parse(choices ?? '[]')}
      form={{
        action: visit.path('conversations', String(threadId), 'choose'),
        fields: { question: `${seq}`, from },
      }}
    />
  )
}

function Dismiss(
  { visit, question: { threadId, upTo }, fields }: {
    visit: Visit
    question: Question
    fields: Record<string, string>
  },
) {
  const action = visit.path('conversations', String(threadId), 'dismiss')
  return (
    <ButtonForm action={action} fields={{ upTo: `${upTo}`, ...fields }} kind='quiet' isSmall>
      Dismiss
    </ButtonForm>
  )
}

/** Handles the `Dismiss` form. */
export async function dismiss(visit: Visit): Promise<PageResult> {
  const { account, form } = visit
  await dismissQuestion(account, threadIn(visit), seqIn(form, 'upTo') ?? 0)
  const from = originOf(form)
  if (from) return visit.done('dismissed', from)
  const { redirectTo } = visit.done('dismissed', 'conversations', visit.param('thread')) as { redirectTo: string }
  const { show } = listPlace(form)
  return { redirectTo: show === 'all' ? redirectTo : `${redirectTo}&show=${show}` }
}

function answerPath({ path }: Visit, { threadId, seq }: Question): string {
  return `${path('conversations', String(threadId))}${listQuery({ show: 'you' }, { reply: seq })}#text`
}

function waitingWords(messages: number): string {
  if (messages >= maxWaiting) return `${maxWaiting} or more messages wait`
  return `${pluralize(messages, 'message')} ${messages === 1 ? 'waits' : 'wait'}`
}
