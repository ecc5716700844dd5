/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import {
  checkClaimant,
  claimAccount,
  type Claimant,
  type Decision,
  mergeClaim,
  type OpenClaim,
  openClaim,
} from '../../grid/accounts/claim.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Card, EmptyState, Notice, Time } from '../../html/bits.tsx'
import { ButtonLink, Form, Select, SubmitButton, TextInput } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import type { OpenVisit, Pages } from '../visit.ts'
import type { Web } from '../web.ts'

/** Where the agents go: an account of their own, or one the person owns. */
const newAccount = 'new'

/** The link of a signup: its owner takes the agents, all or some of them. */
export function claimPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  const { now } = store.deps

  async function show(visit: OpenVisit): Promise<Response> {
    const claim = await openClaim(store, visit.param('token'))
    if (!visit.visitor) return askForProof(visit, claim)
    try {
      checkClaimant(visit.visitor, claim)
    } catch (error) {
      if (!(error instanceof GridError)) throw error
      return visit.visitor.user.email === claim.ownerEmail ? askForProof(visit, claim) : wrongPerson(visit, claim)
    }
    return await decide(visit, claim, now())
  }

  get('/claim/:token', show)
  post('/claim/:token', async (visit) => {
    const { visitor, form, param, requestId } = visit
    if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
    const claimant: Claimant = visitor
    const decision = decisionOf(form)
    const into = form.get('into') ?? newAccount
    const id = into === newAccount
      ? await claimAccount(store, param('token'), claimant, { ...decision, name: form.get('name') ?? '' }, requestId)
      : await mergeClaim(
        store,
        param('token'),
        claimant,
        { id: into, account: sessions.enter(visitor, into) },
        decision,
        requestId,
      )
    return { goTo: `/accounts/${id}/agents?done=claimed` }
  }, show)
}

/** `agent-ID=keep` or `discard`, one field for each agent. */
function decisionOf(form: URLSearchParams): Decision {
  const chosen = [...form].filter(([name]) => name.startsWith('agent-'))
  const those = (choice: string) => chosen.filter(([, value]) => value === choice).map(([name]) => name.slice(6))
  return { keep: those('keep'), discard: those('discard') }
}

/** For strangers, and for the person of the mailbox as long as nobody proved it. */
function askForProof({ visitor, csrf, param, fault }: OpenVisit, { ownerEmail, agents }: OpenClaim) {
  const here = `/claim/${encodeURIComponent(param('token'))}`
  return barePage(
    { title: 'Claim your agents', status: visitor ? 403 : 200 },
    <>
      <h1>Claim your agents</h1>
      <p class='soft'>
        {agents.length === 1 ? 'An agent' : `${agents.length} agents`} signed up for{' '}
        <strong>{ownerEmail}</strong>. To take {agents.length === 1 ? 'it' : 'them'}{' '}
        over, show that this mailbox is yours.
      </p>
      {fault && <Notice kind='bad'>{fault.message}</Notice>}
      <Form action={`${here}/proof`} csrf={csrf}>
        <SubmitButton isWhole>Mail me a link</SubmitButton>
      </Form>
      {!visitor && (
        <p class='small soft'>
          You have an account with this address? <a href={`/sign-in?next=${encodeURIComponent(here)}`}>Sign in</a>
        </p>
      )}
    </>,
  )
}

function wrongPerson({ visitor, csrf }: OpenVisit, { ownerEmail }: OpenClaim) {
  return barePage(
    { title: 'Claim your agents', status: 403 },
    <>
      <h1>These agents are somebody else’s</h1>
      <p>
        They signed up for <strong>{ownerEmail}</strong>, and you are signed in as{' '}
        <strong>{visitor!.user.email}</strong>. Sign out, and open the link again to prove that mailbox.
      </p>
      <Form action='/sign-out' csrf={csrf}>
        <SubmitButton kind='plain'>Sign out</SubmitButton>
      </Form>
    </>,
  )
}

function decide({ visitor, csrf, form, fault, param }: OpenVisit, { agents, ownerEmail }: OpenClaim, now: number) {
  const owned = visitor!.accounts.filter(({ role }) => role === 'owner')
  const faultOf = (field: string) => fault?.details.field === field ? fault.message : undefined
  if (agents.length === 0) {
    return barePage(
      { title: 'Claim your agents', isWide: true },
      <EmptyState icon='agents' title='No agents are left' action={<ButtonLink href='/'>To the start</ButtonLink>}>
        All that signed up for {ownerEmail} here were deleted.
      </EmptyState>,
    )
  }
  return barePage(
    { title: 'Claim your agents', isWide: true },
    <>
      <div class='stack tight'>
        <h1>Claim your agents</h1>
        <p class='soft'>
          Anybody can sign an agent up for an address. Keep those you know; a discarded one loses its key at once.
          Claiming ends the trial of all you keep.
        </p>
      </div>
      {fault && !fault.details.field && <Notice kind='bad'>{fault.message}</Notice>}
      <Form action={`/claim/${encodeURIComponent(param('token'))}`} csrf={csrf}>
        <Card isFlush>
          <Table
            id='agents'
            caption='Agents that signed up for you'
            rows={agents}
            columns={[
              {
                title: 'Agent',
                cell: ({ alias, description }) => (
                  <div class='who'>
                    <AgentIcon alias={alias} />
                    <div>
                      @{alias}
                      {description && <div class='soft small'>{description}</div>}
                    </div>
                  </div>
                ),
              },
              { title: 'Signed up', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              { title: 'From', cell: ({ address }) => <code>{address ?? 'unknown'}</code> },
              {
                title: 'Last seen',
                cell: ({ lastSeenAt }) => lastSeenAt === null ? 'never' : <Time at={lastSeenAt} now={now} />,
              },
              {
                title: 'Decision',
                cell: ({ id, alias }) => (
                  <fieldset class='choices line'>
                    <legend class='unseen'>What becomes of @{alias}</legend>
                    {(['keep', 'discard'] as const).map((choice) => (
                      <label class='choice'>
                        <input
                          type='radio'
                          name={`agent-${id}`}
                          value={choice}
                          checked={(form.get(`agent-${id}`) ?? 'keep') === choice}
                        />
                        <span>{choice === 'keep' ? 'Keep' : 'Discard'}</span>
                      </label>
                    ))}
                  </fieldset>
                ),
              },
            ]}
          />
        </Card>
        {owned.length > 0 && (
          <Select
            name='into'
            label='Into which account'
            value={form.get('into') ?? owned[0].id}
            options={[
              ...owned.map(({ id, name }) => ({ value: id, title: name })),
              { value: newAccount, title: 'A new account' },
            ]}
          />
        )}
        <div class={owned.length > 0 ? 'when-new' : undefined}>
          <TextInput
            name='name'
            label='Name of the new account'
            hint='A company, a team or a project. It can be changed later.'
            isRequired={owned.length === 0}
            maxLength={80}
            value={form.get('name') ?? ''}
            error={faultOf('name')}
          />
        </div>
        <div class='row'>
          <SubmitButton>Claim {agents.length === 1 ? 'this agent' : 'these agents'}</SubmitButton>
        </div>
      </Form>
    </>,
  )
}
