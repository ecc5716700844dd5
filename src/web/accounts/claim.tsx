/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { SignedInUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { checkClaimant, claimAccount, type ClaimDecision, mergeClaim, type OpenClaim, openClaim } from '../../grid/accounts/claim.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { ButtonLink, Form, Select, SubmitButton, TextInput } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import type { PageDeps } from '../page-deps.ts'
import type { Pages, PublicVisit } from '../visit.ts'

/** The value of `into` for a new account; otherwise it is the id of an account that the user owns. */
const newAccount = 'new'

/** The claim link of a signup: the owner of the address claims all or some of the agents. */
export function claimPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  const { now } = store.deps

  async function show(visit: PublicVisit): Promise<Response> {
    const claim = await openClaim(store, visit.param('token'))
    if (!visit.visitor) return verifyAddressPage(visit, claim)
    try {
      checkClaimant(visit.visitor, claim)
    } catch (error) {
      if (!(error instanceof GridError)) throw error
      return visit.visitor.user.email === claim.ownerEmail
        ? verifyAddressPage(visit, claim)
        : wrongUserPage(visit, claim)
    }
    return await decisionPage(visit, claim, now())
  }

  get('/claim/:token', show)
  post('/claim/:token', async (visit) => {
    const { visitor, form, param, requestId } = visit
    if (!visitor) throw new GridError('unauthenticated', 'Sign in first.')
    const claimant: SignedInUser = visitor
    const decision = decisionOf(form)
    const into = form.get('into') ?? newAccount
    const id = into === newAccount
      ? await claimAccount(store, param('token'), claimant, { ...decision, name: form.get('name') ?? '' }, requestId)
      : await mergeClaim(
        store,
        param('token'),
        claimant,
        { id: into, account: sessions.openAccount(visitor, into) },
        decision,
        requestId,
      )
    return { redirectTo: `/accounts/${id}/agents?done=claimed` }
  }, show)
}

/** The form has one field per agent: `agent-ID=keep` or `agent-ID=discard`. */
function decisionOf(form: URLSearchParams): ClaimDecision {
  const chosen = [...form].filter(([name]) => name.startsWith('agent-'))
  const idsOf = (choice: string) => chosen.filter(([, value]) => value === choice).map(([name]) => name.slice(6))
  return { keep: idsOf('keep'), discard: idsOf('discard') }
}

/** Shown before sign-in, and to the user of the address while it is not verified. */
function verifyAddressPage({ visitor, csrf, param, inputError }: PublicVisit, { ownerEmail, agents }: OpenClaim) {
  const here = `/claim/${encodeURIComponent(param('token'))}`
  return barePage(
    { title: 'Claim your agents', status: visitor ? 403 : 200 },
    <>
      <h1>Claim your agents</h1>
      <p class='soft'>
        {agents.length === 1 ? 'An agent' : `${agents.length} agents`} signed up for{' '}
        <strong>{ownerEmail}</strong>. To claim {agents.length === 1 ? 'it' : 'them'},{' '}
        verify that this email address is yours.
      </p>
      {inputError && <Notice kind='bad'>{inputError.message}</Notice>}
      <Form action={`${here}/proof`} csrf={csrf}>
        <SubmitButton isWhole>Email me a link</SubmitButton>
      </Form>
      {!visitor && (
        <p class='small soft'>
          Already have a user with this address? <a href={`/sign-in?next=${encodeURIComponent(here)}`}>Sign in</a>
        </p>
      )}
    </>,
  )
}

function wrongUserPage({ visitor, csrf }: PublicVisit, { ownerEmail }: OpenClaim) {
  return barePage(
    { title: 'Claim your agents', status: 403 },
    <>
      <h1>These agents belong to another user</h1>
      <p>
        They signed up for <strong>{ownerEmail}</strong>, and you are signed in as{' '}
        <strong>{visitor!.user.email}</strong>. Sign out and open the link again to verify that address.
      </p>
      <Form action='/sign-out' csrf={csrf}>
        <SubmitButton kind='plain'>Sign out</SubmitButton>
      </Form>
    </>,
  )
}

function decisionPage(
  { visitor, csrf, form, inputError, param }: PublicVisit,
  { agents, ownerEmail }: OpenClaim,
  now: number,
) {
  const owned = visitor!.accounts.filter(({ role }) => role === 'owner')
  const errorOf = (field: string) => inputError?.details.field === field ? inputError.message : undefined
  if (agents.length === 0) {
    return barePage(
      { title: 'Claim your agents', isWide: true },
      <EmptyState icon='agents' title='No agents are left' action={<ButtonLink href='/'>Home</ButtonLink>}>
        All agents that signed up for {ownerEmail} have been deleted.
      </EmptyState>,
    )
  }
  return barePage(
    { title: 'Claim your agents', isWide: true },
    <>
      <div class='stack tight'>
        <h1>Claim your agents</h1>
        <p class='soft'>
          Anyone can sign up an agent for an email address. Keep the agents you know. The key of a discarded agent stops
          working at once. Claiming ends the trial of the agents you keep.
        </p>
      </div>
      {inputError && !inputError.details.field && <Notice kind='bad'>{inputError.message}</Notice>}
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
                    <legend class='unseen'>Decision about @{alias}</legend>
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
            label='Account for the agents'
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
            error={errorOf('name')}
          />
        </div>
        <div class='row'>
          <SubmitButton>Claim {agents.length === 1 ? 'this agent' : 'these agents'}</SubmitButton>
        </div>
      </Form>
    </>,
  )
}
