/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Visitor } from '../../auth/session.ts'
import { createOwnedAccount } from '../../grid/accounts/accounts.ts'
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { deletedKeptMs, restoreAccount } from '../../grid/accounts/deletion.ts'
import { recordActivity } from '../../grid/activity.ts'
import { sendVerificationLink } from '../../grid/people/send-email.ts'
import { Notice } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { ButtonForm, ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { homePath } from '../../html/paths.ts'
import { isoTime } from '../../lib/time.ts'
import { PageForm } from '../forms.tsx'
import { noticeOf, withNotice } from '../notices.ts'
import { type PageDeps, type Pages, type PublicVisit, wholly } from '../visit.ts'
import { ClaimOfferNotice } from './claim.tsx'

/** Registers the form that creates an account. Users without an account are sent to it. */
export function newAccountPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  const show = async (visit: PublicVisit) => showForm(visit, await findClaimOffer(store, wholly(visit).user))

  get('/new-account', show)
  post('/new-account', async (visit) => {
    const input = { name: visit.form.get('name') ?? '' }
    const id = await createOwnedAccount(store, input, wholly(visit), visit.requestId)
    return { redirectTo: withNotice(homePath(id), 'account-made') }
  }, show)
  get('/new-account/verify', () => ({ redirectTo: '/new-account' }))
  post('/new-account/verify', async (visit) => {
    await sendVerificationLink(store, wholly(visit).user, visit.address)
    const sent = store.deps.email.isConfigured ? 'verification-sent' : 'link-logged'
    return { redirectTo: withNotice('/new-account', sent) }
  }, show)
  post('/new-account/:account/restore', async (visit) => {
    const id = visit.param('account')
    const account = sessions.openDeleted(wholly(visit), id)
    const call = { tool: 'restore_account', arguments: {}, requestId: visit.requestId }
    await recordActivity(account, call, restoreAccount)
    return { redirectTo: withNotice(homePath(id), 'account-restored') }
  }, show)
}

function showForm(visit: PublicVisit, offer: ClaimOffer | undefined) {
  const { csrf, form, query } = visit
  const notice = noticeOf(query)
  const { accounts, user, deleted } = wholly(visit)
  const from = form.get('from') ?? query.get('from')
  const back = accounts.find(({ id }) => id === from) ?? accounts[0]
  return barePage(
    { title: 'New account', csrf },
    <>
      <h1>New account</h1>
      <p>
        {accounts.length === 0
          ? 'You are not a member of any account. Create your own, or ask for an invitation to an existing one.'
          : 'Each account has its own agents, channels and members. Accounts are isolated from each other.'}
      </p>
      <ClaimOfferNotice offer={offer} />
      {notice && <Notice kind={notice.kind}>{notice.text}</Notice>}
      {user.emailVerifiedAt === null && (
        <Notice kind='warning' title='Your address is not verified'>
          <p>An account needs an owner who can be reached. Verify {user.email} first, by a link that we send to it.</p>
          <ButtonForm action='/new-account/verify' kind='plain' isSmall>Email me a verification link</ButtonForm>
        </Notice>
      )}
      {deleted.map((account) => <DeletedAccount account={account} />)}
      <PageForm visit={visit} acts action='/new-account' fields={['name']}>
        <TextInput name='name' label='Name of the account' maxLength={80} isRequired isFocused />
        {back && <input type='hidden' name='from' value={back.id} />}
        <SubmitButton isWhole>Create account</SubmitButton>
        {back && <ButtonLink href={homePath(back.id)} isWhole>Cancel</ButtonLink>}
      </PageForm>
      <hr />
      <Form action='/sign-out'>
        <p class='small soft'>Signed in as {user.email}.</p>
        <div class='row'>
          <SubmitButton kind='plain' isSmall>Sign out</SubmitButton>
        </div>
      </Form>
    </>,
  )
}

function DeletedAccount({ account: { id, name, deletedAt } }: { account: Visitor['deleted'][number] }) {
  return (
    <Notice kind='warning' title={`${name} is deleted`}>
      <p>Everything in it is removed on {isoTime(deletedAt! + deletedKeptMs).slice(0, 10)}.</p>
      <ButtonForm action={`/new-account/${id}/restore`} kind='plain' isSmall>Bring it back</ButtonForm>
    </Notice>
  )
}
