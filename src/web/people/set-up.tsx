/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { isSetUpOpen, setUp } from '../../grid/people/people.ts'
import { Notice } from '../../html/components.tsx'
import { Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../form-errors.ts'
import type { PageDeps } from '../page-deps.ts'
import type { Pages, PublicVisit } from '../visit.ts'
import { EmailField, NameField, NewPasswordField } from './person-fields.tsx'

/** Set-up at the first start: the link that the server prints creates the first user and account. */
export function setUpPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  get('/set-up/:token', async (visit) => {
    if (await isSetUpOpen(store, visit.param('token'))) return await setUpPage(visit)
    throw new GridError(
      'link_expired',
      'This link was already used or has expired. Restart the grid to get a new one.',
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
    return { redirectTo: `/accounts/${id}`, cookie: await sessions.begin(request, userId, address) }
  }, setUpPage)
}

function setUpPage(visit: PublicVisit) {
  const { csrf, form, param } = visit
  const action = `/set-up/${encodeURIComponent(param('token'))}`
  const errors = formErrors(visit, action, ['accountName', 'name', 'email', 'password'])
  return barePage(
    { title: 'Set up the grid' },
    <>
      <h1>Set up the grid</h1>
      <p>This creates your user and the first account, which you will own.</p>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Form action={action} csrf={csrf}>
        <TextInput
          name='accountName'
          label='Name of the account'
          hint='A company, a team or a project. It can be changed later.'
          value={form.get('accountName') ?? ''}
          error={errors.accountName}
          maxLength={80}
          isRequired
          isFocused
        />
        <NameField value={form.get('name') ?? ''} error={errors.name} />
        <EmailField value={form.get('email') ?? ''} error={errors.email} />
        <NewPasswordField error={errors.password} />
        <SubmitButton isWhole>Create account</SubmitButton>
      </Form>
    </>,
  )
}
