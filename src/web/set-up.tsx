/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../errors.ts'
import { isSetUpOpen, setUp } from '../grid/people.ts'
import { Notice } from '../html/bits.tsx'
import { Form, PasswordInput, SubmitButton, TextInput } from '../html/form.tsx'
import { barePage } from '../html/layout.tsx'
import type { OpenVisit, Pages } from './visit.ts'
import type { Web } from './web.ts'

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

function show({ csrf, form, fault, param }: OpenVisit) {
  const field = (name: string) => ({
    name,
    isRequired: true,
    value: form.get(name) ?? '',
    error: fault?.details.field === name ? fault.message : undefined,
  })
  return barePage(
    { title: 'Set up the grid' },
    <>
      <h1>Set up the grid</h1>
      <p class='soft'>You make the first account and own it. Others come by invitation.</p>
      {fault && !fault.details.field && <Notice kind='bad'>{fault.message}</Notice>}
      <Form action={`/set-up/${encodeURIComponent(param('token'))}`} csrf={csrf}>
        <TextInput {...field('accountName')} label='Account' hint='Your team or company.' maxLength={80} isFocused />
        <TextInput {...field('name')} label='Your name' autocomplete='name' maxLength={80} />
        <TextInput {...field('email')} label='E-mail' type='email' autocomplete='username' />
        <PasswordInput
          {...field('password')}
          label='Password'
          hint='10 characters or more.'
          autocomplete='new-password'
        />
        <SubmitButton isWhole>Make the account</SubmitButton>
      </Form>
    </>,
  )
}
