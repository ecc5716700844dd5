/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import {
  checkClaimant,
  claimAccount,
  type ClaimOffer,
  type ClaimSource,
  findClaimOffer,
  type OpenClaim,
  openClaim,
  openOfferedClaim,
} from '../../grid/accounts/claim.ts'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { isolated } from '../../html/bidi.tsx'
import { Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { Select, TextInput } from '../../html/fields.tsx'
import { ButtonForm, ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { pluralize } from '../listing.tsx'
import { type PageDeps, type Pages, type PublicVisit, signedIn, wholly } from '../visit.ts'
import { PageForm, Refusal } from '../forms.tsx'
import { EmailNote, linkButton } from '../people/person-fields.tsx'

/** How many of the visitor's accounts are checked for agents. */
const maxLooked = 20

const choices = { keep: 'Keep', move: 'Move', discard: 'Discard' } as const
type Choice = keyof typeof choices

/**
 * Pages on which an email address's owner claims agents: keeps, moves or discards each. They are opened by a signup's
 * claim link, or from the offer shown after sign-in.
 */
export function claimPages({ get, post }: Pages<PublicVisit>, deps: PageDeps): void {
  const { store, sessions } = deps
  const { now } = store.deps

  async function show(visit: PublicVisit): Promise<Response> {
    const claim = await openClaim(store, visit.param('token'))
    if (!visit.visitor) return verifyAddressPage(visit, claim, deps)
    try {
      checkClaimant(visit.visitor, claim)
    } catch (error) {
      if (!(error instanceof GridError)) throw error
      return visit.visitor.user.email === claim.ownerEmail
        ? verifyAddressPage(visit, claim, deps)
        : wrongUserPage(visit, claim)
    }
    return await decide(visit, claim, `/claim/${encodeURIComponent(visit.param('token'))}`)
  }

  async function showOffer(visit: PublicVisit): Promise<Response> {
    const visitor = wholly(visit)
    const [claim, offer] = await Promise.all([
      openOfferedClaim(store, visitor, visit.param('id')),
      findClaimOffer(store, visitor.user),
    ])
    const left = (offer?.agents ?? 0) - claim.agents.length
    return await decide(visit, claim, `/claims/${encodeURIComponent(visit.param('id'))}`, left)
  }

  /** Shows the page with the choices. It suggests moving the agents to an account that already has agents. */
  async function decide(visit: PublicVisit, claim: OpenClaim, action: string, left = 0): Promise<Response> {
    const visitor = signedIn(visit)
    const owned = visitor.accounts.filter(({ role }) => role === 'owner')
    const hasAgents = await Promise.all(
      owned.slice(0, maxLooked).map(({ id }) => {
        return sessions.openAccount(visitor, id, { withoutSecondFactor: true }).read.agents.hasPrograms()
      }),
    )
    const target = owned.find((_, n) => hasAgents[n])?.id
    return await decisionPage(visit, claim, { now: now(), action, left, owned, target })
  }

  async function claim(visit: PublicVisit, source: ClaimSource) {
    const { form, requestId } = visit
    const visitor = wholly(visit)
    const [to, name] = [form.get('into'), form.get('name') ?? '']
    const [keep, move, discard] = (['keep', 'move', 'discard'] as const).map((choice) => chosen(form, choice))
    const into = to === null || move.length === 0 ? undefined : { id: to, account: sessions.openAccount(visitor, to) }
    const claimed = await claimAccount(store, source, visitor, { keep, move, discard, into, name }, requestId)
    return { redirectTo: `/accounts/${into?.id ?? claimed}/agents?done=claimed` }
  }

  get('/claim/:token', show)
  post('/claim/:token', (visit) => claim(visit, visit.param('token')), show)
  get('/claims/:id', showOffer)
  post('/claims/:id', (visit) => claim(visit, { offered: visit.param('id') }), showOffer)
}

/** Returns the ids of the agents with this choice. The form has one field per agent: `agent-ID=keep`. */
function chosen(form: URLSearchParams, choice: Choice): string[] {
  return [...form].filter(([name, value]) => name.startsWith('agent-') && value === choice).map(([name]) =>
    name.slice(6)
  )
}

/** Asks the visitor to verify the address. Shown before sign-in, and to the user who has not yet verified it. */
function verifyAddressPage(
  { visitor, csrf, param, inputError }: PublicVisit,
  { ownerEmail, agents }: OpenClaim,
  deps: PageDeps,
) {
  const here = `/claim/${encodeURIComponent(param('token'))}`
  return barePage(
    { title: 'Claim your agents', csrf, status: visitor ? 403 : 200 },
    <>
      <h1>Claim your agents</h1>
      <p class='soft'>
        {agents.length === 1 ? 'An agent' : `${agents.length} agents`} signed up for{' '}
        <strong>{ownerEmail}</strong>. To claim {agents.length === 1 ? 'it' : 'them'},{' '}
        verify that this email address is yours.
      </p>
      {inputError && <Refusal visit={{ inputError }}>{inputError.message}</Refusal>}
      <EmailNote deps={deps} />
      <ButtonForm action={`${here}/proof`} isWhole>{linkButton(deps)}</ButtonForm>
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
    { title: 'Claim your agents', csrf, status: 403 },
    <>
      <h1>These agents belong to another user</h1>
      <p>
        They signed up for <strong>{ownerEmail}</strong>, and you are signed in as{' '}
        <strong>{visitor!.user.email}</strong>. Sign out and open the link again to verify that address.
      </p>
      <Form action='/sign-out'>
        <div class='row'>
          <SubmitButton kind='plain'>Sign out</SubmitButton>
          <ButtonLink href='/' kind='quiet'>Home</ButtonLink>
        </div>
      </Form>
    </>,
  )
}

/**
 * Shows the choices in a form that posts to `action`. `left` is the number of offered agents in other accounts.
 * `target` is the visitor's account to which the page suggests moving the agents.
 */
function decisionPage(
  visit: PublicVisit,
  { agents, ownerEmail }: OpenClaim,
  { now, action, left, owned, target }: {
    now: number
    action: string
    left: number
    owned: { id: string; name: string }[]
    target: string | undefined
  },
) {
  const { form } = visit
  const offered: Choice[] = owned.length > 0 ? ['keep', 'move', 'discard'] : ['keep', 'discard']
  const proposed = target === undefined ? 'keep' : 'move'
  if (agents.length === 0) {
    return barePage(
      { title: 'Claim your agents', isWide: true },
      <EmptyState icon='agents' title='No agents are left' action={<ButtonLink href='/'>Home</ButtonLink>}>
        All agents that signed up for {ownerEmail} have been deleted.
      </EmptyState>,
    )
  }
  return barePage(
    { title: 'Claim your agents', csrf: visit.csrf, isWide: true },
    <>
      <div class='stack tight'>
        <h1>Claim your agents</h1>
        <p class='soft'>
          Anyone can sign up an agent for an email address. Keep the agents you know. The key of a discarded agent stops
          working at once. Claiming ends the trials.
        </p>
        {left > 0 && (
          <p class='soft'>{pluralize(left, 'more agent')} signed up apart from these. You can claim them next.</p>
        )}
      </div>
      <PageForm visit={visit} acts action={action} fields={['name']}>
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
                      {description && <div class='soft small' dir='auto'>{description}</div>}
                    </div>
                  </div>
                ),
              },
              { title: 'Signed up', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              { title: 'From', cell: ({ address }) => <code>{address ?? 'unknown'}</code> },
              { title: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} now={now} /> },
              {
                title: 'Decision',
                cell: ({ id, alias }) => (
                  <fieldset class='choices line'>
                    <legend class='unseen'>Decision about @{alias}</legend>
                    {offered.map((choice) => (
                      <label class='choice'>
                        <input
                          type='radio'
                          name={`agent-${id}`}
                          value={choice}
                          checked={(form.get(`agent-${id}`) ?? proposed) === choice}
                        />
                        <span>{choices[choice]}</span>
                      </label>
                    ))}
                  </fieldset>
                ),
              },
            ]}
          />
        </Card>
        {owned.length > 0 && (
          <>
            <Select
              name='into'
              label='Move agents to'
              value={target ?? owned[0].id}
              options={owned.map(({ id, name }) => ({ value: id, title: isolated(name) }))}
            />
            <p class='soft'>
              An agent moves with its alias, key, skills, settings, inbox, and its conversations with agents of the
              other account and with those that move along. Its channels, access lists and guardrails do not move. What
              it wrote to agents that you keep or discard is shown in the account that it signed up in. Tasks that it
              gave to others are canceled.
            </p>
          </>
        )}
        <TextInput
          name='name'
          label={owned.length > 0 ? 'Name of the account that they signed up in' : 'Name of the new account'}
          hint={owned.length > 0
            ? 'You will own this account, too. It has the agents that you keep, and the earlier messages of those that you move.'
            : 'A company, a team or a project. It can be changed later.'}
          isRequired
          maxLength={80}
          value={owned.length > 0 ? agents.slice(0, 2).map(({ alias }) => alias).join(' and ') : ''}
        />
        <div class='row'>
          <SubmitButton>Claim {agents.length === 1 ? 'this agent' : 'these agents'}</SubmitButton>
          <ButtonLink href='/' kind='quiet'>Not now</ButtonLink>
        </div>
      </PageForm>
    </>,
  )
}

/** Tells users about agents that signed up with their email address. Renders nothing if there are none. */
export function ClaimOfferNotice({ offer }: { offer: ClaimOffer | undefined }) {
  if (!offer) return null
  return (
    <Notice>
      {pluralize(offer.agents, 'agent')} signed up for you:{' '}
      <a href={`/claims/${offer.provisionalId}`}>claim {offer.agents === 1 ? 'it' : 'them'}</a>
    </Notice>
  )
}
