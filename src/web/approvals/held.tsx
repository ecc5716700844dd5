/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Messages that wait for the visitor's decision. See docs/protocol/messages.md, "Held messages". */
import type { Child } from 'hono/jsx'
import { requirePermission } from '../../auth/actor.ts'
import { approve, type Decision, refuse } from '../../grid/approvals/decide.ts'
import { downloadBody } from '../../answers/downloads.ts'
import {
  countHeld,
  endsSoon,
  type HeldMessage,
  heldMessage,
  heldMessages,
  heldPartOf,
} from '../../grid/approvals/held.ts'
import { type HeldPlace, placeOfHeld } from '../../grid/approvals/held-place.ts'
import { isShortened } from '../../grid/message/long-text.ts'
import { maxMessageLength } from '../../grid/message/outgoing-message.ts'
import { Name, visibleControls } from '../../html/bidi.tsx'
import { Card, Disclosure, EmptyState, LocalTime, Notice, Time } from '../../html/components.tsx'
import { Part, Via } from '../../html/conversation/message.tsx'
import { TextArea } from '../../html/fields.tsx'
import { ButtonLink, HiddenFields, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { downloadHeaders } from '../../lib/http/download.ts'
import type { AccountStore } from '../../store/account.ts'
import { sizeInWords } from '../conversations/shown.ts'
import { PageForm } from '../forms.tsx'
import type { NoticeCode } from '../notices.ts'
import type { AccountPages, PageResult, Visit } from '../visit.ts'
import { decisionPages } from './decisions.tsx'
import { HeldForYou, isAlike } from './held-list.tsx'

export function heldPages(pages: AccountPages): void {
  const { get, may } = pages
  get('/held', list)
  decisionPages(pages)
  get('/held/:held', show)
  get('/held/:held/parts/:part', async ({ account, connection, param }) => {
    const part = await heldPartOf(account, param('held'), param('part'))
    return new Response(downloadBody(account, connection, part.pieces(0, part.length)), {
      headers: { ...downloadHeaders({ ...part, isText: part.text !== undefined }), 'Content-Length': `${part.length}` },
    })
  })
  may('use').post('/held/:held/approve', async (visit) => {
    return await decide(visit, 'approve_message', 'held-approved', (account, choice) => approve(account, choice))
  }, show)
  may('use').post('/held/:held/edit', async (visit) => {
    const text = visit.form.get('text') ?? ''
    const run = (account: AccountStore, choice: Choice) => approve(account, { ...choice, text })
    return await decide(visit, 'edit_message', 'held-edited', run)
  }, show)
  may('use').post('/held/:held/refuse', async (visit) => {
    const reason = visit.form.get('reason') ?? ''
    const run = (account: AccountStore, choice: Choice) => refuse(account, { ...choice, reason })
    return await decide(visit, 'refuse_message', 'held-refused', run)
  }, show)
}

interface Choice {
  id: string
  hash: string
}

/** Runs and logs a decision. The log contains the sender and recipient, but not the message's text. */
async function decide(
  visit: Visit,
  tool: string,
  done: NoticeCode,
  run: (account: AccountStore, choice: Choice) => Promise<Decision>,
): Promise<PageResult> {
  requirePermission(visit.actor, 'use')
  const id = visit.param('held')
  const held = await heldMessage(visit.account, id)
  const { fromAlias: agent, recipient: to } = held
  const choice = { id, hash: visit.form.get('hash') ?? '' }
  const { state } = await visit.record(tool, { agent, to }, (account) => run(account, choice))
  if (state === 'held') return await toNext(visit, held, 'held-again')
  if (state === 'approved' || tool === 'refuse_message') return await toNext(visit, held, done)
  return visit.done('held-undeliverable', 'held', id)
}

/** Redirects to the list, which offers the next similar message. */
async function toNext(visit: Visit, held: HeldMessage, done: NoticeCode): Promise<PageResult> {
  const next = (await heldMessages(visit.account)).find((one) => isAlike(one, held))
  const { redirectTo } = visit.done(done, 'held') as { redirectTo: string }
  return { redirectTo: next ? `${redirectTo}&next=${next.id}` : redirectTo }
}

async function list(visit: Visit) {
  const [held, { count }] = await Promise.all([heldMessages(visit.account), countHeld(visit.account)])
  const next = held.find(({ id }) => id === visit.query.get('next'))
  const left = next && held.filter((one) => isAlike(one, next)).length
  return await appPage(
    visit.frame('attention'),
    {
      title: 'Held messages',
      lead: 'Messages that wait for a decision. They are refused when they expire; the first to expire stands first.',
      actions: (
        <>
          {next && (
            <ButtonLink href={visit.path('held', next.id)} kind='main-action'>Next like it, {left} left</ButtonLink>
          )}
          <ButtonLink href={visit.path('held', 'decisions')}>Decisions</ButtonLink>
          <ButtonLink href={visit.path('approval-rules')}>Rules</ButtonLink>
        </>
      ),
      fresh: ['attention', 'minute'],
    },
    held.length === 0
      ? (
        <Card>
          <EmptyState icon='check' title='Nothing waits for your decision' />
        </Card>
      )
      : <HeldForYou visit={visit} held={held} total={count} isWhole />,
  )
}

async function show(visit: Visit) {
  const id = visit.param('held')
  const [held, place] = await Promise.all([heldMessage(visit.account, id), placeOfHeld(visit.account, id)])
  const { fromAlias, recipient, type, via, body, rule, findings, heldAt, expiresAt } = held
  const now = visit.account.deps.now()
  const isOpen = held.state === 'held' && expiresAt > now
  const facts: Child[] = [
    <>
      From <Name text={`@${fromAlias}${type === 'human' ? ', a person' : ''}`} /> <Via via={via} /> to{' '}
      <Name text={recipient} />
    </>,
    <>
      held by <Name text={rule.name} /> <Time at={heldAt} now={now} />
    </>,
    findings.length > 0 && (
      <span class='bad'>
        found: <Name text={inWords(findings)} />
      </span>
    ),
    isOpen && (
      <>
        can be decided by <Name text={await decidersInWords(visit.account, rule)} />
      </>
    ),
    isOpen && (
      <span class={endsSoon(expiresAt, now) ? 'bad' : undefined}>
        expires <Time at={expiresAt} now={now} />
      </span>
    ),
  ]
  return await appPage(
    visit.frame('attention'),
    {
      title: isOpen ? 'Held message' : 'Decided message',
      lead: <span class='line-of-facts'>{facts.filter(Boolean).map((fact) => <span>{fact}</span>)}</span>,
      back: { title: 'Held messages', href: visit.path('held') },
    },
    <>
      {!isOpen && <Outcome held={held} />}
      <Card>
        <Around visit={visit} place={place} />
        <pre class='said whole' dir='auto' aria-label='The whole text'>{visibleControls(body)}</pre>
        {held.parts.map((part) => <HeldPart visit={visit} id={held.id} part={part} />)}
      </Card>
      {held.fields.length > 0 && (
        <Card title='Also delivered'>
          <dl class='facts delivered'>{held.fields.map(([name, value]) => <Field name={name} value={value} />)}</dl>
        </Card>
      )}
      {isOpen && held.mayDecide && <Decide visit={visit} held={held} />}
    </>,
  )
}

/** Links to the message's conversation, and to the message it replies to. */
function Around({ visit, place: { thread, answered } }: { visit: Visit; place: HeldPlace }) {
  if (thread === undefined && answered === undefined) return null
  return (
    <p class='around'>
      {answered && (
        <a href={`${visit.path('conversations', String(answered.threadId))}?m=${answered.seq}#m${answered.seq}`}>
          Answers a message from <Name text={`@${answered.fromAlias}`} />
        </a>
      )}
      {answered === null && <span class='soft'>Answers a message that is hidden for your role</span>}
      {thread !== undefined && <a href={visit.path('conversations', String(thread))}>Open the conversation</a>}
    </p>
  )
}

async function decidersInWords(account: AccountStore, { id, deciders }: HeldMessage['rule']): Promise<string> {
  if (id === null) return 'owners and admins'
  const named = await account.read.names.resolve(deciders, [])
  return named.map(({ name }) => name).join(', ') || 'the owners'
}

function inWords(findings: HeldMessage['findings']): string {
  return findings.map(({ guardrail, kinds }) => `${kinds.join(', ')} by ${guardrail}`).join('; ')
}

const outcomes = {
  held: 'The time to decide is over',
  approved: 'Approved',
  refused: 'Refused',
  expired: 'The time to decide was over',
  retracted: 'Its sender has retracted it',
  joined: 'Its sender has added to it: the whole is a newer message',
} as const

/** Shows the decision to a visitor who opens the message after it was decided. */
function Outcome({ held: { state, decider, decidedAt, reason, edited } }: { held: HeldMessage }) {
  return (
    <Notice kind={state === 'approved' ? 'good' : 'info'} title={outcomes[state]}>
      {decider !== null && (
        <>
          by <Name text={decider} />
          {' '}
        </>
      )}
      {decidedAt !== null && <LocalTime at={decidedAt} />}
      {edited && ', after an edit'}
      {reason !== null && (
        <>
          : <Name text={reason} />
        </>
      )}
    </Notice>
  )
}

/** A file or data, with its metadata. */
function HeldPart({ visit, id, part }: { visit: Visit; id: string; part: Record<string, unknown> }) {
  const { part_id: partId, kind, filename, mediaType, bytes, text, ...others } = part
  const name = typeof filename === 'string'
    ? filename
    : kind === 'raw'
    ? 'File'
    : kind ?? ('data' in part ? 'Data' : 'Part')
  const more = 'data' in others && Object.keys(others).length === 1 ? others.data : others
  const said = [
    typeof text === 'string' ? text : undefined,
    isEmpty(more) ? undefined : JSON.stringify(more, undefined, 2),
  ]
  const shown = {
    name: `${name}`,
    type: typeof mediaType === 'string' ? mediaType : '',
    size: typeof bytes === 'number' ? sizeInWords(bytes) : '',
    href: typeof partId === 'string' ? visit.path('held', id, 'parts', partId) : undefined,
  }
  return (
    <Part part={shown}>
      {said.map((text) =>
        text !== undefined && (
          <pre class='said' dir='auto' tabindex={0} aria-label={shown.name}>
            {visibleControls(text)}
          </pre>
        )
      )}
    </Part>
  )
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

const fieldNames: Record<string, string> = {
  replyToMessageId: 'Answers the message',
  conversationId: 'Conversation',
  contextId: 'Context of A2A',
  taskId: 'Task',
  isInTaskAlone: 'Only in its task, not in the inbox',
  expiresAt: 'Expires for its recipient',
  hops: 'Earlier answers in its chain',
  flagged: 'Marked by a guardrail',
  sanitized: 'Invisible characters were removed',
  sharedWith: 'Text was sent to',
  state: 'New state of the task',
  chunk: 'Artifact',
  choices: 'Answers to choose from',
  messageId: 'Id of the message at its sender',
  metadata: 'Metadata',
  extensions: 'Extensions',
  referenceTaskIds: 'Refers to tasks',
  acceptedOutputModes: 'Formats for the answer',
  waitingTaskIds: 'Tasks that wait for it',
  artifactId: 'Artifact',
  artifactName: 'Name of the artifact',
}
/** Values longer than this, in UTF-16 units, are collapsed. */
const maxUnfolded = 300

/** A field that recipients receive in addition to text and parts. Unknown fields are shown by name. */
function Field({ name, value }: { name: string; value: unknown }) {
  const title = fieldNames[name] ?? name
  return (
    <>
      <dt>
        <Name text={title} />
      </dt>
      <dd>
        {name === 'expiresAt' && typeof value === 'number' ? <LocalTime at={value} /> : <Value {...{ title, value }} />}
      </dd>
    </>
  )
}

function Value({ title, value }: { title: string; value: unknown }) {
  if (value === true) return <>yes</>
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return <Name text={value.join(' · ')} />
  if (typeof value !== 'object' && !`${value}`.includes('\n') && `${value}`.length <= maxUnfolded) {
    return <Name text={visibleControls(`${value}`)} />
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  const shown = (
    <pre class='said' dir='auto' tabindex={0} aria-label={title}>
      {visibleControls(text)}
    </pre>
  )
  return text.length > maxUnfolded ? <Disclosure title='Show'>{shown}</Disclosure> : shown
}

/** The decision forms. Each includes the hash of the content shown above it. */
function Decide({ visit, held: { id, hash, body, rule } }: { visit: Visit; held: HeldMessage }) {
  const here = visit.path('held', id)
  const fields = { hash }
  return (
    <section class='decide' aria-label='Decide'>
      <PageForm visit={visit} acts action={`${here}/approve`}>
        <HiddenFields fields={fields} />
        <SubmitButton waits>Approve</SubmitButton>
      </PageForm>
      <Disclosure title='Refuse' group='decide' isOpen={visit.form.has('reason')}>
        <PageForm visit={visit} acts action={`${here}/refuse`} fields={['reason']}>
          <HiddenFields fields={fields} />
          <TextArea name='reason' label='Reason' hint='Its sender reads it.' rows={2} maxLength={1_000} isRequired />
          <SubmitButton kind='danger' waits>Refuse</SubmitButton>
        </PageForm>
      </Disclosure>
      <Disclosure title='Edit' group='decide' isOpen={visit.form.has('text')}>
        <PageForm visit={visit} acts action={`${here}/edit`} fields={['text']}>
          <HiddenFields fields={fields} />
          <TextArea
            name='text'
            label='Text'
            hint={`Sender and recipient see that a person edited it.${
              isShortened(body) ? ' It replaces the whole text, of which only the beginning is here.' : ''
            }`}
            value={body}
            rows={8}
            maxLength={maxMessageLength}
          />
          <SubmitButton kind='plain' waits>Approve as edited</SubmitButton>
        </PageForm>
      </Disclosure>
      {rule.isRisky && (
        <p class='soft small'>You are asked for a password or passkey unless you gave one in the last ten minutes.</p>
      )}
    </section>
  )
}
