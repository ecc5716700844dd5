/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Writing messages as a person: a page that starts a conversation, and the forms within a conversation. */
import { Buffer } from 'node:buffer'
import { type ErrorCode, GridError } from '../../errors.ts'
import { choose } from '../../grid/conversations/choose.ts'
import { markConversationRead, markConversationUnread, nextUnread } from '../../grid/conversations/marks.ts'
import { placeOfSent, writeInConversation, writeMessage } from '../../grid/conversations/write.ts'
import { givenParts } from '../../grid/message/given-parts.ts'
import { hasAtMost } from '../../lib/text.ts'
import { maxFormFileBytes, PostedFields } from '../../lib/http/form.ts'
import { maxMessageLength, type SentMessage } from '../../grid/message/outgoing-message.ts'
import { chooseAlias, findPersonAlias, type PersonAlias, suggestAlias } from '../../grid/people/person-aliases.ts'
import { Card } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { dismiss } from '../attention/questions.tsx'
import { originOf, PageForm } from '../forms.tsx'
import type { PageResult, Pages, Visit } from '../visit.ts'
import { draftName, Entry, expiryIn, messageKey } from './composer.tsx'
import { listPlace, listQuery, seqIn, threadIn } from './list-pane.tsx'

const maxMarked = 50
/** Maximum number of suggested names of each kind. Others can be typed. */
const maxOffered = 200

/**
 * Registers the page that starts a conversation, and the forms within one: answering, and marking as read. `showThread`
 * renders a conversation's page.
 */
export function writingPages({ get, post }: Pages<Visit>, showThread: (visit: Visit) => Promise<PageResult>): void {
  get('/write', showWrite)
  post('/write', write, showWrite)

  post('/conversations/:thread/messages', async (visit) => {
    const { account, form } = visit
    const answer = { ...await messageIn(form), answers: seqIn(form, 'reply') }
    return await toSent(visit, await atField('text', () => writeInConversation(account, threadIn(visit), answer)))
  }, showThread)
  post('/conversations/:thread/choose', answerWithChoice, showThread)
  post('/conversations/:thread/read', async (visit) => {
    const { account, form } = visit
    const upTo = seqIn(form, 'upTo')
    const seqs = form.getAll('m').filter((seq) => /^\d{1,15}$/.test(seq)).slice(0, maxMarked).map(Number)
    await markConversationRead(account, threadIn(visit), upTo === undefined ? { seqs } : { upTo })
    if (form.get('by') === 'view') return new Response(null, { status: 204 })
    return { redirectTo: `${conversationPath(visit, threadIn(visit))}${upTo === undefined ? '' : `#m${upTo}`}` }
  })
  post('/conversations/:thread/dismiss', dismiss)
  post('/conversations/:thread/unread', async (visit) => {
    const from = seqIn(visit.form, 'from')
    if (from === undefined) throw new GridError('invalid_input', 'The field `from` is missing.', { field: 'from' })
    await markConversationUnread(visit.account, threadIn(visit), from)
    return { redirectTo: `${visit.path('conversations')}${listQuery(listPlace(visit.form))}` }
  })

  get('/next-unread', async (visit) => {
    const next = await nextUnread(visit.account, seqIn(visit.query, 'after'))
    if (!next) return visit.done('all-read', 'conversations')
    return { redirectTo: `${visit.path('conversations', String(next.threadId))}?m=${next.seq}#m${next.seq}` }
  })
}

/** Handles the forms of `Choices`. */
async function answerWithChoice(visit: Visit): Promise<PageResult> {
  const { account, form } = visit
  const [seq, index] = ['question', 'choice'].map((name) => seqIn(form, name) ?? -1)
  const sent = await choose(account, threadIn(visit), { seq, index })
  const conversation = await toSent(visit, sent)
  const from = originOf(form)
  return from ? visit.done('answered', from) : conversation
}

async function write(visit: Visit): Promise<PageResult> {
  const { account, form } = visit
  const alias = form.get('alias')
  if (alias !== null && !await findPersonAlias(account)) {
    await visit.record('choose_alias', { alias }, (account) => chooseAlias(account, { alias }))
  }
  const message = { to: (form.get('to') ?? '').trim(), ...await messageIn(form) }
  return await toSent(visit, await atField('to', () => writeMessage(account, message)))
}

/** Error codes for a missing recipient. The writer can correct the recipient without losing the text. */
const noRecipient: ErrorCode[] = ['recipient_not_found', 'channel_not_found', 'not_channel_member', 'message_not_found']

/** Runs `send`. Assigns an error about a missing recipient to `field`. */
async function atField<T>(field: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof GridError) || !noRecipient.includes(error.code)) throw error
    throw new GridError(error.code, error.message, { ...error.details, field })
  }
}

/** Returns the path of the conversation page, next to the list from which the form was opened. */
function conversationPath({ path, form }: Visit, thread: number): string {
  return `${path('conversations', String(thread))}${listQuery(listPlace(form))}`
}

async function toSent(visit: Visit, { id, held }: SentMessage): Promise<PageResult> {
  if (held) return visit.done('message-held', 'conversations')
  const place = await placeOfSent(visit.account, id)
  if (!place) return visit.done('message-sent', 'conversations')
  return { redirectTo: `${conversationPath(visit, place.threadId)}#m${place.seq}` }
}

/** Reads the posted message. Its files become parts. */
async function messageIn(form: URLSearchParams) {
  const files = form instanceof PostedFields ? form.files : []
  const given = await Promise.all(files.map(async (file) => ({
    raw: Buffer.from(await file.arrayBuffer()).toString('base64'),
    filename: file.name,
    ...(file.type !== '' && { mediaType: file.type }),
  })))
  const text = form.get('text') ?? ''
  // Messages are for text that people read and edit. Longer content belongs in a file.
  if (!hasAtMost(text, maxMessageLength)) {
    const problem = `Write at most ${maxMessageLength} characters. Attach a longer text as a file.`
    throw new GridError('message_too_long', problem)
  }
  return {
    text,
    parts: givenParts(given, maxFormFileBytes),
    expiresInSeconds: expiryIn(form),
    idempotencyKey: form.get('key') || undefined,
  }
}

async function showWrite(visit: Visit): Promise<Response> {
  const personAlias = visit.may('use') ? await findPersonAlias(visit.account) : undefined
  const [suggestion, offered] = visit.may('use')
    ? await Promise.all([
      personAlias ? '' : suggestAlias(visit.account, visit.visitor.user),
      namesToWriteTo(visit, personAlias),
    ])
    : ['', []]
  return await appPage(
    visit.frame('conversations'),
    {
      title: 'Write',
      lead: 'To an agent, to a person, or to a channel that your alias is in.',
      back: { title: 'Conversations', href: visit.path('conversations') },
    },
    visit.may('use')
      ? (
        <WriteCard
          visit={visit}
          personAlias={personAlias}
          suggestion={suggestion}
          offered={offered}
        />
      )
      : (
        <Card>
          <p>
            Owners, admins and members of the account write to its agents. Your role is {visit.actor.role}.
          </p>
          <div class='row'>
            <ButtonLink href={visit.path('conversations')}>Back to the conversations</ButtonLink>
          </div>
        </Card>
      ),
  )
}

/** Returns suggestions for the field `to`: the account's agents with `@`, and the person's channels with `#`. */
async function namesToWriteTo({ account }: Visit, personAlias: PersonAlias | undefined): Promise<string[]> {
  const { agents, channels } = account.read
  const [people, joined] = await Promise.all([
    agents.search('', personAlias?.agentId ?? '', '', maxOffered),
    personAlias ? channels.ofAgent(personAlias.agentId, '', maxOffered) : [],
  ])
  return [...joined.map(({ name }) => `#${name}`), ...people.map(({ alias }) => `@${alias}`)]
}

function WriteCard(
  { visit, personAlias, suggestion, offered }: {
    visit: Visit
    personAlias: PersonAlias | undefined
    suggestion: string
    offered: string[]
  },
) {
  const { query, membership, actor } = visit
  return (
    <Card>
      <PageForm visit={visit} acts action={visit.path('write')} fields={['alias', 'to', 'text', 'expires']} hasFile>
        <input type='hidden' name='key' value={messageKey(visit)} />
        {!personAlias && (
          <TextInput
            name='alias'
            label='Your alias'
            hint='You write under it, and agents answer to it. 3 to 32 characters: a-z, 0-9 and hyphens. You can change it in your profile.'
            before='@'
            isMono
            isRequired
            maxLength={33}
            value={suggestion}
          />
        )}
        <TextInput
          name='to'
          label='To'
          hint='@alias or #channel'
          isMono
          isRequired
          maxLength={100}
          list={{ id: 'names', values: offered }}
          value={query.get('to') ?? ''}
          isFocused={!query.has('to') && !visit.inputError}
        />
        <Entry label='Message' rows={5} draft={draftName(actor.userId, membership.id, 'write')} />
        <p class='soft small'>
          {personAlias && <>You write as @{personAlias.alias}.</>}{' '}
          <span class='sends' data-needs-script>Ctrl+Enter sends.</span>
        </p>
      </PageForm>
    </Card>
  )
}
