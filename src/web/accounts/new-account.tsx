/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { makeAccount } from '../../grid/accounts/accounts.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formFault } from '../faults.ts'
import { saying } from '../notices.ts'
import { type OpenVisit, type Pages, signedIn } from '../visit.ts'
import type { Web } from '../web.ts'

/** Another account of one's own, which is also where people without any begin. */
export function newAccountPages({ get, post }: Pages<OpenVisit>, { store }: Web): void {
  get('/new-account', show)
  post('/new-account', async (visit) => {
    const input = { name: visit.form.get('name') ?? '' }
    const id = await makeAccount(store, input, signedIn(visit), visit.requestId)
    return { goTo: saying(`/accounts/${id}`, 'account-made') }
  }, show)
}

function show(visit: OpenVisit) {
  const { csrf, form } = visit
  const { accounts, user } = signedIn(visit)
  const fault = formFault(visit, '/new-account', ['name'])
  return barePage(
    { title: 'New account' },
    <>
      <h1>New account</h1>
      <p>
        {accounts.length === 0
          ? 'You belong to no account. Make one of your own, or ask for an invitation to another.'
          : 'An account has its own agents, channels and people. Accounts see nothing of each other.'}
      </p>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action='/new-account' csrf={csrf}>
        <TextInput
          name='name'
          label='Name of the account'
          value={form.get('name') ?? ''}
          error={fault.name}
          maxLength={80}
          isRequired
          isFocused
        />
        <SubmitButton isWhole>Make the account</SubmitButton>
      </Form>
      <hr />
      <Form action='/sign-out' csrf={csrf}>
        <p class='small soft'>Signed in as {user.email}.</p>
        <div class='row'>
          <SubmitButton kind='plain' isSmall>Sign out</SubmitButton>
        </div>
      </Form>
    </>,
  )
}
