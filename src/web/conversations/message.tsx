/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** One message with its timeline, parts and reply chain. See docs/people.md, "People who read". */
import type { Child } from 'hono/jsx'
import {
  canRetract,
  chainPageSize,
  openChain,
  type OpenChainMessage,
  openMessage,
  openPart,
  retractOwnMessage,
} from '../../grid/conversations/open-message.ts'
import { endOfPiece } from '../../grid/message/read-part.ts'
import { downloadBody } from '../../answers/downloads.ts'
import { isFromA2a } from '../../grid/message/shown-parts.ts'
import { downloadHeaders } from '../../lib/http/download.ts'
import type { RemoteEvent } from '../../grid/messaging/remote-progress.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, Facts, LocalTime, Notice } from '../../html/components.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { MessageText, SenderLine } from '../../html/conversation/message.tsx'
import { ReceiptItem, type ShownReceipt } from '../../html/conversation/state-line.tsx'
import { TaskChip } from '../../html/conversation/task-chip.tsx'
import { ButtonForm, ButtonLink } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination } from '../../html/table.tsx'
import { formErrors } from '../forms.tsx'
import { listPosition, pluralize } from '../listing.tsx'
import type { AccountPages, Visit } from '../visit.ts'
import { shownMessage, shownReceiptOf, titleOf } from './shown.ts'

const receiptsPerPage = 50

export function messagePages({ get, may }: AccountPages): void {
  get('/messages/:message', showMessage)
  may('use').post('/messages/:message/retract', async (visit) => {
    await retractOwnMessage(visit.account, visit.param('message'))
    return visit.done('message-retracted', 'messages', visit.param('message'))
  }, showMessage)
  get('/messages/:message/chain', chainPage)
  get('/messages/:message/parts/:part', async ({ account, connection, param, requestId }) => {
    const part = await openPart(account, param('message'), param('part'), requestId)
    return new Response(downloadBody(account, connection, part.pieces(0, part.length)), {
      headers: { ...downloadHeaders({ ...part, isText: part.text !== undefined }), 'Content-Length': `${part.length}` },
    })
  })
}

async function showMessage(visit: Visit) {
  const { account, path, param, query, requestId } = visit
  const opened = await openMessage(account, param('message'), { requestId, after: query.get('after') ?? undefined })
  const { message, thread, verdicts } = opened
  const { seq } = message
  const now = account.deps.now()
  const shown = shownMessage(message, path, now, true)
  const facts: [string, Child][] = [
    ['Sent', <LocalTime at={message.createdAt} />],
    ['Conversation', <Name text={message.conversationId ?? titleOf(thread)} />],
    ['Message id', <code>{message.id}</code>],
  ]
  if (message.hops > 0) facts.push(['Earlier answers in its chain', message.hops.toLocaleString('en')])
  if (verdicts.length + shown.verdicts.length > 0) {
    facts.push([
      'Guardrails',
      <>
        {shown.verdicts.map(({ text, isBad }) => <Badge kind={isBad ? 'bad' : 'warning'}>{text}</Badge>)}
        {verdicts.map((verdict) => <Verdict {...verdict} />)}
      </>,
    ])
  }
  return await appPage(
    visit.frame('conversations'),
    {
      title: `Message from ${shown.from.name}`,
      fresh: ['thread', 'state'],
      threads: [thread.id],
      back: { title: titleOf(thread), href: `${path('conversations', String(thread.id))}?m=${seq}#m${seq}` },
      actions: message.rootSeq !== seq || message.receipts?.recipient?.repliedAt
        ? <ButtonLink href={path('messages', String(seq), 'chain')} kind='plain'>Chain</ButtonLink>
        : undefined,
    },
    <>
      <FaceSymbols names={[message.fromAlias]} />
      <Card>
        <div class='messages whole-message'>
          <SenderLine from={shown.from} to={shown.to} />
          <MessageText message={shown} />
          {shown.task && <TaskChip task={shown.task} />}
        </div>
      </Card>
      <div class='grid halves'>
        <Fates visit={visit} opened={opened} now={now} />
        <Card title='Details'>
          <Facts
            items={facts}
          />
        </Card>
      </div>
    </>,
  )
}

type StoredVerdict = Awaited<ReturnType<Visit['account']['read']['verdicts']['ofMessage']>>[number]

function Verdict({ isOwn, guardrail, action, kinds }: StoredVerdict) {
  const found: string[] = JSON.parse(kinds)
  return (
    <p>
      {action}
      {found.length > 0 && (
        <>
          : <Name text={found.join(', ')} />
        </>
      )} {isOwn === 1 && (
        <span class='soft'>
          by <Name text={guardrail} />
        </span>
      )}
    </p>
  )
}

function Fates(
  { visit, opened, now }: { visit: Visit; opened: Awaited<ReturnType<typeof openMessage>>; now: number },
) {
  const { message, receipts, reader, remote } = opened
  const href = visit.path('messages', String(message.seq))
  const retract = `${href}/retract`
  const { rest: refused } = formErrors(visit, retract, [])
  const { recipients = 0, read = 0 } = message.receipts ?? {}
  return (
    <Card
      title='Delivery'
      lead={recipients > 1 ? `${read.toLocaleString('en')} of ${recipients.toLocaleString('en')} read it` : undefined}
    >
      {receipts.length === 0 && <p class='soft'>It has no recipients.</p>}
      <ul class='receipts'>
        {receipts.map((receipt) => (
          <ReceiptItem
            receipt={withRemote(shownReceiptOf(message, receipt, now), remote.get(receipt.agentId))}
            at={message.createdAt}
            now={now}
          />
        ))}
      </ul>
      {receipts.length === receiptsPerPage && recipients > receiptsPerPage && (
        <div class='row'>
          <a class='button' href={`${href}?after=${receipts.at(-1)!.agentId}`}>More recipients</a>
        </div>
      )}
      {canRetract(reader, message) && <ButtonForm action={retract} kind='plain'>Retract</ButtonForm>}
      {refused && <Notice kind='bad'>{refused}</Notice>}
    </Card>
  )
}

/** Shows a remote agent's delivery events instead of reads, because a remote agent never reads messages. */
function withRemote(receipt: ShownReceipt, remote: RemoteEvent[] = []): ShownReceipt {
  if (remote.length === 0) return receipt
  const remoteEvents = remote.map(({ event, at, attempt, reason }) => ({
    event: `${event}${attempt === undefined ? '' : `, attempt ${attempt}`}${reason === undefined ? '' : `: ${reason}`}`,
    at,
  }))
  const others = receipt.events.filter(({ event }) => !['read', 'parked'].includes(event))
  return { ...receipt, events: [...others, ...remoteEvents].sort((a, b) => a.at - b.at) }
}

/** Longer texts are truncated to this length, in UTF-16 units. */
const maxShown = 400
/** Maximum indentation depth of replies. */
const maxDepth = 6

async function chainPage(visit: Visit): Promise<Response> {
  const { account, path, param, query, requestId } = visit
  const { page } = listPosition(query)
  const offset = (page - 1) * chainPageSize
  const { messages, total, root } = await openChain(account, param('message'), { requestId, offset })
  const href = path('messages', param('message'), 'chain')
  const pages = Math.max(1, Math.ceil(total / chainPageSize))
  return await appPage(
    visit.frame('conversations'),
    {
      title: 'Chain',
      lead: `${pluralize(total, 'message')}: the first and all replies, in any conversation.`,
      back: { title: 'Message', href: path('messages', param('message')) },
    },
    <Card>
      <FaceSymbols names={messages.map(({ fromAlias }) => fromAlias)} />
      <ol class='chain'>
        {messages.map((message) => (
          <Link
            message={message}
            isRoot={message.seq === root}
            isOpen={String(message.seq) === param('message')}
            path={path}
          />
        ))}
      </ol>
      {pages > 1 && (
        <Pagination
          label='Pages of the chain'
          where={`Page ${page} of ${pages}`}
          previous={page > 1 ? `${href}?page=${Math.min(page - 1, pages)}` : undefined}
          next={page < pages ? `${href}?page=${page + 1}` : undefined}
          titles={['Previous', 'Next']}
        />
      )}
    </Card>,
  )
}

/** One message of the reply chain. `isOpen` marks the message that the reader came from. */
function Link(
  { message, isRoot, isOpen, path }: {
    message: OpenChainMessage
    isRoot: boolean
    isOpen: boolean
    path: Visit['path']
  },
) {
  const { seq, threadId, depth, isReadable, fromAlias, isForeign, type, via, a2a, recipient, body, createdAt } = message
  const end = endOfPiece(body, 0, maxShown)
  const href = path('messages', String(seq))
  return (
    <li class={isRoot ? undefined : `d${Math.min(depth, maxDepth)}`} aria-current={isOpen ? 'true' : undefined}>
      <SenderLine
        from={{ name: `@${fromAlias}`, kind: type, isA2a: isFromA2a(a2a), via, isForeign }}
        to={recipient}
      >
        <span class='soft'>
          <LocalTime at={createdAt} />
        </span>
      </SenderLine>
      {isReadable
        ? (
          <MessageText
            message={{
              text: body.slice(0, end),
              parts: [],
              ...(end < body.length && { whole: { characters: body.length, href } }),
            }}
          />
        )
        : <p class='soft'>You may not read this message.</p>}
      {isReadable && (
        <a class='alone small' href={`${path('conversations', String(threadId))}?m=${seq}#m${seq}`}>
          Open in conversation
          <span class='unseen'>
            , from <Name text={fromAlias} />
          </span>
        </a>
      )}
    </li>
  )
}
