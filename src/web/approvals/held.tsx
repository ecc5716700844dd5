/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Messages that wait for the decision of the visitor. See docs/protocol/messages.md, "Held messages". */
import type { Child } from 'hono/jsx'
import { requirePermission } from '../../auth/actor.ts'
import { approve, type Decision, refuse } from '../../grid/approvals/decide.ts'
import { downloadBody } from '../../answers/downloads.ts'
import { type HeldMessage, heldMessage, heldMessages, heldPartOf } from '../../grid/approvals/held.ts'
import { isShortened } from '../../grid/message/long-text.ts'
import { maxMessageLength } from '../../grid/message/outgoing-message.ts'
import { Name, visibleControls } from '../../html/bidi.tsx'
import { Card, Disclosure, EmptyState, Facts, LocalTime, Notice } from '../../html/components.tsx'
import { Via } from '../../html/conversation/message.tsx'
import { TextArea } from '../../html/fields.tsx'
import { ButtonLink, HiddenFields, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { downloadHeaders } from '../../lib/http/download.ts'
import type { AccountStore } from '../../store/account.ts'
import { PageForm } from '../forms.tsx'
import type { NoticeCode } from '../notices.ts'
import type { AccountPages, PageResult, Visit } from '../visit.ts'
import { decisionPages } from './decisions.tsx'
import { HeldForYou } from './held-list.tsx'

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

/** The log has who decided on what, and no word of the message. */
async function decide(
  visit: Visit,
  tool: string,
  done: NoticeCode,
  run: (account: AccountStore, choice: Choice) => Promise<Decision>,
): Promise<PageResult> {
  requirePermission(visit.actor, 'use')
  const id = visit.param('held')
  const { fromAlias: agent, recipient: to } = await heldMessage(visit.account, id)
  const choice = { id, hash: visit.form.get('hash') ?? '' }
  const { state } = await visit.record(tool, { agent, to }, (account) => run(account, choice))
  if (state === 'held') return visit.done('held-again', 'held')
  if (state === 'approved' || tool === 'refuse_message') return visit.done(done, 'held')
  return visit.done('held-undeliverable', 'held', id)
}

async function list(visit: Visit) {
  const held = await heldMessages(visit.account)
  return await appPage(
    visit.frame('attention'),
    {
      title: 'Held messages',
      lead: 'They are delivered when you approve them, and refused when their time is over. The first to expire first.',
      actions: (
        <>
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
      : <HeldForYou visit={visit} held={held} />,
  )
}

async function show(visit: Visit) {
  const held = await heldMessage(visit.account, visit.param('held'))
  const { fromAlias, recipient, type, via, body, rule, findings, heldAt, expiresAt } = held
  const isOpen = held.state === 'held' && expiresAt > visit.account.deps.now()
  const facts: [string, Child][] = [
    [
      'From',
      <>
        <Name text={`@${fromAlias}${type === 'human' ? ', a person' : ''}`} /> <Via via={via} />
      </>,
    ],
    ['To', <Name text={recipient} />],
    ['Held by', <Name text={rule.name} />],
    ['Found', findings.length > 0 && <Name text={inWords(findings)} />],
    ['Held', <LocalTime at={heldAt} />],
    ['Can be decided by', isOpen && <Name text={await decidersInWords(visit.account, rule)} />],
    ['Expires', isOpen && <LocalTime at={expiresAt} />],
  ]
  return await appPage(
    visit.frame('attention'),
    {
      title: isOpen ? 'Held message' : 'Decided message',
      back: { title: 'Held messages', href: visit.path('held') },
    },
    <>
      {!isOpen && <Outcome held={held} />}
      <Card>
        <Facts items={facts} />
        <pre class='said whole' dir='auto' aria-label='The whole text'>{visibleControls(body)}</pre>
        {held.parts.map((part) => <Part visit={visit} id={held.id} part={part} />)}
      </Card>
      {held.fields.length > 0 && (
        <Card title='Delivered with it'>
          {held.fields.map(([name, value]) => <Field name={name} value={value} />)}
        </Card>
      )}
      {isOpen && held.mayDecide && <Decide visit={visit} held={held} />}
    </>,
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

/** Who decided, for whoever comes too late. */
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

function Part({ visit, id, part }: { visit: Visit; id: string; part: Record<string, unknown> }) {
  const { part_id: partId } = part
  return (
    <div class='part'>
      {typeof partId === 'string' && <a href={visit.path('held', id, 'parts', partId)}>Download</a>}
      <pre class='said' dir='auto' tabindex={0} aria-label='A part'>
        {visibleControls(JSON.stringify(part, undefined, 2))}
      </pre>
    </div>
  )
}

const fieldNames: Record<string, string> = {
  replyToMessageId: 'Answers the message',
  conversationId: 'Conversation',
  contextId: 'Context of A2A',
  taskId: 'Task',
  isInTaskAlone: 'Only in its task, not in the inbox',
  expiresAt: 'Expires',
  hops: 'Answers before it',
  flagged: 'A guardrail objected',
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
/** A longer value is folded. */
const maxUnfolded = 300

/** What recipients get besides the text and the parts. A name that this page does not know is shown as it is. */
function Field({ name, value }: { name: string; value: unknown }) {
  const title = fieldNames[name] ?? name
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  const shown = (
    <pre class='said' dir='auto' tabindex={0} aria-label={title}>
      {visibleControls(text)}
    </pre>
  )
  if (text.length > maxUnfolded) return <Disclosure title={title}>{shown}</Disclosure>
  return (
    <div class='part'>
      <b>
        <Name text={title} />
      </b>
      {name === 'expiresAt' && typeof value === 'number' ? <LocalTime at={value} /> : shown}
    </div>
  )
}

/** Each form carries the hash of what is shown above it. */
function Decide({ visit, held: { id, hash, body, rule } }: { visit: Visit; held: HeldMessage }) {
  const here = visit.path('held', id)
  const fields = { hash }
  return (
    <>
      {rule.isRisky && <p class='soft'>You are asked to confirm who you are, unless you have just done so.</p>}
      <div class='decide'>
        <PageForm visit={visit} acts action={`${here}/approve`}>
          <HiddenFields fields={fields} />
          <SubmitButton waits isWhole>Approve</SubmitButton>
        </PageForm>
        <Disclosure title='Refuse' group='decide' isOpen={visit.form.has('reason')}>
          <PageForm visit={visit} acts action={`${here}/refuse`} fields={['reason']}>
            <HiddenFields fields={fields} />
            <TextArea name='reason' label='Reason' hint='Its sender reads it.' rows={2} maxLength={1_000} isRequired />
            <SubmitButton kind='danger' waits isWhole>Refuse</SubmitButton>
          </PageForm>
        </Disclosure>
        <Disclosure title='Edit and approve' group='decide' isOpen={visit.form.has('text')}>
          <PageForm visit={visit} acts action={`${here}/edit`} fields={['text']}>
            <HiddenFields fields={fields} />
            <TextArea
              name='text'
              label='Text'
              hint={`Sender and recipient are told that a person edited it.${
                isShortened(body) ? ' It replaces the whole text, of which only the beginning is here.' : ''
              }`}
              value={body}
              rows={8}
              maxLength={maxMessageLength}
            />
            <SubmitButton kind='plain' waits isWhole>Approve as edited</SubmitButton>
          </PageForm>
        </Disclosure>
      </div>
    </>
  )
}
