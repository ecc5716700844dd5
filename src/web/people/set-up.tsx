/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { isSetUpOpen, setUp } from '../../grid/people/people.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formFault } from '../faults.ts'
import { EmailField, NameField, NewPasswordField } from './person-fields.tsx'
import type { OpenVisit, Pages } from '../visit.ts'
import type { Web } from '../web.ts'

/** The first start: who holds the printed link makes the first account. */
export function setUpPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  get('/set-up/:token', async (visit) => {
    if (await isSetUpOpen(store, visit.param('token'))) return await show(visit)
    throw new GridError(
      'link_expired',
      'This link was used already or has expired. A restart of the grid prints a new one.',
    )
  })
  post('/set-up/:token', async ({ request, form, address, param }) => {
    const field = (name: string) => form.get(name) ?? ''
    const input = {
      accountName: field('accountName'),
      name: field('name'),
      email: field('email'),
      password: field('password'),
    }
    const { userId, id } = await setUp(store, param('token'), input)
    return { goTo: `/accounts/${id}`, cookie: await sessions.begin(request, userId, address) }
  }, show)
}

function show(visit: OpenVisit) {
  const { csrf, form, param } = visit
  const action = `/set-up/${encodeURIComponent(param('token'))}`
  const fault = formFault(visit, action, ['accountName', 'name', 'email', 'password'])
  return barePage(
    { title: 'Set up the grid' },
    <>
      <h1>Set up the grid</h1>
      <p>You are the first. This makes your user and the first account, which you own.</p>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={csrf}>
        <TextInput
          name='accountName'
          label='Name of the account'
          hint='A company, a team or a project. It can be changed later.'
          value={form.get('accountName') ?? ''}
          error={fault.accountName}
          maxLength={80}
          isRequired
          isFocused
        />
        <NameField value={form.get('name') ?? ''} error={fault.name} />
        <EmailField value={form.get('email') ?? ''} error={fault.email} />
        <NewPasswordField error={fault.password} />
        <SubmitButton isWhole>Make the account</SubmitButton>
      </Form>
    </>,
  )
}
