/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { createOwnedAccount } from '../../grid/accounts/accounts.ts'
import { type ClaimOffer, findClaimOffer } from '../../grid/accounts/claim.ts'
import { TextInput } from '../../html/fields.tsx'
import { ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { homePath } from '../../html/paths.ts'
import { PageForm } from '../forms.tsx'
import { withNotice } from '../notices.ts'
import { type PageDeps, type Pages, type PublicVisit, wholly } from '../visit.ts'
import { ClaimOfferNotice } from './claim.tsx'

/** Creating an account. Users without an account start here. */
export function newAccountPages({ get, post }: Pages<PublicVisit>, { store }: PageDeps): void {
  const show = async (visit: PublicVisit) => showForm(visit, await findClaimOffer(store, wholly(visit).user))

  get('/new-account', show)
  post('/new-account', async (visit) => {
    const input = { name: visit.form.get('name') ?? '' }
    const id = await createOwnedAccount(store, input, wholly(visit), visit.requestId)
    return { redirectTo: withNotice(homePath(id), 'account-made') }
  }, show)
}

function showForm(visit: PublicVisit, offer: ClaimOffer | undefined) {
  const { csrf, form, query } = visit
  const { accounts, user } = wholly(visit)
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
      <PageForm visit={visit} action='/new-account' fields={['name']}>
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
