/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** All messages that began with the same one, over all conversations: who asked whom because of it. */
import { chainPageSize, openChain, type OpenChainMessage } from '../../grid/conversations/open-message.ts'
import { endOfPiece } from '../../grid/messaging/parts.ts'
import { Name } from '../../html/bidi.tsx'
import { Card, LocalTime } from '../../html/components.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { MessageText, SenderLine } from '../../html/conversation/message.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination } from '../../html/table.tsx'
import { listPosition, pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'

/** Longer texts are cut here, in UTF-16 units. */
const maxShown = 400
/** From this depth on, answers are not indented any more. */
const maxDepth = 6

export async function chainPage(visit: Visit): Promise<Response> {
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
      lead: `${pluralize(total, 'message')}: the first one and all replies to it, in any conversation.`,
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

/** `isOpen`: the reader comes from this message. */
function Link(
  { message, isRoot, isOpen, path }: {
    message: OpenChainMessage
    isRoot: boolean
    isOpen: boolean
    path: Visit['path']
  },
) {
  const { seq, threadId, depth, isReadable, fromAlias, isForeign, type, a2a, recipient, body, createdAt } = message
  const end = endOfPiece(body, 0, maxShown)
  const href = path('messages', String(seq))
  return (
    <li class={isRoot ? undefined : `d${Math.min(depth, maxDepth)}`} aria-current={isOpen ? 'true' : undefined}>
      <SenderLine from={{ name: `@${fromAlias}`, kind: type, isA2a: a2a !== null, isForeign }} to={recipient}>
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
          In its conversation
          <span class='unseen'>
            , from <Name text={fromAlias} />
          </span>
        </a>
      )}
    </li>
  )
}
