/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The messages that a guardrail objected to, and its exceptions. See docs/protocol/guardrails.md. */
import { mayRead, type Reader, readerOf } from '../../grid/conversations/may-read.ts'
import { allowText, disallowText, type GuardrailCase, listCases, listExceptions } from '../../grid/guardrails/cases.ts'
import { Name, visibleControls } from '../../html/bidi.tsx'
import { Badge, type BadgeKind, Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import { formErrors } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'

const casesPerPage = 10
const exceptionsPerPage = 20
/** Longer texts are truncated to this length, in UTF-16 units. */
const maxShown = 5_000

/** Registers the actions that allow a case's text and revoke the exception. `page` shows a refused form again. */
export function casePages({ get, post }: Pages<Visit>, page: (visit: Visit) => Promise<Response>): void {
  const actions = [
    { name: 'allow', tool: 'allow_text', change: allowText, done: 'text-allowed' },
    { name: 'disallow', tool: 'disallow_text', change: disallowText, done: 'text-disallowed' },
  ] as const
  for (const { name, tool, change, done } of actions) {
    post(`/guardrails/:guardrail/${name}`, async (visit) => {
      const id = visit.param('guardrail')
      const textHash = visit.form.get('textHash') ?? ''
      await visit.record(tool, { id, textHash }, (account) => change(account, id, textHash))
      return visit.done(done, 'guardrails', id)
    }, page)
    get(
      `/guardrails/:guardrail/${name}`,
      (visit) => ({ redirectTo: visit.path('guardrails', visit.param('guardrail')) }),
    )
  }
}

/** Loads the cases and exceptions selected by `?before=` and `?allowed=`. */
export async function loadCases({ account, query }: Visit, id: string) {
  const given = query.get('before') ?? ''
  const before = /^[0-9a-f-]{36}$/.test(given) ? given : undefined
  const [found, exceptions, showsContents, reader] = await Promise.all([
    listCases(account, id, { before, limit: casesPerPage + 1 }),
    listExceptions(account, id),
    account.read.profile.showsContents(),
    readerOf(account),
  ])
  const cases = found.slice(0, casesPerPage)
  return { before, cases, hasMore: found.length > cases.length, exceptions, showsContents, reader }
}

type Loaded = Awaited<ReturnType<typeof loadCases>>

const badges: Record<VerdictAction, BadgeKind> = {
  blocked: 'bad',
  held: 'warning',
  redacted: 'warning',
  flagged: 'info',
  unchecked: 'bad',
  failed: 'bad',
}

/** The newest cases. People who may manage the account can allow each text. */
export function CasesCard(
  { visit, guardrailId, isAttached, before, cases, hasMore, showsContents, reader }:
    & { visit: Visit; guardrailId: string; isAttached: boolean }
    & Loaded,
) {
  const path = visit.path('guardrails', guardrailId)
  const mayManage = visit.may('manage')
  if (cases.length === 0 && before === undefined) {
    return (
      <Card title={isAttached ? 'Cases' : undefined}>
        <EmptyState icon='guardrails' title={isAttached ? 'No objections yet' : 'Not attached to any agent'}>
          {isAttached
            ? 'Messages that it blocks, holds, redacts or flags are listed here.'
            : mayManage
            ? 'It checks no messages yet. Attach it on the page of an agent, to the messages it receives, sends, or both.'
            : 'Owners and admins of the account can attach it to agents.'}
        </EmptyState>
      </Card>
    )
  }
  const errors = [formErrors(visit, `${path}/allow`, []), formErrors(visit, `${path}/disallow`, [])]
  const error = errors.map(({ rest }) => rest).find((rest) => rest !== undefined)
  const now = visit.account.deps.now()
  return (
    <Card
      id='cases'
      title='Cases'
      lead={showsContents
        ? 'Newest first. Blocked texts are kept for 7 days, redacted and flagged ones are not.'
        : <HiddenContents visit={visit} />}
      isFlush
    >
      {error && (
        <div class='inside'>
          <Notice kind='bad'>{error}</Notice>
        </div>
      )}
      <Table
        id='case-list'
        caption='Messages with a finding'
        rows={cases}
        columns={[
          { title: 'Message', cell: (one) => <Message one={one} visit={visit} reader={reader} /> },
          { title: 'Finding', width: 'time', cell: ({ kinds }) => <Name text={kinds.join(', ')} /> },
          { title: 'Action', cell: (one) => <Outcome one={one} /> },
          { title: 'Time', width: 'short', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
          mayManage && {
            title: 'Allow',
            width: 'time',
            isUntitled: true,
            cell: (one) => one.action !== 'failed' && one.action !== 'unchecked' && <AllowForm path={path} one={one} />,
          },
        ]}
      />
      {(before !== undefined || hasMore) && (
        <Pagination
          label='Pages of cases'
          where={before === undefined ? 'Newest cases' : 'Older cases'}
          previous={before === undefined ? undefined : path}
          next={hasMore ? `${path}?before=${cases.at(-1)!.id}` : undefined}
          titles={['Newest', 'Older']}
        />
      )}
    </Card>
  )
}

function HiddenContents({ visit }: { visit: Visit }) {
  return (
    <>
      Newest first. Texts are not kept. {visit.may('own')
        ? (
          <>
            You can change this in the <a href={settingsPath(visit, 'account', 'contents')}>account settings</a>.
          </>
        )
        : 'Only owners of the account can change this, in its settings.'}
    </>
  )
}

function Message({ one, visit, reader }: { one: GuardrailCase; visit: Visit; reader: Reader }) {
  const { sender, recipient, direction, agents, textHash, content, messageId, createdAt } = one
  const alias = reader.personAlias && `@${reader.personAlias.alias}`
  const isReadable = [`@${sender}`, recipient].includes(`${alias}`) || mayRead(reader, { kind: 'others' }, createdAt)
  const own = agents.map((alias) => `@${alias}`)
  const isShown = direction === 'outbound' ? own.includes(`@${sender}`) : own.includes(recipient)
  return (
    <div class='stack tight'>
      <div>
        <Name text={`@${sender}`} /> to <Name text={recipient} />
        {!isShown && own.length > 0 && (
          <div class='soft small'>
            checked for <Name text={own.join(', ')} />
          </div>
        )}
        <div class='soft small'>
          text <code>{shortHash(textHash)}</code>
          {messageId !== null && isReadable && (
            <>
              ,{' '}
              <a href={visit.path('messages', messageId)}>
                message<span class='unseen'>{shortHash(textHash)}</span>
              </a>
            </>
          )}
        </div>
      </div>
      {content !== undefined && (
        <pre class='said' dir='auto' tabindex={0} aria-label={`Text ${shortHash(textHash)}`}>{shown(content)}</pre>
      )}
    </div>
  )
}

const outcomes: Partial<Record<VerdictAction, string>> = { unchecked: 'not checked, delivered', failed: 'not checked' }

function Outcome({ one: { action, direction, isAllowed } }: { one: GuardrailCase }) {
  return (
    <div class='row'>
      <Badge kind={badges[action]} hasDot>{outcomes[action] ?? action}</Badge>
      {isAllowed && <Badge kind='good'>allowed now</Badge>}
      <span class='soft small'>{direction === 'inbound' ? 'when received' : 'when sent'}</span>
    </div>
  )
}

function AllowForm({ path, one }: { path: string; one: GuardrailCase }) {
  return (
    <ButtonForm
      action={`${path}/${one.isAllowed ? 'disallow' : 'allow'}`}
      fields={{ textHash: one.textHash }}
      kind='plain'
      isSmall
    >
      {one.isAllowed ? 'Undo' : 'Allow'}
      <span class='unseen'>
        {one.isAllowed ? 'Check again: ' : 'Always let pass: '}text {shortHash(one.textHash)}
      </span>
    </ButtonForm>
  )
}

/** The allowed texts. Renders nothing if there are none. */
export function ExceptionsCard(
  { visit, guardrailId, exceptions }: { visit: Visit; guardrailId: string } & Pick<Loaded, 'exceptions'>,
) {
  if (exceptions.length === 0) return null
  const path = visit.path('guardrails', guardrailId)
  const pages = Math.ceil(exceptions.length / exceptionsPerPage)
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(visit.query.get('allowed') ?? 1)) || 1))
  const offset = (page - 1) * exceptionsPerPage
  const now = visit.account.deps.now()
  return (
    <Card
      title='Allowed texts'
      lead='It lets exactly these texts pass. A text is known by the beginning of its SHA-256.'
      isFlush
    >
      <Table
        id='exceptions'
        caption='Allowed texts'
        rows={exceptions.slice(offset, offset + exceptionsPerPage)}
        columns={[
          { title: 'Text', cell: ({ textHash }) => <code>{shortHash(textHash)}</code> },
          { title: 'Allowed', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
          visit.may('manage') && {
            title: 'Remove',
            isUntitled: true,
            cell: ({ textHash }) => (
              <ButtonForm action={`${path}/disallow`} fields={{ textHash }} kind='plain' isSmall>
                Remove<span class='unseen'>: text {shortHash(textHash)}</span>
              </ButtonForm>
            ),
          },
        ]}
      />
      {pages > 1 && (
        <Pagination
          label='Pages of allowed texts'
          where={`Page ${page} of ${pages}`}
          previous={page > 1 ? `${path}?allowed=${page - 1}` : undefined}
          next={page < pages ? `${path}?allowed=${page + 1}` : undefined}
          titles={['Newer', 'Older']}
        />
      )}
    </Card>
  )
}

function shown(text: string): string {
  const visible = visibleControls(text.slice(0, maxShown).toWellFormed())
  const more = text.length - maxShown
  return more > 0 ? `${visible}\n\n(${more.toLocaleString('en')} more characters)` : visible
}

function shortHash(hash: string): string {
  return hash.slice(0, 8)
}
