/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A conversation's composer, and the buttons that mark its messages as read. */
import type { Child } from 'hono/jsx'
import { presenceOf } from '../../grid/agents/find-agent.ts'
import type { Reader } from '../../grid/conversations/may-read.ts'
import { nextUnread } from '../../grid/conversations/marks.ts'
import type { Question } from '../../grid/conversations/questions.ts'
import type { OpenConversation, OpenMessage, Place } from '../../grid/conversations/open.ts'
import type { Thread } from '../../grid/conversations/threads.ts'
import {
  addresseeIn,
  type AnsweredMessage,
  canAnswer,
  findAnswered,
  otherEndOf,
} from '../../grid/conversations/write.ts'
import { maxMessageLength } from '../../grid/message/outgoing-message.ts'
import { Name } from '../../html/bidi.tsx'
import { CellSelect, TextArea } from '../../html/fields.tsx'
import { CsrfField, Form, HiddenFields, SubmitButton } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { writePath } from '../../html/paths.ts'
import { maxFormFileBytes } from '../../lib/http/form.ts'
import { newId } from '../../lib/id.ts'
import { presenceWords } from '../../presence.ts'
import { WaitsHere } from '../attention/questions.tsx'
import { formErrors, PageForm, readChoice, Refusal } from '../forms.tsx'
import type { Visit } from '../visit.ts'
import { listFields, type ListPlace, listPlace, listQuery, seqIn } from './list-pane.tsx'
import { oneLine } from '../../lib/one-line.ts'
import { namesOf } from './shown.ts'

/** Maximum length of a quoted message, in UTF-16 units. */
const maxQuoted = 200

/** Returns the address for answering a message, on this page or at `path`. Undefined if the reader cannot answer. */
export function answerHref(
  { reader, thread }: Pick<OpenConversation, 'reader' | 'thread'>,
  place: ListPlace,
  path = '',
): (message: OpenMessage) => string | undefined {
  return (message) =>
    canAnswer(reader, thread, message) ? `${path}${listQuery(place, { reply: message.seq })}#text` : undefined
}

/** The data that the composer needs in addition to the conversation. */
export interface Composing {
  question: Question | undefined
  next: Awaited<ReturnType<typeof nextUnread>>
  answered: AnsweredMessage | undefined
  /** The recipient's presence in words. */
  there: string | undefined
}

/** Loads the composer's data, in parallel with the conversation. Undefined for visitors who may not write. */
export async function composingIn(visit: Visit, id: number, place: Promise<Place>): Promise<Composing | undefined> {
  if (!visit.may('use')) return undefined
  const answering = answeredIn(visit, id)
  const [questions, next, answered, there] = await Promise.all([
    visit.questions(),
    nextUnread(visit.account, id),
    answering,
    presenceNow(visit, answering, place),
  ])
  return { question: questions.find(({ threadId }) => threadId === id), next, answered, there }
}

/**
 * Returns the area below a conversation's messages. It contains the composer or the reason why there is none, and,
 * unless `isGlance` is set, the buttons that mark messages. Empty for visitors who may not write.
 */
export function composerOf(
  visit: Visit,
  open: OpenConversation,
  composing: Composing | undefined,
  isGlance = false,
): Child {
  const { reader, thread, since } = open
  if (!composing || since === undefined) return null
  const { rest: refused } = formErrors(visit, visit.path('conversations', String(thread.id), 'choose'), [])
  return (
    <div class='composer' id='composer'>
      {reader.personAlias && <WaitsHere visit={visit} question={composing.question} />}
      {refused && <Refusal visit={visit}>{refused}</Refusal>}
      {reader.personAlias && !isGlance && <Marks visit={visit} open={open} next={composing.next} />}
      {reader.personAlias ? writingIn(visit, open, composing) : (
        <p class='soft small'>
          You have no alias in this account yet.{' '}
          <a href={writePath(visit.membership.id, writableIn(thread)[0])}>Write</a> to choose one.
        </p>
      )}
    </div>
  )
}

function writingIn(
  visit: Visit,
  { reader, thread, messages }: OpenConversation,
  { answered, there }: Composing,
): Child {
  const other = otherEndOf(reader, thread)
  if (!thread.channel && other?.isHook) {
    return (
      <p class='soft small'>
        <Name text={`@${other.alias}`} /> is an incoming hook. It only sends, and nobody reads what is sent to it.
      </p>
    )
  }
  const to = recipientOf({ reader, thread }, answered)
  if (to !== undefined) {
    return <Writing visit={visit} thread={thread.id} to={to} answered={answered} there={there} />
  }
  if (thread.channel) {
    const members = visit.path('channels', thread.channel.id, 'members')
    return (
      <p class='soft small'>
        Your alias is not in <Name text={`#${thread.channel.name}`} />, so you cannot post there.{' '}
        {visit.may('manage') && <a href={members}>Add it</a>}
      </p>
    )
  }
  if (other) {
    return (
      <p class='soft small'>
        <Name text={`@${other.alias}`} /> was deleted and cannot receive messages.
      </p>
    )
  }
  if (messages.some((message) => canAnswer(reader, thread, message))) {
    return <p class='soft small'>Several agents write here. Choose Reply below a message.</p>
  }
  const names = writableIn(thread)
  if (names.length === 0) return <p class='soft small'>The agents of this conversation were deleted.</p>
  return (
    <p class='row soft small'>
      Write to
      {names.map((name) => (
        <a class='button small' href={writePath(visit.membership.id, name)}>
          <Name text={name} />
        </a>
      ))}
    </p>
  )
}

/** Returns the names in the conversation to which messages can still be sent. */
function writableIn({ channel, agents, ...thread }: Thread): string[] {
  if (channel?.isDeleted) return []
  return namesOf({ ...thread, channel, agents: agents.filter(({ isDeleted, isHook }) => !isDeleted && !isHook) })
}

function recipientOf({ reader, thread }: Place, answered: AnsweredMessage | undefined): string | undefined {
  return answered?.to ?? addresseeIn(reader, thread)?.to
}

/** Describes the recipient's presence or last activity. Undefined for channels and other accounts' agents. */
async function presenceNow(
  { account }: Visit,
  answered: Promise<AnsweredMessage | undefined>,
  place: Promise<Place>,
): Promise<string | undefined> {
  const to = recipientOf(await place, await answered)
  const agent = to?.startsWith('@') ? await account.read.agents.byAlias(to.slice(1)) : undefined
  if (!agent) return undefined
  return presenceWords(presenceOf(account, agent), agent.lastSeenAt, account.deps.now())
    .replace('nobody yet', 'never connected').replace(/^nobody since (.*)/, 'last connected $1 ago')
}

/** Returns the message that the page or the refused form answers. Undefined if the reader cannot answer it. */
async function answeredIn({ account, query, form }: Visit, threadId: number): Promise<AnsweredMessage | undefined> {
  const seq = seqIn(form.has('text') ? form : query, 'reply')
  return seq === undefined ? undefined : await findAnswered(account, threadId, seq)
}

function Writing(
  { visit, thread, to, answered, there }: {
    visit: Visit
    thread: number
    to: string
    answered?: AnsweredMessage
    there: Composing['there']
  },
) {
  const { form, membership, actor, query } = visit
  const page = visit.path('conversations', String(thread))
  const action = `${page}/messages`
  const place = { ...listPlace(form.has('key') ? form : query), before: undefined }
  return (
    <PageForm visit={visit} acts action={action} restAt='text' hasFile>
      <input type='hidden' name='key' value={messageKey(visit)} />
      {Object.entries(listFields(place)).map(([name, value]) => <input type='hidden' name={name} value={value} />)}
      {answered && (
        <p class='answering'>
          <input type='hidden' name='reply' value={answered.message.seq} />
          <a class='quote' href={`#m${answered.message.seq}`}>
            Answer to <Name text={`@${answered.message.fromAlias}`} />:{' '}
            <span dir='auto'>{oneLine(answered.message.body.slice(0, maxQuoted))}</span>
          </a>
          <a class='button quiet small' href={`${page}${listQuery(place)}`} aria-label='Answer no message'>
            <Icon name='close' size={14} />
          </a>
        </p>
      )}
      <Entry
        label={`To ${to}`}
        placeholder={there === undefined ? undefined : `To ${to} (${there})`}
        draft={draftName(actor.userId, membership.id, String(thread))}
      />
    </PageForm>
  )
}

/** The composer of a channel without posts, for members. A refused post is shown again on the page Write. */
export function firstPost(
  visit: Visit,
  { personAlias, channels }: Reader,
  { id, name }: { id: string; name: string },
): Child {
  if (!personAlias || !channels.has(id)) return null
  const { actor, membership } = visit
  return (
    <Form action={writePath(membership.id)} hasFile>
      <HiddenFields fields={{ key: messageKey(visit), to: `#${name}` }} />
      <Entry label={`To #${name}`} draft={draftName(actor.userId, membership.id, `#${name}`)} />
    </Form>
  )
}

/** The form fields of a message: its text, files and expiry, and the send button. */
export function Entry(
  { label, placeholder = label, rows = 1, draft }: {
    label: string
    placeholder?: string
    /** The field's initial number of lines. The field grows with its text. */
    rows?: number
    draft: string
  },
) {
  const most = maxFormFileBytes / 2 ** 20
  return (
    <div class='entry'>
      <div class='chips' role='status' aria-label='Files'></div>
      <label class='button quiet clip' title={`Attach files, up to ${most} MiB`}>
        <Icon name='clip' />
        <span class='unseen'>Attach files, up to {most} MiB</span>
        <input class='unseen' type='file' name='file' multiple data-attaches={maxFormFileBytes} />
      </label>
      <TextArea
        name='text'
        label={label}
        isLabelUnseen
        hint='Ctrl Enter sends, Enter begins a new line'
        placeholder={placeholder}
        rows={rows}
        isRequired
        maxLength={maxMessageLength}
        draft={draft}
      />
      <label class='button quiet expiry' title='Expiry'>
        <Icon name='clock' />
        <CellSelect {...expiryField} />
      </label>
      <SubmitButton title='Send (Ctrl+Enter)'>
        <Icon name='send' />
        <span class='unseen'>Send</span>
      </SubmitButton>
    </div>
  )
}

/** A form field for the number of seconds after which the message expires. */
const expiries = ['', '600', '3600', '86400', '604800'] as const
const expiryTitles = [
  'Does not expire',
  'Expires in 10 minutes',
  'Expires in 1 hour',
  'Expires in 1 day',
  'Expires in 7 days',
]
const expiryField = {
  name: 'expires',
  label: 'Expiry',
  options: expiries.map((value, n) => ({ value, title: expiryTitles[n] })),
}

export function expiryIn(form: URLSearchParams): number | undefined {
  return Number(readChoice(form, 'expires', expiries)) || undefined
}

/** Returns a draft's storage key. It differs between two people who use the same browser. */
export function draftName(user: string, account: string, place: string): string {
  return [user, account, place].join(' ')
}

/**
 * Returns a form's idempotency key. It stays the same after an error that leaves open whether the message was stored.
 * It changes after other errors, because the key may already belong to the refused text.
 */
export function messageKey({ form, inputError }: Pick<Visit, 'form' | 'inputError'>): string {
  return (inputError?.kind === 'unavailable' && form.get('key')) || newId()
}

/** The buttons that mark the page's messages as read or unread, and a link to the next unread message. */
function Marks({ visit, open, next }: { visit: Visit; open: OpenConversation; next: Composing['next'] }) {
  const { thread, messages, reader } = open
  const page = visit.path('conversations', String(thread.id))
  const last = messages.at(-1)?.seq ?? 0
  const isUnread = messages.some((message) => message.isUnread)
  const received = messages.findLast(({ isMine, fromAgentId }) => isMine && fromAgentId !== reader.personAlias?.agentId)
  const kept = listFields(listPlace(visit.query))
  return (
    <div class='marks'>
      <form method='post' action={`${page}/read`} data-reads hidden={!isUnread}>
        <MarkFields fields={{ upTo: `${last}`, ...kept }}>Mark read</MarkFields>
      </form>
      <form method='post' action={`${page}/unread`} data-unreads hidden={isUnread || !received}>
        <MarkFields fields={{ from: `${received?.seq ?? last}`, ...kept }}>Mark unread</MarkFields>
      </form>
      {next && next.threadId !== thread.id && (
        <a class='button quiet small' href={`${visit.path('next-unread')}?after=${thread.id}`} data-key='n'>
          Next unread
        </a>
      )}
    </div>
  )
}

function MarkFields({ fields, children }: { fields: Record<string, string>; children: string }) {
  return (
    <>
      <CsrfField />
      <HiddenFields fields={fields} />
      <button class='button quiet small' type='submit' data-key='e'>{children}</button>
    </>
  )
}
